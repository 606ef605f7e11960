import { expect, test } from "bun:test";
import { parseGrpcTimeout } from "../../../../../src/frontends/grpc/wire/grpc-timeout.ts";

test.each([
  ["1H", 3_600_000],
  ["2M", 120_000],
  ["3S", 3000],
  ["250m", 250],
  ["1500u", 1.5],
  ["99999999n", 99.999999],
  ["0m", 0],
  ["99999999H", 0x7fffffff],
])("%s is %d ms", (text, timeoutMs) => {
  expect(parseGrpcTimeout(text)).toBeCloseTo(timeoutMs);
});

test.each(["", "1", "S", "-1S", "1.5S", "123456789S", "1s", "1S ", "0x1S"])(
  "%j is malformed",
  (text) => {
    expect(parseGrpcTimeout(text)).toBeUndefined();
  },
);
