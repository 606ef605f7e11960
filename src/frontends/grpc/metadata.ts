import type { ServiceImpl } from "@connectrpc/connect";
import type { GRPCInferenceService } from "#gen/inference/grpc_service_pb.ts";
import type { ModelConfig } from "../../core/config/model-config.ts";
import type { TensorSpec } from "../../core/tensor/tensor-spec.ts";
import type { GrpcContext } from "./grpc-context.ts";

/** What clients see of an input or output: dims with the batch dimension in front, without reshape. */
function tensorMetadata(config: ModelConfig, { name, datatype, dims, isShapeTensor }: TensorSpec) {
  const hasBatchDimension = config.maxBatchSize > 0 && !isShapeTensor;
  return { name, datatype, shape: (hasBatchDimension ? [-1, ...dims] : dims).map(BigInt) };
}

/** What the server and its models are. */
export function metadataRpcs({ dataPlane }: GrpcContext) {
  return {
    serverMetadata() {
      const { name, version, extensions } = dataPlane.metadata;
      return { name, version, extensions: [...extensions] };
    },
    modelMetadata({ name, version }) {
      const { config, versionText } = dataPlane.model(name, version);
      return {
        name: config.name,
        versions: version === "" ? [...dataPlane.readyVersions(name)] : [versionText],
        platform: config.platform,
        inputs: config.inputs.map((spec) => tensorMetadata(config, spec)),
        outputs: config.outputs.map((spec) => tensorMetadata(config, spec)),
      };
    },
  } satisfies Partial<ServiceImpl<typeof GRPCInferenceService>>;
}
