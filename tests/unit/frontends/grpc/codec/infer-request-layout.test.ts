import { describe, expect, test } from "bun:test";
import { layoutOfInferRequest } from "../../../../../src/frontends/grpc/codec/infer-request-layout.ts";
import {
  boolParameter,
  type InferRequestInit,
  int32sOf,
  messageBytes,
  sumRequest,
  typedSumRequest,
} from "../../../../support/infer-requests.ts";

function layoutOf(fields: InferRequestInit) {
  return layoutOfInferRequest(Buffer.from(messageBytes(fields)));
}

describe("the layout of a request", () => {
  test("is found without decoding, data as views of the message", () => {
    const bytes = Buffer.from(messageBytes(sumRequest({ id: "abc" })));
    const layout = layoutOfInferRequest(bytes);
    expect(bytes.toString("utf8", layout?.idStart, layout?.idEnd)).toBe("abc");
    expect(layout?.rawInputContents.map(int32sOf)[1]).toEqual(new Array(16).fill(3));
    expect(layout?.rawInputContents[0]?.buffer).toBe(bytes.buffer);
  });

  test("has one key for requests that differ in id and data only", () => {
    const key = layoutOf(sumRequest())?.formKey;
    expect(layoutOf(sumRequest({ id: "a" }))?.formKey).toBe(key ?? "");
    expect(layoutOf(sumRequest({ id: "a much longer id" }))?.formKey).toBe(key ?? "");
    const other = [new Uint8Array(64), new Uint8Array(8)];
    expect(layoutOf(sumRequest({ rawInputContents: other }))?.formKey).toBe(key ?? "");
  });

  test.each<InferRequestInit>([
    { modelName: "other" },
    { modelVersion: "2" },
    { outputs: [{ name: "OUTPUT0" }] },
    { parameters: { a: boolParameter(true) } },
  ])("has another key for %j", (fields) => {
    expect(layoutOf(sumRequest(fields))?.formKey).not.toBe(layoutOf(sumRequest())?.formKey ?? "");
  });

  test("is left to the decoder for typed contents, no data, long forms, and other orders of fields", () => {
    expect(layoutOf(typedSumRequest())).toBeUndefined();
    expect(layoutOf({})).toBeUndefined();
    expect(layoutOf(sumRequest({ modelName: "x".repeat(5000) }))).toBeUndefined();
    const [front, back] = [
      messageBytes({ rawInputContents: [new Uint8Array(4)] }),
      messageBytes({ modelName: "m" }),
    ];
    expect(layoutOfInferRequest(Buffer.concat([front, back]))).toBeUndefined();
    const twoIds = Buffer.concat([messageBytes({ id: "a" }), messageBytes({ id: "b" }), front]);
    expect(layoutOfInferRequest(twoIds)).toBeUndefined();
  });

  test("takes a long id, which is no part of the key", () => {
    expect(layoutOf(sumRequest({ id: "x".repeat(50_000) }))).toBeDefined();
  });

  test("never throws and never reads past the end, however a message is cut or changed", () => {
    const good = Buffer.from(messageBytes(sumRequest({ id: "abc" })));
    for (let end = 0; end < good.length; end++) {
      const layout = layoutOfInferRequest(good.subarray(0, end));
      // A cut at the border of two entries is a good message with less data.
      expect(layout?.rawInputContents.length ?? 1).toBe(1);
    }
    let state = 1;
    for (let i = 0; i < 20_000; i++) {
      state = (state * 48271) % 0x7fffffff;
      const changed = Buffer.from(good);
      changed[state % changed.length] = state >>> 8;
      for (const raw of layoutOfInferRequest(changed)?.rawInputContents ?? []) {
        expect(raw.byteOffset + raw.length).toBeLessThanOrEqual(
          changed.byteOffset + changed.length,
        );
      }
    }
  });
});
