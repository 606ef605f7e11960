import { describe, expect, test } from "bun:test";
import { RequestMemo } from "../../../src/frontends/request-memo.ts";

describe("the memo of request headers", () => {
  test("gives back what it was told", () => {
    const memo = new RequestMemo<number>();
    memo.set("a", 1);
    expect(memo.get("a")).toBe(1);
    expect(memo.get("b")).toBeUndefined();
  });

  test("stays bounded under a flood of distinct headers, and keeps one in use", () => {
    const memo = new RequestMemo<number>();
    memo.set("used", 1);
    for (let i = 0; i < 10_000; i++) {
      memo.set(`header ${i}`, i);
      expect(memo.get("used")).toBe(1);
    }
    expect(memo.entryCount).toBeLessThanOrEqual(512);
  });

  test("does not keep long keys", () => {
    const memo = new RequestMemo<number>();
    memo.set("x".repeat(5000), 1);
    expect(memo.entryCount).toBe(0);
  });
});
