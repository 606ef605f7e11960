import { describe, expect, test } from "bun:test";
import { InferenceRequest } from "../../../../src/core/request/inference-request.ts";
import { RequestSignature } from "../../../../src/core/request/request-signature.ts";
import type { HttpServer } from "../../../../src/frontends/http/endpoint.ts";
import {
  IDLE_TIMEOUT_SECONDS,
  OpenRequest,
  OpenRequests,
} from "../../../../src/frontends/http/open-requests.ts";

/** An open request whose client leaves when told, on a server that notes its timeouts. */
function openRequest() {
  const client = new AbortController();
  const timeouts: number[] = [];
  const server = { timeout: (_request: Request, seconds: number) => timeouts.push(seconds) };
  const inference = new InferenceRequest({
    signature: new RequestSignature({ inputs: [] }),
    id: "",
    inputBytes: [],
    arrivalNs: 0,
    sink: {
      onResponse: () => undefined,
      onError: () => undefined,
      onComplete: () => undefined,
    },
  });
  const http = new Request("http://localhost/", { signal: client.signal });
  const open = new OpenRequest(http, inference, server as unknown as HttpServer);
  return { client, timeouts, inference, open };
}

async function until(isTrue: () => boolean): Promise<void> {
  for (let i = 0; !isTrue(); i++) {
    if (i === 2000) throw new Error("waited 2 s in vain");
    await Bun.sleep(1);
  }
}

describe("open requests", () => {
  test("are cancelled when their client leaves while they are watched", async () => {
    const requests = new OpenRequests(1);
    const { client, inference, open } = openRequest();
    requests.add(open);
    await until(() => open.tickCount > 5);
    expect(inference.isCancelled).toBe(false);
    client.abort();
    expect(inference.isCancelled).toBe(true);
    requests.remove(open);
  });

  test("are cancelled too when their client left before anyone looked", async () => {
    const requests = new OpenRequests(1);
    const { client, inference, open } = openRequest();
    requests.add(open);
    client.abort();
    await until(() => inference.isCancelled);
    requests.remove(open);
  });

  test("may be quiet once they have lasted, and get the timeout of their connection back", async () => {
    const requests = new OpenRequests(1);
    const { timeouts, open } = openRequest();
    requests.add(open);
    await until(() => timeouts.length > 0);
    expect(timeouts).toEqual([0]);
    requests.remove(open);
    requests.remove(open);
    expect(timeouts).toEqual([0, IDLE_TIMEOUT_SECONDS]);
  });

  test("that are answered at once are not looked at, and nothing keeps ticking", async () => {
    const requests = new OpenRequests(1);
    const first = openRequest();
    requests.add(first.open);
    requests.remove(first.open);
    expect(requests.count).toBe(0);
    await Bun.sleep(10);
    expect(first.open.tickCount).toBe(0);
    expect(first.timeouts).toEqual([]);
    // After a rest the next one is watched again.
    const second = openRequest();
    requests.add(second.open);
    await until(() => second.open.tickCount > 2);
    requests.remove(second.open);
  });
});
