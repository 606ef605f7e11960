import type { Random } from "./random.ts";

const encoder = new TextEncoder();

/** One request as bytes for a fresh or kept connection. */
export interface HttpCase {
  readonly payload: Uint8Array;
  /** The framing itself is broken, so the connection cannot be used for a next request. */
  readonly breaksConnection: boolean;
  /** The answer has a length, but no body: that of a HEAD. */
  readonly hasNoBody: boolean;
}

const PATHS = [
  "/v2/models/add_sub/infer",
  "/v2/models/add_sub/versions/1/infer",
  "/v2/models/add_sub/generate",
  "/v2/models/add_sub/generate_stream",
  "/v2/repository/index",
  "/v2/repository/models/nothing/load",
  "/v2/repository/models/nothing/unload",
  "/v2/models/..%2f..%2fetc/infer",
  "/v2/models/add_sub/versions/99999999999999999999/infer",
  "/v2/models/add_sub/versions/-1/infer",
  "/v2/logging",
  "/v2/trace/setting",
  "/v2/systemsharedmemory/region/x/register",
  "/v2",
  "/",
  "//",
  "/v2/models/%00/config",
];
const VERBS = ["POST", "POST", "POST", "POST", "GET", "PUT", "DELETE", "HEAD", "PATCH", "BREW"];
const DATATYPES = [
  "INT32",
  "FP32",
  "BYTES",
  "FP16",
  "BOOL",
  "UINT64",
  "INT64",
  "STRING",
  "",
  "int32",
  null,
  7,
  [],
  {},
];
const SCALARS = [
  0,
  1,
  -1,
  0.5,
  1e308,
  -1e308,
  "NaN",
  "x",
  "",
  "\u0000",
  "\ud800",
  null,
  true,
  [],
  {},
  [[]],
  2 ** 53,
  "-1",
];

/** A malformed (now and then a well-formed) HTTP request, drawn from the grammar of the infer protocol. */
export function httpCase(random: Random): HttpCase {
  const kind = random.below(10);
  if (kind === 0) {
    return { payload: garbageFraming(random), breaksConnection: true, hasNoBody: false };
  }
  const body =
    kind < 4 ? binaryBody(random) : { head: [], bytes: encoder.encode(jsonText(random)) };
  const verb = random.pick(VERBS);
  const headers = [
    `${verb} ${random.pick(PATHS)} HTTP/1.1`,
    "Host: 127.0.0.1",
    ...body.head,
    ...oddHeaders(random),
    `Content-Length: ${body.bytes.length}`,
  ];
  return {
    payload: join(encoder.encode(`${headers.join("\r\n")}\r\n\r\n`), body.bytes),
    breaksConnection: false,
    hasNoBody: verb === "HEAD",
  };
}

function jsonText(random: Random): string {
  const text = JSON.stringify(inferObject(random)) ?? "null";
  switch (random.below(8)) {
    case 0:
      return text.slice(0, random.below(text.length + 1));
    case 1:
      return mutate(text, random);
    case 2:
      return "[".repeat(random.below(3000));
    case 3:
      return `{"inputs":${"[".repeat(random.below(500))}${"]".repeat(random.below(500))}}`;
    case 4:
      return `{"inputs":[{"name":"INPUT0","shape":[1,16],"datatype":"INT32","data":[${random.pick(["NaN", "1e999", "-", "0x1", "01", "1,,2", "Infinity", "9".repeat(400)])}]}]}`;
    default:
      return text;
  }
}

function mutate(text: string, random: Random): string {
  const at = random.below(text.length);
  const insert = random.pick([
    '"',
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\\",
    "\u0000",
    "\\u12",
    "null",
    "-",
    "é",
  ]);
  return text.slice(0, at) + insert + text.slice(at + random.below(3));
}

function inferObject(random: Random): unknown {
  if (random.chance(0.05)) return random.pick(SCALARS);
  const inputs = Array.from({ length: random.below(4) }, () => inputObject(random));
  const request: Record<string, unknown> = {
    inputs: random.chance(0.9) ? inputs : random.pick(SCALARS),
  };
  if (random.chance(0.3)) request["id"] = random.pick(SCALARS);
  if (random.chance(0.3)) request["parameters"] = parametersObject(random);
  if (random.chance(0.3)) {
    request["outputs"] = random.chance(0.7)
      ? [
          {
            name: random.pick(["OUTPUT0", "OUTPUT1", "", "x"]),
            parameters: parametersObject(random),
          },
        ]
      : random.pick(SCALARS);
  }
  return request;
}

