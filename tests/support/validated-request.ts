import type { Datatype } from "../../src/base/datatype.ts";
import type { Shape } from "../../src/base/shape.ts";
import type { ExecutionSignature } from "../../src/core/backend/backend-model.ts";
import type { ModelConfig } from "../../src/core/config/model-config.ts";
import { RequestValidator } from "../../src/core/model/validate-request.ts";
import type { Batch } from "../../src/core/request/batch.ts";
import { InferenceRequest } from "../../src/core/request/inference-request.ts";
import {
  RequestSignature,
  type RequestSignatureFields,
} from "../../src/core/request/request-signature.ts";
import { RecordingSink } from "./recording-sink.ts";
import { sampleSignature } from "./sample-config.ts";

/** One input of a test request. */
export interface RequestInput {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: Shape;
  readonly bytes: Uint8Array;
}

/** A request as a scheduler gets it, with its sink at hand. */
export interface TestRequest extends InferenceRequest {
  readonly sink: RecordingSink;
}

/** Options of {@link validatedRequest}. */
export interface TestRequestOptions extends Omit<RequestSignatureFields, "inputs"> {
  readonly id?: string;
  readonly arrivalNs?: number;
  readonly signature?: ExecutionSignature;
}

/** A request that was checked against a configuration. @throws InferenceError like the real check. */
export function validatedRequest(
  config: ModelConfig,
  inputs: readonly RequestInput[],
  options: TestRequestOptions = {},
): TestRequest {
  const signature = new RequestSignature({ ...options, inputs });
  const sink = new RecordingSink();
  const fields = {
    signature,
    id: options.id ?? "",
    inputBytes: inputs.map(({ bytes }) => bytes),
    sink,
    arrivalNs: options.arrivalNs ?? 0,
  };
  const request = Object.assign(new InferenceRequest(fields), { sink });
  const execution = options.signature ?? sampleSignature(config);
  request.validated = new RequestValidator(config, config, execution).validate(signature, "");
  return request;
}

/** FP32 values as an input. */
export function fp32Input(name: string, shape: Shape, values: readonly number[]): RequestInput {
  return { name, datatype: "FP32", shape, bytes: new Uint8Array(new Float32Array(values).buffer) };
}

/** Texts as a BYTES input, each with its length in front. */
export function bytesInput(name: string, shape: Shape, texts: readonly string[]): RequestInput {
  const parts = texts.map((text) => {
    const element = Buffer.from(text);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(element.length);
    return Buffer.concat([length, element]);
  });
  return { name, datatype: "BYTES", shape, bytes: new Uint8Array(Buffer.concat(parts)) };
}

/** Requests as one execution. */
export function batchOf(...requests: readonly InferenceRequest[]): Batch {
  const rowCount = requests.reduce((sum, one) => sum + (one.validated?.batchSize ?? 0), 0);
  return { requests, rowCount };
}

/** The FP32 values in some bytes. */
export function fp32Values(bytes: Uint8Array | undefined): number[] {
  return bytes === undefined ? [] : [...new Float32Array(bytes.slice().buffer)];
}
