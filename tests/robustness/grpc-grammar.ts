import type { Random } from "./random.ts";

/** One call on an HTTP/2 connection: its headers and the bytes of its body. */
export interface GrpcCase {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Reset the stream right after the body instead of ending it. */
  readonly isReset: boolean;
}

const METHODS = [
  "ModelInfer",
  "ModelInfer",
  "ModelInfer",
  "ModelInfer",
  "ModelStreamInfer",
  "ModelMetadata",
  "ModelConfig",
  "ModelStatistics",
  "RepositoryIndex",
  "RepositoryModelLoad",
  "RepositoryModelUnload",
  "TraceSetting",
  "LogSettings",
  "SystemSharedMemoryRegister",
  "NoSuchMethod",
];

/** A malformed (now and then a well-formed) gRPC call, drawn around ModelInferRequest. */
export function grpcCase(random: Random): GrpcCase {
  const message = random.chance(0.15)
    ? random.bytes(random.below(200))
    : mutated(inferRequest(random), random);
  return {
    headers: headersOf(random),
    body: framed(message, random),
    isReset: random.chance(0.03),
  };
}

function headersOf(random: Random): Record<string, string> {
  const service = random.chance(0.97)
    ? "inference.GRPCInferenceService"
    : random.pick(["x", "grpc.health.v1.Health", ""]);
  const headers: Record<string, string> = {
    ":method": random.chance(0.98) ? "POST" : "GET",
    ":path": `/${service}/${random.pick(METHODS)}`,
    "content-type": random.chance(0.95)
      ? "application/grpc"
      : random.pick([
          "application/grpc+json",
          "application/grpc-web",
          "text/plain",
          "application/proto",
        ]),
    te: "trailers",
  };
  if (random.chance(0.1))
    headers["grpc-timeout"] = random.pick(["1n", "0S", "99999999H", "-1S", "abc", "1", "100m"]);
  if (random.chance(0.1))
    headers["grpc-encoding"] = random.pick(["gzip", "deflate", "br", "identity", ""]);
  if (random.chance(0.05)) headers["x-custom-bin"] = random.pick(["!!!", "AAEC", "="]);
  return headers;
}

function framed(message: Uint8Array, random: Random): Uint8Array {
  const frame = new Uint8Array(5 + message.length);
  const flag = random.chance(0.95) ? 0 : random.pick([1, 2, 255]);
  const length = random.chance(0.93)
    ? message.length
    : random.pick([0, message.length + 1, Math.max(0, message.length - 1), 0x7fffffff, 0xffffffff]);
  frame[0] = flag;
  new DataView(frame.buffer).setUint32(1, length);
  frame.set(message, 5);
  if (random.chance(0.03)) return frame.subarray(0, random.below(frame.length));
  return frame;
}

function inferRequest(random: Random): Uint8Array {
  const writer = new Writer();
  writer.text(
    1,
    random.chance(0.95) ? "add_sub" : random.pick(["", "nothing", "../x", "a".repeat(5000)]),
  );
  writer.text(2, random.chance(0.9) ? "" : random.pick(["1", "0", "-1", "x", "9".repeat(40)]));
  if (random.chance(0.3)) writer.text(3, "id");
  for (let i = 0; i < (random.chance(0.9) ? 2 : random.below(5)); i++) {
    const input = new Writer();
    input.text(1, random.chance(0.95) ? `INPUT${i}` : random.pick(["", "x", "\u0000"]));
    input.text(
      2,
      random.chance(0.9) ? "INT32" : random.pick(["FP32", "BYTES", "", "STRING", "FP16"]),
    );
    for (const dim of random.chance(0.8)
      ? [1n, 16n]
      : random.pick([[16n], [-1n, 16n], [1n << 62n, 1n << 62n], [0n, 16n], [], [9n, 16n]]))
      input.varintField(3, dim);
    writer.bytes(5, input.finish());
  }
  if (random.chance(0.1)) writer.bytes(6, new Writer().finish());
  const raws = random.chance(0.85) ? 2 : random.below(5);
  for (let i = 0; i < raws; i++)
    writer.bytes(7, random.bytes(random.chance(0.8) ? 64 : random.below(200)));
  return writer.finish();
}

function mutated(message: Uint8Array, random: Random): Uint8Array {
  if (random.chance(0.4)) return message;
  const copy = message.slice();
  for (let i = 0; i < 1 + random.below(4); i++) copy[random.below(copy.length)] = random.below(256);
  return random.chance(0.2) ? copy.subarray(0, random.below(copy.length)) : copy;
}

/** The few wire forms of protobuf that a request needs. */
class Writer {
  readonly #out: number[] = [];

  text(field: number, value: string): void {
    this.bytes(field, new TextEncoder().encode(value));
  }

  bytes(field: number, value: Uint8Array): void {
    this.#varint(BigInt((field << 3) | 2));
    this.#varint(BigInt(value.length));
    for (const byte of value) this.#out.push(byte);
  }

  varintField(field: number, value: bigint): void {
    this.#varint(BigInt(field << 3));
    this.#varint(BigInt.asUintN(64, value));
  }

  finish(): Uint8Array {
    return new Uint8Array(this.#out);
  }

  #varint(value: bigint): void {
    let rest = value;
    while (rest > 127n) {
      this.#out.push(Number(rest & 127n) | 128);
      rest >>= 7n;
    }
    this.#out.push(Number(rest));
  }
}