function inputObject(random: Random): unknown {
  if (random.chance(0.05)) return random.pick(SCALARS);
  const input: Record<string, unknown> = {
    name: random.chance(0.85) ? random.pick(["INPUT0", "INPUT1"]) : random.pick(SCALARS),
    shape: random.chance(0.6)
      ? [1, 16]
      : random.pick<unknown>([
          [16],
          [-1, 16],
          [2 ** 62, 2 ** 62],
          [0, 16],
          [0],
          [],
          "1",
          null,
          [1.5],
          [[1]],
          [9, 16],
        ]),
    datatype: random.chance(0.7) ? "INT32" : random.pick<unknown>(DATATYPES),
  };
  if (random.chance(0.8)) {
    const count = random.chance(0.7) ? 16 : random.below(40);
    input["data"] = random.chance(0.9)
      ? Array.from({ length: count }, (_, i) => (random.chance(0.9) ? i : random.pick(SCALARS)))
      : random.pick(SCALARS);
  }
  if (random.chance(0.3)) input["parameters"] = parametersObject(random);
  return input;
}

function parametersObject(random: Random): unknown {
  if (random.chance(0.1)) return random.pick(SCALARS);
  const keys = [
    "binary_data_size",
    "binary_data",
    "binary_data_output",
    "classification",
    "shared_memory_region",
    "shared_memory_byte_size",
    "shared_memory_offset",
    "sequence_id",
    "sequence_start",
    "priority",
    "timeout",
    "triton_x",
    "k",
  ];
  return Object.fromEntries(
    Array.from({ length: random.below(4) }, () => [
      random.pick(keys),
      random.chance(0.5) ? random.below(100) : random.pick(SCALARS),
    ]),
  );
}

function binaryBody(random: Random): { head: string[]; bytes: Uint8Array } {
  const sizes = [64, 64].map((size) =>
    random.chance(0.7) ? size : random.pick([0, 1, 63, 65, -1, 2 ** 40, 1.5]),
  );
  const head = JSON.stringify({
    inputs: sizes.map((size, i) => ({
      name: `INPUT${i}`,
      shape: [1, 16],
      datatype: "INT32",
      parameters: { binary_data_size: size },
    })),
    parameters: { binary_data_output: random.chance(0.5) },
  });
  const length = random.chance(0.7)
    ? String(head.length)
    : random.pick([
        "0",
        "-1",
        "abc",
        "",
        "1e9",
        "99999999999999999999",
        String(head.length + 1),
        String(head.length - 1),
      ]);
  return {
    head: [`Inference-Header-Content-Length: ${length}`],
    bytes: join(encoder.encode(head), random.bytes(random.chance(0.7) ? 128 : random.below(300))),
  };
}

function oddHeaders(random: Random): string[] {
  if (random.chance(0.8)) return [];
  return [
    random.pick([
      "Content-Encoding: gzip",
      "Content-Encoding: deflate",
      "Content-Encoding: br",
      "Content-Encoding: gzip, gzip",
      "Accept-Encoding: gzip;q=2, deflate;q=x",
      "Accept-Encoding: ;;;,,,",
      "Content-Type: application/x-www-form-urlencoded",
      "Content-Type: multipart/form-data; boundary=x",
      "Expect: 100-continue",
      `X-Long: ${"a".repeat(random.below(9000))}`,
      "Host: [::1",
      "Cookie: =;=;",
    ]),
  ];
}

function garbageFraming(random: Random): Uint8Array {
  return random.pick([
    () => random.bytes(random.below(300) + 1),
    () => encoder.encode("GET / HTTP/9.9\r\n\r\n"),
    () =>
      encoder.encode(
        "POST /v2/models/add_sub/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nab",
      ),
    () =>
      encoder.encode(
        "POST /v2/models/add_sub/infer HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\n",
      ),
    () =>
      encoder.encode(
        "POST /v2/models/add_sub/infer HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
      ),
    () =>
      encoder.encode(
        "POST /v2/models/add_sub/infer HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n5\r\nabcde\r\n0\r\n\r\n",
      ),
    () => encoder.encode(`GET /${"a".repeat(random.below(70000))} HTTP/1.1\r\n\r\n`),
    () => encoder.encode("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  ])();
}

function join(a: Uint8Array, b: Uint8Array): Uint8Array {
  const joined = new Uint8Array(a.length + b.length);
  joined.set(a);
  joined.set(b, a.length);
  return joined;
}
