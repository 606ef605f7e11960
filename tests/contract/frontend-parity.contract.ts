import { describe, expect, test } from "bun:test";
import type { Datatype } from "../../src/base/datatype.ts";
import type { ErrorCode } from "../../src/base/error.ts";
import type { Tensor } from "../../src/core/tensor/tensor.ts";
import type { InMemoryPlanes } from "../support/in-memory-planes.ts";
import { int32Bytes } from "../support/infer-requests.ts";
import type { Carrier, LogicalRequest } from "../support/parity-carriers.ts";
import { packBytes } from "../support/sample-models.ts";
import { typedArrayOf } from "../support/tensor-elements.ts";

/** Both frontends over one set of models. */
export interface ParitySetup extends AsyncDisposable {
  readonly planes: InMemoryPlanes;
  readonly carriers: readonly Carrier[];
}

function int32(name: string, shape: readonly number[], values: readonly number[]): Tensor {
  return { name, datatype: "INT32", shape, bytes: int32Bytes(values) };
}

function sum(rows: number): Tensor[] {
  const values = Array.from({ length: rows * 16 }, (_, i) => i);
  return ["INPUT0", "INPUT1"].map((name) => int32(name, [rows, 16], values));
}

function echo(datatype: Datatype, count: number, bytes: Uint8Array): LogicalRequest {
  return {
    modelName: `id_${datatype.toLowerCase()}`,
    inputs: [{ name: "INPUT0", datatype, shape: [count], bytes }],
  };
}

const INTEGERS = [0, 1, 100];
const GOOD: readonly (readonly [string, LogicalRequest])[] = [
  ["BOOL", echo("BOOL", 3, Uint8Array.of(1, 0, 1))],
  ...(["UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64"] as const).map(
    (datatype) => [datatype, echo(datatype, 3, typedArrayOf(datatype, INTEGERS))] as const,
  ),
  ["FP32", echo("FP32", 3, typedArrayOf("FP32", [0.5, -1.25, 1e30]))],
  ["FP64", echo("FP64", 3, typedArrayOf("FP64", [0.1, -1.25, 5e-324]))],
  ["FP16", echo("FP16", 2, Uint8Array.of(1, 0, 0xff, 0x7b))],
  ["BF16", echo("BF16", 2, Uint8Array.of(1, 0, 0x80, 0xff))],
  ["BYTES", echo("BYTES", 3, packBytes(["plain", "", 'é中😀"\\\n']))],
  ["an empty tensor", echo("FP32", 0, new Uint8Array(0))],
  ["an empty BYTES tensor", echo("BYTES", 0, new Uint8Array(0))],
  ["two inputs", { modelName: "add_sub", inputs: sum(1) }],
  ["a batch", { modelName: "add_sub", inputs: sum(8) }],
  ["one of two outputs", { modelName: "add_sub", inputs: sum(1), outputs: ["OUTPUT1"] }],
  ["an id", { ...echo("INT32", 1, int32Bytes([5])), id: "r-17 é" }],
  [
    "a version",
    {
      modelName: "versions",
      modelVersion: "3",
      inputs: [
        {
          ...sum(1)[0],
          name: "INPUT0",
          datatype: "FP32",
          shape: [1, 2],
          bytes: typedArrayOf("FP32", [1, 2]),
        },
      ],
    },
  ],
];

const BAD: readonly (readonly [string, ErrorCode, LogicalRequest])[] = [
  ["an unknown model", "NOT_FOUND", { modelName: "nope", inputs: sum(1) }],
  ["an unknown version", "NOT_FOUND", { modelName: "add_sub", modelVersion: "9", inputs: sum(1) }],
  ["a missing input", "INVALID_ARG", { modelName: "add_sub", inputs: sum(1).slice(0, 1) }],
  [
    "an unknown output",
    "INVALID_ARG",
    { modelName: "add_sub", inputs: sum(1), outputs: ["potato"] },
  ],
  [
    "a wrong datatype",
    "INVALID_ARG",
    { modelName: "id_fp32", inputs: [int32("INPUT0", [1], [1])] },
  ],
  [
    "a wrong shape",
    "INVALID_ARG",
    { modelName: "add_sub", inputs: sum(1).map((tensor) => ({ ...tensor, shape: [16] })) },
  ],
  ["a model that fails", "INTERNAL", { modelName: "failing", inputs: [int32("INPUT0", [1], [1])] }],
];

/** The same logical request has the same outcome, whichever way it comes. */
export function describeFrontendParity(start: () => Promise<ParitySetup>): void {
  describe("every carrier", () => {
    test.each(GOOD)("gives the same answer for %s", async (_, request) => {
      await using setup = await start();
      const isHalf = request.inputs.some(
        ({ datatype }) => datatype === "FP16" || datatype === "BF16",
      );
      const carriers = setup.carriers.filter((carrier) => carrier.hasHalfTypes || !isHalf);
      const [first, ...others] = await Promise.all(
        carriers.map((carrier) => carrier.infer(request)),
      );
      expect(first).toMatchObject({ isGood: true, id: request.id ?? "" });
      for (const [i, answer] of others.entries()) {
        expect([carriers[i + 1]?.name, answer]).toEqual([carriers[i + 1]?.name, first]);
      }
      const { statistics } = setup.planes.model(request.modelName, request.modelVersion ?? "");
      expect(statistics.snapshot().success.count).toBe(carriers.length);
    });

    test.each(BAD)("refuses %s with %s and one text", async (_, code, request) => {
      await using setup = await start();
      const texts = new Set<string>();
      for (const carrier of setup.carriers) {
        const answer = await carrier.infer(request);
        expect([carrier.name, answer]).toMatchObject([
          carrier.name,
          { isGood: false, status: carrier.statusOf(code) },
        ]);
        if (!answer.isGood) texts.add(answer.text);
      }
      expect([...texts]).toHaveLength(1);
    });
  });
}
