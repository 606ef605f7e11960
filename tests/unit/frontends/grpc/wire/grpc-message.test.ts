import { expect, test } from "bun:test";
import { encodeGrpcMessage } from "../../../../../src/frontends/grpc/wire/grpc-message.ts";

test.each([
  ["plain: text, with [signs] & 'quotes'", "plain: text, with [signs] & 'quotes'"],
  ["100%", "100%25"],
  ["é", "%C3%A9"],
  ["😀", "%F0%9F%98%80"],
  ["a\nb\t", "a%0Ab%09"],
  ["\ud800", "%EF%BF%BD"],
  ["", ""],
])("%j is encoded as gRPC asks for", (text, encoded) => {
  expect(encodeGrpcMessage(text)).toBe(encoded);
});

test("a long text is cut between two characters", () => {
  const encoded = encodeGrpcMessage("é".repeat(10_000));
  expect(encoded.length).toBeLessThan(4200);
  expect(decodeURIComponent(encoded)).toMatch(/^é+\.\.\.$/);
  expect(encodeGrpcMessage("x".repeat(5000))).toEndWith("x...");
});
