import { describe, expect, test } from "bun:test";
import { status } from "@grpc/grpc-js";
import type { GrpcFrontendOptions } from "../../src/frontends/grpc/grpc-frontend.ts";
import { eventually } from "../support/eventually.ts";
import { collect, GrpcJsClient } from "../support/grpc-js-client.ts";
import { GrpcTestServer } from "../support/grpc-test-server.ts";
import { InMemoryModel } from "../support/in-memory-model.ts";
import {
  boolParameter,
  bytesRequest,
  echoRequest,
  int32sOf,
  isFinal,
  repeatRequest,
  textOf,
} from "../support/infer-requests.ts";
import { HeldModel } from "../support/sample-models.ts";

const EMPTY_FINAL = { triton_enable_empty_final_response: boolParameter(true) };

/** A decoupled model that answers once, without saying that it was the last, then fails. */
function answersThenFails(): InMemoryModel {
  return new InMemoryModel({
    name: "half",
    isDecoupled: true,
    inputs: [["INPUT0", "INT32", [-1]]],
    outputs: [["OUTPUT0", "INT32", [-1]]],
    behaviour: (call) => {
      const input = call.input("INPUT0");
      if (input) call.respond([{ ...input, name: "OUTPUT0" }], { isFinal: true });
    },
  });
}

