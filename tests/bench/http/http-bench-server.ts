/**
 * Child process of the HTTP benches. `empty`: an Elysia route that reads nothing and answers 328 bytes; `body`: the
 * same after reading the body; `tribune`: the REST interface over planes in memory, with an add_sub that answers
 * constant tensors, so that next to no time is the model's. Prints its port.
 */
import { Elysia } from "elysia";
import { HttpTestServer } from "../../support/http-test-server.ts";
import { InMemoryModel } from "../../support/in-memory-model.ts";

const ANSWER = new Uint8Array(328);
const UNPARSED = { parse: "none" } as const;

/** add_sub, version 2: the request is checked and answered, nothing is added. */
function constantAddSub(): InMemoryModel {
  const tensor = { datatype: "INT32", shape: [1, 16], bytes: new Uint8Array(64) } as const;
  const outputs = [
    { ...tensor, name: "OUTPUT0" },
    { ...tensor, name: "OUTPUT1" },
  ];
  return new InMemoryModel({
    name: "add_sub",
    version: 2,
    maxBatchSize: 8,
    inputs: [
      ["INPUT0", "INT32", [16]],
      ["INPUT1", "INT32", [16]],
    ],
    outputs: [
      ["OUTPUT0", "INT32", [16]],
      ["OUTPUT1", "INT32", [16]],
    ],
    behaviour: (call) => call.respond(outputs),
  });
}

async function listen(mode: string): Promise<number> {
  if (mode === "tribune") {
    const server = await HttpTestServer.start();
    server.planes.add(constantAddSub());
    return server.frontend.port;
  }
  const app = new Elysia({ strictPath: true });
  const path = "/v2/models/:model_name/infer";
  if (mode === "empty") app.post(path, () => new Response(ANSWER), UNPARSED);
  else {
    app.post(
      path,
      async ({ request }) => {
        await request.bytes();
        return new Response(ANSWER);
      },
      UNPARSED,
    );
  }
  app.listen({ port: 0, hostname: "127.0.0.1", reusePort: false });
  return app.server?.port ?? 0;
}

process.stdout.write(`${await listen(process.argv[2] ?? "empty")}\n`);
