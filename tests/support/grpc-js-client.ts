import {
  create,
  type DescMethod,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import type { GenMessage } from "@bufbuild/protobuf/codegenv2";
import * as grpc from "@grpc/grpc-js";
import {
  GRPCInferenceService,
  ModelInferRequestSchema,
  type ModelInferResponse,
  type ModelStreamInferResponse,
  ModelStreamInferResponseSchema,
} from "#gen/inference/grpc_service_pb.ts";

/** A failed call, as @grpc/grpc-js reports it. */
export type GrpcFailure = grpc.ServiceError;

/** What a call may say besides its message. */
export interface GrpcJsCallOptions {
  readonly metadata?: Readonly<Record<string, string>>;
  readonly deadlineMs?: number;
}

type Methods = typeof GRPCInferenceService.method;
type Input<K extends keyof Methods> = MessageInitShape<Methods[K]["input"]>;
type Output<K extends keyof Methods> = MessageShape<Methods[K]["output"]>;

function metadataOf(options: GrpcJsCallOptions): grpc.Metadata {
  const metadata = new grpc.Metadata();
  for (const [name, value] of Object.entries(options.metadata ?? {})) metadata.set(name, value);
  return metadata;
}

function callOptions({ deadlineMs }: GrpcJsCallOptions): grpc.CallOptions {
  return deadlineMs === undefined ? {} : { deadline: Date.now() + deadlineMs };
}

/** The inference service through @grpc/grpc-js, with messages of protobuf-es. */
export class GrpcJsClient implements Disposable {
  readonly #client: grpc.Client;

  constructor(
    target: string,
    options: grpc.ClientOptions = {},
    credentials = grpc.credentials.createInsecure(),
  ) {
    this.#client = new grpc.Client(target, credentials, {
      "grpc.max_receive_message_length": -1,
      "grpc.max_send_message_length": -1,
      // A channel of its own: a connection that a test has broken must not serve the next one.
      "grpc.use_local_subchannel_pool": 1,
      ...options,
    });
  }

  /** Starts a unary call. */
  start<K extends keyof Methods>(
    name: K,
    request: Input<K>,
    options: GrpcJsCallOptions = {},
  ): { readonly call: grpc.ClientUnaryCall; readonly answer: Promise<Output<K>> } {
    const method: DescMethod = GRPCInferenceService.method[name];
    const { promise, resolve, reject } = Promise.withResolvers<Output<K>>();
    const call = this.#client.makeUnaryRequest(
      `/${method.parent.typeName}/${method.name}`,
      (message: Input<K>) =>
        Buffer.from(
          toBinary(method.input as GenMessage<never>, create(method.input, message) as never),
        ),
      (bytes: Buffer) => fromBinary(method.output, bytes) as Output<K>,
      request,
      metadataOf(options),
      callOptions(options),
      (error, answer) => (error ? reject(error) : resolve(answer as Output<K>)),
    );
    return { call, answer: promise };
  }

  /** One unary call. */
  call<K extends keyof Methods>(
    name: K,
    request: Input<K>,
    options?: GrpcJsCallOptions,
  ): Promise<Output<K>> {
    return this.start(name, request, options).answer;
  }

  infer(request: Input<"modelInfer">, options?: GrpcJsCallOptions): Promise<ModelInferResponse> {
    return this.call("modelInfer", request, options);
  }

  /** The error of a call that must fail. */
  async failure<K extends keyof Methods>(
    name: K,
    request: Input<K>,
    options?: GrpcJsCallOptions,
  ): Promise<GrpcFailure> {
    try {
      await this.call(name, request, options);
    } catch (thrown) {
      return thrown as GrpcFailure;
    }
    throw new Error(`${name} was answered well, a failure was expected`);
  }

  /** Opens a ModelStreamInfer call. */
  openStream(
    options: GrpcJsCallOptions = {},
  ): grpc.ClientDuplexStream<Input<"modelInfer">, ModelStreamInferResponse> {
    return this.#client.makeBidiStreamRequest<Input<"modelInfer">, ModelStreamInferResponse>(
      "/inference.GRPCInferenceService/ModelStreamInfer",
      (message) =>
        Buffer.from(toBinary(ModelInferRequestSchema, create(ModelInferRequestSchema, message))),
      (bytes) => fromBinary(ModelStreamInferResponseSchema, bytes),
      metadataOf(options),
      callOptions(options),
    );
  }

  /** Sends requests on one stream, half-closes it, and collects every answer. */
  async stream(
    requests: readonly Input<"modelInfer">[],
    options?: GrpcJsCallOptions,
  ): Promise<ModelStreamInferResponse[]> {
    const stream = this.openStream(options);
    for (const request of requests) stream.write(request);
    stream.end();
    return await collect(stream);
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }
}

/** All answers of a stream. @throws its error. */
export function collect(
  stream: grpc.ClientReadableStream<ModelStreamInferResponse>,
): Promise<ModelStreamInferResponse[]> {
  const answers: ModelStreamInferResponse[] = [];
  return new Promise((resolve, reject) => {
    stream.on("data", (answer: ModelStreamInferResponse) => answers.push(answer));
    stream.on("error", reject);
    stream.on("end", () => resolve(answers));
  });
}
