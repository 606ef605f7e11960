import { expect, test } from "bun:test";
import { requestPrefix } from "../../../../src/core/request/request-prefix.ts";

test("names the request, or says that it has no id", () => {
  expect(requestPrefix("seven")).toBe("[request id: seven] ");
  expect(requestPrefix("")).toBe("[request id: <id_unknown>] ");
});
