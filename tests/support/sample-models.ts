import type { Datatype } from "../../src/base/datatype.ts";
import { DATATYPES } from "../../src/base/datatype.ts";
import { InferenceError } from "../../src/base/error.ts";
import type { Tensor } from "../../src/core/tensor/tensor.ts";
import type { InMemoryBehaviour, InMemoryCall } from "./in-memory-model.ts";
import { InMemoryModel } from "./in-memory-model.ts";

/** `"a", "bc"` → the wire form of BYTES: a little-endian uint32 length before each element. */
export function packBytes(elements: readonly (string | Uint8Array)[]): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const element of elements) {
    const bytes = typeof element === "string" ? new TextEncoder().encode(element) : element;
    parts.push(new Uint8Array(new Uint32Array([bytes.byteLength]).buffer), bytes);
  }
  return new Uint8Array(Buffer.concat(parts));
}

/** The elements of a BYTES blob. */
export function unpackBytes(blob: Uint8Array): Uint8Array[] {
  const view = new DataView(blob.buffer, blob.byteOffset, blob.byteLength);
  const elements: Uint8Array[] = [];
  for (let at = 0; at < blob.byteLength; ) {
    const length = view.getUint32(at, true);
    elements.push(blob.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return elements;
}

function need(call: InMemoryCall, name: string): Tensor {
  const tensor = call.input(name);
  if (!tensor) throw new InferenceError("INVALID_ARG", `the request lacks input '${name}'`);
  return tensor;
}

function int32s(bytes: Uint8Array): Int32Array {
  return new Int32Array(bytes.slice().buffer);
}

const addSub: InMemoryBehaviour = (call) => {
  const a = need(call, "INPUT0");
  const left = int32s(a.bytes);
  const right = int32s(need(call, "INPUT1").bytes);
  const sum = new Int32Array(left.length);
  const difference = new Int32Array(left.length);
  for (let i = 0; i < left.length; i++) {
    sum[i] = (left[i] ?? 0) + (right[i] ?? 0);
    difference[i] = (left[i] ?? 0) - (right[i] ?? 0);
  }
  const description = { datatype: a.datatype, shape: a.shape };
  call.respond([
    { ...description, name: "OUTPUT0", bytes: new Uint8Array(sum.buffer) },
    { ...description, name: "OUTPUT1", bytes: new Uint8Array(difference.buffer) },
  ]);
};

/** OUTPUT0 = INPUT0, byte for byte. */
export const identityBehaviour: InMemoryBehaviour = (call) =>
  call.respond([{ ...need(call, "INPUT0"), name: "OUTPUT0" }]);

/** An identity model `id_<datatype>` of one free dimension. */
export function identityModel(datatype: Datatype): InMemoryModel {
  return new InMemoryModel({
    name: `id_${datatype.toLowerCase()}`,
    inputs: [["INPUT0", datatype, [-1]]],
    outputs: [["OUTPUT0", datatype, [-1]]],
    behaviour: identityBehaviour,
  });
}

/** Identity that answers only when told, for tests of cancellation and of a client that leaves. */
export class HeldModel extends InMemoryModel {
  readonly held: InMemoryCall[];

  constructor(name: string) {
    const held: InMemoryCall[] = [];
    super({
      name,
      inputs: [["INPUT0", "INT32", [-1]]],
      outputs: [["OUTPUT0", "INT32", [-1]]],
      behaviour: (call) => held.push(call),
    });
    this.held = held;
  }

  /** Lets the oldest waiting request go on. */
  release(): void {
    const call = this.held.shift();
    if (call) identityBehaviour(call);
  }
}

/** COUNT responses of TEXT with a running number; a negative count ends with an error after them. */
const repeat: InMemoryBehaviour = (call) => {
  const count = int32s(need(call, "COUNT").bytes)[0] ?? 0;
  const text = new TextDecoder().decode(unpackBytes(need(call, "TEXT").bytes)[0]);
  for (let i = 0; i < Math.abs(count); i++) {
    call.respond(
      [
        { name: "TEXT_OUT", datatype: "BYTES", shape: [1], bytes: packBytes([text + i]) },
        {
          name: "INDEX",
          datatype: "INT32",
          shape: [1],
          bytes: new Uint8Array(new Int32Array([i]).buffer),
        },
      ],
      { isFinal: false },
    );
  }
  if (count < 0) call.fail(new InferenceError("INTERNAL", "negative count"));
  else call.complete();
};

/** Fails each request with the text "asked to fail". */
const fail: InMemoryBehaviour = () => {
  throw new InferenceError("INTERNAL", "asked to fail", { reason: "BACKEND" });
};

/**
 * `add_sub` (INT32, 16 wide, batches of up to 8), `id_<datatype>` for all, `batched` (FP32, batch 8), `matrix`
 * (FP32, two free dimensions), `failing`, `repeat` (decoupled) and `versions` (1, 3, 10).
 */
export function sampleModels(): InMemoryModel[] {
  return [
    new InMemoryModel({
      name: "add_sub",
      maxBatchSize: 8,
      inputs: [
        ["INPUT0", "INT32", [16]],
        ["INPUT1", "INT32", [16]],
      ],
      outputs: [
        ["OUTPUT0", "INT32", [16]],
        ["OUTPUT1", "INT32", [16]],
      ],
      behaviour: addSub,
    }),
    ...(Object.keys(DATATYPES) as Datatype[]).map(identityModel),
    new InMemoryModel({
      name: "batched",
      maxBatchSize: 8,
      inputs: [["INPUT0", "FP32", [-1]]],
      outputs: [["OUTPUT0", "FP32", [-1]]],
      behaviour: identityBehaviour,
    }),
    new InMemoryModel({
      name: "matrix",
      inputs: [["INPUT0", "FP32", [-1, -1]]],
      outputs: [["OUTPUT0", "FP32", [-1, -1]]],
      behaviour: identityBehaviour,
    }),
    new InMemoryModel({
      name: "failing",
      inputs: [["INPUT0", "INT32", [-1]]],
      outputs: [["OUTPUT0", "INT32", [-1]]],
      behaviour: fail,
    }),
    new InMemoryModel({
      name: "repeat",
      isDecoupled: true,
      inputs: [
        ["COUNT", "INT32", [1]],
        ["TEXT", "BYTES", [1]],
      ],
      outputs: [
        ["TEXT_OUT", "BYTES", [1]],
        ["INDEX", "INT32", [1]],
      ],
      behaviour: repeat,
    }),
    ...[1, 3, 10].map(
      (version) =>
        new InMemoryModel({
          name: "versions",
          version,
          maxBatchSize: 8,
          inputs: [["INPUT0", "FP32", [-1]]],
          outputs: [["OUTPUT0", "FP32", [-1]]],
          behaviour: identityBehaviour,
        }),
    ),
  ];
}