/** What ModelStreamInfer owes to every client, whichever way the frontend carries it. */
export function describeGrpcStream(
  carrier: string,
  carrierOptions: Partial<GrpcFrontendOptions>,
): void {
  const start = (options: Partial<GrpcFrontendOptions> = {}) =>
    GrpcTestServer.start({ ...carrierOptions, ...options });

  describe(`ModelStreamInfer by ${carrier}`, () => {
    test("gives an ordinary request one answer, marked as the last", async () => {
      await using server = await start();
      using client = new GrpcJsClient(server.target);
      const [answer, ...rest] = await client.stream([echoRequest([1, 2], { id: "s" })]);
      expect(rest).toEqual([]);
      expect(answer?.errorMessage).toBe("");
      expect(answer && isFinal(answer)).toBe(true);
      expect(answer?.inferResponse).toMatchObject({
        id: "s",
        modelName: "id_int32",
        modelVersion: "1",
      });
      expect(int32sOf(answer?.inferResponse?.rawOutputContents[0])).toEqual([1, 2]);
    });

    test("answers ordinary requests in their order, however long each takes", async () => {
      await using server = await start();
      using client = new GrpcJsClient(server.target);
      const slow = server.planes.add(new HeldModel("slow"));
      const answers = client.stream([
        echoRequest([1], { modelName: "slow", id: "slow" }),
        echoRequest([2], { id: "quick" }),
        repeatRequest(1, { id: "free" }),
        echoRequest([3], { modelName: "nope", id: "refused" }),
      ]);
      await eventually(() => slow.held.length === 1 && server.planes.inflightCount === 1);
      slow.release();
      expect((await answers).map((answer) => answer.inferResponse?.id)).toEqual([
        "free",
        "slow",
        "quick",
        "refused",
      ]);
    });

    test("keeps the order of 300 requests", async () => {
      await using server = await start();
      using client = new GrpcJsClient(server.target);
      const ids = Array.from({ length: 300 }, (_, i) => String(i));
      const answers = await client.stream(ids.map((id) => echoRequest([Number(id)], { id })));
      expect(answers.map((answer) => answer.inferResponse?.id)).toEqual(ids);
    });

    test("gives a decoupled request all its responses, none of them marked as the last", async () => {
      await using server = await start();
      using client = new GrpcJsClient(server.target);
      const answers = await client.stream([repeatRequest(3, { id: "d" })]);
      expect(answers.map(textOf)).toEqual(["t0", "t1", "t2"]);
      expect(answers.map(isFinal)).toEqual([false, false, false]);
      expect(answers.map((answer) => answer.inferResponse?.id)).toEqual(["d", "d", "d"]);
    });

    test("marks the last response of a decoupled request that says so itself", async () => {
      await using server = await start();
      using client = new GrpcJsClient(server.target);
      server.planes.add(answersThenFails());
      const answers = await client.stream([echoRequest([4], { modelName: "half" })]);
      expect(answers.map(isFinal)).toEqual([true]);
    });

    test("sends the end as a response of its own where the request asks for it", async () => {
      await using server = await start();
      using client = new GrpcJsClient(server.target);
      const answers = await client.stream([repeatRequest(2, { id: "e", parameters: EMPTY_FINAL })]);
      expect(answers.map(isFinal)).toEqual([false, false, true]);
      expect(answers[2]?.inferResponse).toMatchObject({
        id: "e",
        modelName: "repeat",
        modelVersion: "",
        outputs: [],
        rawOutputContents: [],
      });
    });

    test("sends nothing for a decoupled request without responses", async () => {
      await using server = await start();
      using client = new GrpcJsClient(server.target);
      expect(await client.stream([repeatRequest(0)])).toEqual([]);
    });

    test("tells the error of a request in a message and goes on", async () => {
      await using server = await start();
      using client = new GrpcJsClient(server.target);
      const answers = await client.stream([
        echoRequest([1], { modelName: "failing", id: "bad" }),
        echoRequest([2], { id: "good" }),
        repeatRequest(-2, { id: "half" }),
      ]);
      const of = (id: string) => answers.filter((answer) => answer.inferResponse?.id === id);
      expect(of("bad").map((answer) => [answer.errorMessage, isFinal(answer)])).toEqual([
        ["asked to fail", true],
      ]);
      expect(of("bad")[0]?.inferResponse).toMatchObject({ modelName: "failing", modelVersion: "" });
      expect(of("good").map((answer) => answer.errorMessage)).toEqual([""]);
      expect(of("half").map((answer) => answer.errorMessage)).toEqual(["", "", "negative count"]);
    });

    test.each([
      [echoRequest([1], { modelName: "nope", id: "b" }), "'nope' is not found"],
      [echoRequest([1], { modelVersion: "9", id: "b" }), "version 9"],
      [echoRequest([1], { outputs: [{ name: "potato" }], id: "b" }), "'potato'"],
      [echoRequest([1], { rawInputContents: [], id: "b" }), "'INPUT0'"],
      [echoRequest([1], { parameters: { triton_x: boolParameter(true) }, id: "b" }), "triton_"],
    ])("refuses a request by a message with its id alone %#", async (bad, text) => {
      await using server = await start();
      using client = new GrpcJsClient(server.target);
      const [first, refusal, last] = await client.stream([echoRequest([1]), bad, echoRequest([2])]);
      expect(first?.errorMessage).toBe("");
      expect(last?.errorMessage).toBe("");
      expect(refusal?.errorMessage).toContain(text);
      expect(refusal?.inferResponse).toMatchObject({ id: "b", modelName: "", parameters: {} });
    });

    test("ends with the status of the first error of an execution in strict mode", async () => {
      await using server = await start();
      using client = new GrpcJsClient(server.target);
      const held = server.planes.add(new HeldModel("held"));
      const stream = client.openStream({ metadata: { triton_grpc_error: "true" } });
      const outcome = collect(stream).catch((error: unknown) => error);
      stream.write(echoRequest([1], { modelName: "nope" }));
      stream.write(echoRequest([1], { modelName: "held" }));
      await eventually(() => held.held.length === 1);
      stream.write(echoRequest([1], { modelName: "failing" }));
      expect(await outcome).toMatchObject({ code: status.INTERNAL, details: "asked to fail" });
      expect(held.seen[0]?.isCancelled).toBe(true);
    });

    test("answers while the stream is still open, and ends when both halves are done", async () => {
      await using server = await start();
      using client = new GrpcJsClient(server.target);
      const stream = client.openStream();
      let seenCount = 0;
      stream.on("data", () => seenCount++);
      const answers = collect(stream);
      for (let i = 1; i <= 3; i++) {
        stream.write(echoRequest([i]));
        await eventually(() => seenCount === i);
      }
      stream.end();
      expect(await answers).toHaveLength(3);
    });

    test("stays open after the client's half until the last answer is out", async () => {
      await using server = await start();
      using client = new GrpcJsClient(server.target);
      const held = server.planes.add(new HeldModel("held"));
      const answers = client.stream([echoRequest([1], { modelName: "held" })]);
      await eventually(() => held.held.length === 1);
      await new Promise((resolve) => setImmediate(resolve));
      held.release();
      expect(await answers).toHaveLength(1);
    });

    test("ends well without any request", async () => {
      await using server = await start();
      using client = new GrpcJsClient(server.target);
      expect(await client.stream([])).toEqual([]);
    });

    test("cancels all requests of a stream that the client cancels", async () => {
      await using server = await start();
      using client = new GrpcJsClient(server.target);
      const held = server.planes.add(new HeldModel("held"));
      const stream = client.openStream();
      const outcome = collect(stream).catch((error: unknown) => error);
      for (let i = 0; i < 3; i++) stream.write(echoRequest([i], { modelName: "held" }));
      await eventually(() => held.held.length === 3);
      stream.cancel();
      expect(await outcome).toMatchObject({ code: status.CANCELLED });
      await eventually(() => held.seen.every((request) => request.isCancelled));
      await eventually(() => held.inflightCount === 0);
    });

    test("ends at its deadline and cancels its requests", async () => {
      await using server = await start();
      using client = new GrpcJsClient(server.target);
      const held = server.planes.add(new HeldModel("held"));
      const outcome = client
        .stream([echoRequest([1], { modelName: "held" })], { deadlineMs: 100 })
        .catch((error: unknown) => error);
      expect(await outcome).toMatchObject({ code: status.DEADLINE_EXCEEDED });
      await eventually(() => held.seen[0]?.isCancelled === true);
    });

    test("refuses the whole stream where inference is restricted", async () => {
      const key = { key: "triton-grpc-protocol-k", value: "v" };
      await using server = await start({ restrictedApis: new Map([["inference", key]]) });
      using client = new GrpcJsClient(server.target);
      const outcome = client.stream([echoRequest([1])]).catch((error: unknown) => error);
      expect(await outcome).toMatchObject({ code: status.UNAVAILABLE });
      const open = await client.stream([echoRequest([1])], { metadata: { [key.key]: key.value } });
      expect(open).toHaveLength(1);
    });

    test("carries thousand responses and two megabytes each way", async () => {
      await using server = await start();
      using client = new GrpcJsClient(server.target);
      const texts = (await client.stream([repeatRequest(1000)])).map(textOf);
      expect(texts).toEqual(Array.from({ length: 1000 }, (_, i) => `t${i}`));
      const bytes = new Uint8Array(2_000_000).fill(7);
      const answers = await client.stream(Array.from({ length: 8 }, () => bytesRequest(bytes)));
      expect(answers.map((answer) => answer.inferResponse?.rawOutputContents[0]?.length)).toEqual(
        new Array(8).fill(bytes.length),
      );
      expect(server.frontend.inflightBytes).toBe(0);
    });

    test("gives a reader that pauses every answer", async () => {
      await using server = await start();
      using client = new GrpcJsClient(server.target);
      const stream = client.openStream();
      const answers = collect(stream);
      stream.pause();
      const bytes = new Uint8Array(200_000);
      const writeAll = (async () => {
        for (let i = 0; i < 50; i++) {
          if (!stream.write(bytesRequest(bytes, { id: String(i) }))) {
            await new Promise((resolve) => stream.once("drain", resolve));
          }
        }
        stream.end();
      })();
      await new Promise((resolve) => setTimeout(resolve, 50));
      stream.resume();
      await writeAll;
      expect((await answers).map((answer) => answer.inferResponse?.id)).toEqual(
        Array.from({ length: 50 }, (_, i) => String(i)),
      );
    });
  });
}
