import type { Datatype } from "../../base/datatype.ts";
import type { Shape } from "../../base/shape.ts";
import type { SequenceControl } from "../config/sequence-batching.ts";
import type { ExtraInput } from "../request/batch.ts";
import type { InferenceRequest } from "../request/inference-request.ts";
import { SEQUENCE_END, SEQUENCE_START } from "../request/request-signature.ts";
import type { Sequence } from "./sequence.ts";

/** Writes the control tensors of batches. */
export class SequenceControls {
  readonly #controls: readonly SequenceControl[];
  readonly #firstIndex: number;
  readonly #shape: Shape;
  readonly #paddingId: Uint8Array;

  /** @param firstIndex of the controls among the inputs of the execution signature. */
  constructor(controls: readonly SequenceControl[], firstIndex: number, isBatching: boolean) {
    this.#controls = controls;
    this.#firstIndex = firstIndex;
    this.#shape = isBatching ? [1, 1] : [1];
    const correlation = controls.find(({ kind }) => kind === "CORRID");
    this.#paddingId = correlationBytes(
      correlation?.datatype === "BYTES" ? "" : 0n,
      correlation?.datatype ?? "UINT64",
    );
  }

  /** @param rows whose request each of `requests` is; undefined for padding. */
  addTo(
    inputs: ExtraInput[],
    rows: readonly (Sequence | undefined)[],
    requests: readonly InferenceRequest[],
  ): void {
    for (const [i, control] of this.#controls.entries()) {
      const bytes: Uint8Array[] = [];
      for (const [row, request] of requests.entries()) {
        bytes.push(this.#bytes(control, rows[row], request));
      }
      inputs.push({ index: this.#firstIndex + i, shape: this.#shape, bytes });
    }
  }

  #bytes(
    control: SequenceControl,
    sequence: Sequence | undefined,
    { sequenceId, sequenceFlags }: InferenceRequest,
  ): Uint8Array {
    switch (control.kind) {
      case "START":
        return (sequenceFlags & SEQUENCE_START) === 0 ? control.falseBytes : control.trueBytes;
      case "END":
        return (sequenceFlags & SEQUENCE_END) === 0 ? control.falseBytes : control.trueBytes;
      case "READY":
        return sequence === undefined ? control.falseBytes : control.trueBytes;
      case "CORRID":
        if (sequence === undefined) return this.#paddingId;
        sequence.correlationBytes ??= correlationBytes(sequenceId, control.datatype);
        return sequence.correlationBytes;
    }
  }
}

/** Bytes of the length before each BYTES element. */
const LENGTH_BYTES = 4;
const encoder = new TextEncoder();

/**
 * An id as one element of a control tensor. 32-bit types get its low half, as in Triton.
 * @param id a text for BYTES, else a number.
 */
export function correlationBytes(id: bigint | string, datatype: Datatype): Uint8Array {
  if (typeof id === "string") {
    const text = encoder.encode(id);
    const bytes = new Uint8Array(LENGTH_BYTES + text.length);
    new DataView(bytes.buffer).setUint32(0, text.length, true);
    bytes.set(text, LENGTH_BYTES);
    return bytes;
  }
  const is64Bit = datatype === "UINT64" || datatype === "INT64";
  const bytes = new Uint8Array(is64Bit ? 8 : 4);
  const view = new DataView(bytes.buffer);
  if (is64Bit) view.setBigUint64(0, BigInt.asUintN(64, id), true);
  else view.setUint32(0, Number(BigInt.asUintN(32, id)), true);
  return bytes;
}
