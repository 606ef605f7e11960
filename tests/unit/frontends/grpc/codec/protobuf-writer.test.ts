import { expect, test } from "bun:test";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import {
  fieldBytes,
  ProtobufWriter,
  varintBytes,
} from "../../../../../src/frontends/grpc/codec/protobuf-writer.ts";

test.each([
  0,
  1,
  127,
  128,
  16383,
  16384,
  2097151,
  2097152,
  268435455,
  268435456,
  2 ** 31,
  2 ** 32,
  2 ** 40,
])("the varint of %d has the announced length and reads back", (value) => {
  const writer = new ProtobufWriter(Buffer.alloc(10));
  writer.varint(value);
  expect(writer.at).toBe(varintBytes(value));
  expect(Number(new BinaryReader(writer.bytes).uint64())).toBe(value);
});

test("a field has the announced length", () => {
  const writer = new ProtobufWriter(Buffer.alloc(300));
  writer.field(0x32, new Uint8Array(200));
  expect(writer.at).toBe(fieldBytes(200));
});
