import { describe, expect, test } from "bun:test";
import { status } from "@grpc/grpc-js";
import type { GrpcFrontendOptions } from "../../src/frontends/grpc/grpc-frontend.ts";
import { eventually } from "../support/eventually.ts";
import { GrpcJsClient } from "../support/grpc-js-client.ts";
import { GrpcTestServer } from "../support/grpc-test-server.ts";
import {
  A,
  B,
  boolParameter,
  bytesRequest,
  echoRequest,
  int32sOf,
  messageBytes,
  repeatRequest,
  sumRequest,
  typedSumRequest,
} from "../support/infer-requests.ts";
import { frame, MODEL_INFER, RawGrpcConnection } from "../support/raw-grpc-call.ts";
import { HeldModel } from "../support/sample-models.ts";

/** What ModelInfer owes to every client, whichever way the frontend carries it. */
export function describeGrpcUnary(
  carrier: string,
  carrierOptions: Partial<GrpcFrontendOptions>,
): void {
  const start = (options: Partial<GrpcFrontendOptions> = {}) =>
    GrpcTestServer.start({ ...carrierOptions, ...options });

  describe(`ModelInfer by ${carrier}`, () => {
    test("answers raw contents in raw contents, with model, version and id", async () => {
      await using server = await start();
      using client = new GrpcJsClient(server.target);
      // The second one meets its form again.
      for (const id of ["first", "second é", ""]) {
        const answer = await client.infer(sumRequest({ id }));
        expect(answer.modelName).toBe("add_sub");
        expect(answer.modelVersion).toBe("1");
        expect(answer.id).toBe(id);
        expect(
          answer.outputs.map((output) => [output.name, output.datatype, output.shape]),
        ).toEqual([
          ["OUTPUT0", "INT32", [1n, 16n]],
          ["OUTPUT1", "INT32", [1n, 16n]],
        ]);
        expect(answer.outputs.every((output) => output.contents === undefined)).toBe(true);
        expect(answer.rawOutputContents.map(int32sOf)).toEqual([
          A.map((a) => a + 3),
          A.map((a) => a - 3),
        ]);
      }
    });

    test("answers typed contents in raw contents", async () => {
      await using server = await start();
      using client = new GrpcJsClient(server.target);
      const answer = await client.infer(typedSumRequest());
      expect(answer.rawOutputContents.map(int32sOf)).toEqual([
        A.map((a, i) => a + (B[i] ?? 0)),
        A.map((a, i) => a - (B[i] ?? 0)),
      ]);
    });

    test("keeps apart requests of one form that differ in their data only", async () => {
      await using server = await start();
      using client = new GrpcJsClient(server.target);
      const answers = await Promise.all(
        Array.from({ length: 64 }, (_, i) =>
          client.infer(echoRequest([i, i * i], { id: String(i) })),
        ),
      );
      for (const [i, answer] of answers.entries()) {
        expect([answer.id, int32sOf(answer.rawOutputContents[0])]).toEqual([String(i), [i, i * i]]);
      }
    });

    test("gives an empty tensor back", async () => {
      await using server = await start();
      using client = new GrpcJsClient(server.target);
      const answer = await client.infer(echoRequest([]));
      expect(answer.outputs[0]?.shape).toEqual([0n]);
      expect(answer.rawOutputContents).toEqual([new Uint8Array(0)]);
    });

    test("echoes 5 MB, alone and eight at once", async () => {
      await using server = await start();
      using client = new GrpcJsClient(server.target);
      const bytes = crypto.getRandomValues(new Uint8Array(65536));
      const long = new Uint8Array(5_000_000).map((_, i) => bytes[i % bytes.length] ?? 0);
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => client.infer(bytesRequest(long))),
      );
      for (const answer of answers) {
        expect(Buffer.compare(answer.rawOutputContents[0] ?? new Uint8Array(), long)).toBe(0);
      }
      expect(server.frontend.inflightBytes).toBe(0);
    });

    test("returns the requested outputs only", async () => {
      await using server = await start();
      using client = new GrpcJsClient(server.target);
      const answer = await client.infer(sumRequest({ outputs: [{ name: "OUTPUT1" }] }));
      expect(answer.outputs.map((output) => output.name)).toEqual(["OUTPUT1"]);
      expect(answer.rawOutputContents.map(int32sOf)).toEqual([A.map((a) => a - 3)]);
    });

    test("hands custom parameters to the model and keeps the server's own", async () => {
      await using server = await start();
      using client = new GrpcJsClient(server.target);
      const parameters = {
        priority: { parameterChoice: { case: "uint64Param" as const, value: 2n } },
        timeout: { parameterChoice: { case: "int64Param" as const, value: 5000n } },
        big: { parameterChoice: { case: "int64Param" as const, value: -9007199254740993n } },
        half: { parameterChoice: { case: "doubleParam" as const, value: 0.5 } },
        text: { parameterChoice: { case: "stringParam" as const, value: "é" } },
        yes: boolParameter(true),
      };
      await client.infer(sumRequest({ parameters }));
      const { signature } = server.planes.model("add_sub", "").seen.at(-1) ?? {};
      expect(signature?.priority).toBe(2);
      expect(signature?.timeoutMicroseconds).toBe(5000);
      expect(Object.fromEntries(signature?.parameters ?? [])).toEqual({
        big: { kind: "int64", value: -9007199254740993n },
        half: { kind: "double", value: 0.5 },
        text: { kind: "string", value: "é" },
        yes: { kind: "bool", value: true },
      });
    });

    test.each([
      ["NOT_FOUND", sumRequest({ modelName: "nope" }), "'nope' is not found"],
      // Whatever else is wrong with a request, an unknown model comes first.
      [
        "NOT_FOUND",
        sumRequest({ modelName: "nope", parameters: { triton_x: boolParameter(true) } }),
        "nope",
      ],
      ["NOT_FOUND", sumRequest({ modelVersion: "9" }), "version 9 is not found"],
      ["INVALID_ARGUMENT", sumRequest({ modelVersion: "abc" }), "'abc'"],
      ["INVALID_ARGUMENT", sumRequest({ rawInputContents: [] }), "input tensor 'INPUT0'"],
      [
        "INVALID_ARGUMENT",
        sumRequest({ parameters: { triton_x: boolParameter(true) } }),
        "triton_",
      ],
      [
        "INVALID_ARGUMENT",
        sumRequest({ parameters: { timeout: boolParameter(true) } }),
        "'timeout'",
      ],
      ["INVALID_ARGUMENT", sumRequest({ outputs: [{ name: "OUTPUT9" }] }), "'OUTPUT9'"],
      ["UNIMPLEMENTED", repeatRequest(1), "decoupled"],
      ["INTERNAL", echoRequest([1], { modelName: "failing" }), "asked to fail"],
    ] as const)("ends with %s and its text", async (code, request, text) => {
      await using server = await start();
      using client = new GrpcJsClient(server.target);
      const failure = await client.failure("modelInfer", request);
      expect(failure.code).toBe(status[code]);
      expect(failure.details).toContain(text);
      expect(int32sOf((await client.infer(echoRequest([7]))).rawOutputContents[0])).toEqual([7]);
    });

    test("sends a text with colons, percent signs and letters beyond ASCII as it is", async () => {
      await using server = await start();
      using client = new GrpcJsClient(server.target);
      const name = "a:b/c 100% é😀 'x'";
      const failure = await client.failure("modelInfer", sumRequest({ modelName: name }));
      expect(failure.details).toBe(`Request for unknown model: '${name}' is not found`);
    });

    test("cuts a text that no client would take as a trailer", async () => {
      await using server = await start();
      using client = new GrpcJsClient(server.target);
      const failure = await client.failure(
        "modelInfer",
        sumRequest({ modelName: "é".repeat(50_000) }),
      );
      expect(failure.code).toBe(status.NOT_FOUND);
      expect(failure.details).toStartWith("Request for unknown model: 'éé");
    });

    test("cancels the request when the client does", async () => {
      await using server = await start();
      using client = new GrpcJsClient(server.target);
      const held = server.planes.add(new HeldModel("held"));
      const { call, answer } = client.start("modelInfer", echoRequest([1], { modelName: "held" }));
      const outcome = answer.catch((error: unknown) => error);
      await eventually(() => held.held.length === 1);
      call.cancel();
      expect(await outcome).toMatchObject({ code: status.CANCELLED });
      await eventually(() => held.seen[0]?.isCancelled === true);
      expect(held.inflightCount).toBe(0);
    });

    test("cancels the request when its connection breaks", async () => {
      await using server = await start();
      const held = server.planes.add(new HeldModel("held"));
      using connection = new RawGrpcConnection(server.target);
      const request = messageBytes(echoRequest([1], { modelName: "held" }));
      void connection.call({ path: MODEL_INFER, chunks: [frame(request)] });
      await eventually(() => held.held.length === 1);
      connection.session.destroy();
      await eventually(() => held.seen[0]?.isCancelled === true);
    });

    test("ends with DEADLINE_EXCEEDED and cancels the request when its time is over", async () => {
      await using server = await start();
      using client = new GrpcJsClient(server.target);
      const held = server.planes.add(new HeldModel("held"));
      const request = echoRequest([1], { modelName: "held" });
      const failure = await client.failure("modelInfer", request, { deadlineMs: 100 });
      expect(failure.code).toBe(status.DEADLINE_EXCEEDED);
      await eventually(() => held.seen[0]?.isCancelled === true);
    });

    test("answers in time what has a deadline", async () => {
      await using server = await start();
      using client = new GrpcJsClient(server.target);
      const answer = await client.infer(echoRequest([5]), { deadlineMs: 30_000 });
      expect(int32sOf(answer.rawOutputContents[0])).toEqual([5]);
    });

    test("refuses with UNAVAILABLE what lacks the key of a restricted api", async () => {
      const key = { key: "triton-grpc-protocol-secret", value: "open" };
      await using server = await start({ restrictedApis: new Map([["inference", key]]) });
      using client = new GrpcJsClient(server.target);
      const failure = await client.failure("modelInfer", echoRequest([1]));
      expect(failure.code).toBe(status.UNAVAILABLE);
      expect(failure.details).toContain(
        "restricted, expecting header 'triton-grpc-protocol-secret'",
      );
      const answer = await client.infer(echoRequest([1]), { metadata: { [key.key]: key.value } });
      expect(int32sOf(answer.rawOutputContents[0])).toEqual([1]);
      expect((await client.call("serverLive", {})).live).toBe(true);
    });

    test("forwards matching metadata as string parameters", async () => {
      await using server = await start({ headerForwardPattern: "^x-" });
      using client = new GrpcJsClient(server.target);
      const { seen } = server.planes.model("id_int32", "");
      for (const value of ["one", "two"]) {
        await client.infer(echoRequest([1]), { metadata: { "x-tenant": value, other: "no" } });
        expect(Object.fromEntries(seen.at(-1)?.signature.parameters ?? [])).toEqual({
          "x-tenant": { kind: "string", value },
        });
      }
      await client.infer(echoRequest([1]));
      expect(seen.at(-1)?.signature.parameters.size).toBe(0);
    });

    test("refuses matching metadata of a reserved name", async () => {
      await using server = await start({ headerForwardPattern: "t" });
      using client = new GrpcJsClient(server.target);
      const failure = await client.failure("modelInfer", echoRequest([1]), {
        metadata: { timeout: "5" },
      });
      expect(failure.code).toBe(status.INVALID_ARGUMENT);
      expect(failure.details).toContain("'timeout' is reserved");
    });

    test("compresses answers where the level asks for it", async () => {
      await using server = await start({ responseCompressionLevel: "high" });
      using client = new GrpcJsClient(server.target);
      const answer = await client.infer(bytesRequest(new Uint8Array(1_000_000)));
      expect(answer.rawOutputContents[0]?.length).toBe(1_000_000);
    });

    test("lets calls in flight finish when the server stops", async () => {
      await using server = await start();
      using client = new GrpcJsClient(server.target);
      const held = server.planes.add(new HeldModel("held"));
      const { answer } = client.start("modelInfer", echoRequest([9], { modelName: "held" }));
      await eventually(() => held.held.length === 1);
      const stopped = server.frontend.stop();
      held.release();
      expect(int32sOf((await answer).rawOutputContents[0])).toEqual([9]);
      await stopped;
      using late = new GrpcJsClient(server.target);
      expect((await late.failure("serverLive", {})).code).toBe(status.UNAVAILABLE);
    });

    test("refuses with UNAVAILABLE once the server exits", async () => {
      await using server = await start();
      using client = new GrpcJsClient(server.target);
      server.planes.isLive = false;
      const failure = await client.failure("modelInfer", echoRequest([1]));
      expect(failure.code).toBe(status.UNAVAILABLE);
    });
  });
}
