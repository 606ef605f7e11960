import {
  NO_PARAMETERS,
  type Parameters,
  type ParameterValue,
} from "../request/request-signature.ts";

/** One parameter as it is written down: name, kind, value as text (64-bit integers do not fit a JSON number). */
type ParameterRow = readonly [name: string, kind: ParameterValue["kind"], value: string];

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Response parameters → the bytes of a reply frame: a JSON array of rows. Remembers the last object. */
export class ParameterWriter {
  #lastParameters: Parameters | undefined;
  #lastBytes: Uint8Array = new Uint8Array(0);

  /** @returns bytes that stay the same until the next call. */
  encode(parameters: Parameters): Uint8Array {
    if (parameters === this.#lastParameters) return this.#lastBytes;
    const rows: ParameterRow[] = [];
    for (const [name, { kind, value }] of parameters) rows.push([name, kind, String(value)]);
    this.#lastParameters = parameters;
    this.#lastBytes = encoder.encode(JSON.stringify(rows));
    return this.#lastBytes;
  }
}

/** The way back. The same bytes give the same object, so most replies cost one comparison. */
export class ParameterReader {
  #lastBytes: Uint8Array = new Uint8Array(0);
  #lastParameters: Parameters = NO_PARAMETERS;

  /** @param bytes not kept. @throws Error when they are no rows of parameters. */
  decode(bytes: Uint8Array): Parameters {
    if (Buffer.compare(bytes, this.#lastBytes) === 0) return this.#lastParameters;
    const rows: unknown = JSON.parse(decoder.decode(bytes));
    if (!Array.isArray(rows)) throw new Error("response parameters are not an array");
    const parameters = new Map<string, ParameterValue>();
    for (const row of rows) {
      const [name, kind, value]: unknown[] = row;
      parameters.set(String(name), parameterFrom(String(kind), String(value)));
    }
    this.#lastBytes = bytes.slice();
    this.#lastParameters = parameters;
    return parameters;
  }
}

function parameterFrom(kind: string, value: string): ParameterValue {
  switch (kind) {
    case "bool":
      return { kind, value: value === "true" };
    case "int64":
      return { kind, value: BigInt(value) };
    case "double":
      return { kind, value: Number(value) };
    case "string":
      return { kind, value };
    default:
      throw new Error(`a response parameter has the unknown kind '${kind}'`);
  }
}
