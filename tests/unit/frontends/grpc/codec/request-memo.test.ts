import { expect, test } from "bun:test";
import { RequestMemo } from "../../../../../src/frontends/grpc/codec/request-memo.ts";

test("a memo forgets what is not used, keeps what is, and stays within its bound", () => {
  const memo = new RequestMemo<number>();
  memo.set("hot", 1);
  for (let i = 0; i < 10_000; i++) {
    memo.set(`cold ${i}`, i);
    expect(memo.get("hot")).toBe(1);
  }
  expect(memo.entryCount).toBeLessThanOrEqual(1024);
  expect(memo.get("cold 0")).toBeUndefined();
  expect(memo.get("cold 9999")).toBe(9999);
});
