import type { ModelConfig } from "../../core/config/model-config.ts";
import type { TensorSpec } from "../../core/tensor/tensor-spec.ts";
import type { Endpoint } from "./endpoint.ts";
import { modelOf, modelPaths } from "./endpoint.ts";
import type { HttpContext } from "./http-context.ts";
import { jsonResponse } from "./json-response.ts";

/** What clients see of an input or output: dims with the batch dimension in front, without reshape. */
function tensorMetadata(config: ModelConfig, spec: TensorSpec) {
  const hasBatchDimension = config.maxBatchSize > 0 && !spec.isShapeTensor;
  return {
    name: spec.name,
    datatype: spec.datatype,
    shape: hasBatchDimension ? [-1, ...spec.dims] : spec.dims,
  };
}

/** What the server and its models are. */
export function metadataEndpoints(context: HttpContext): Endpoint[] {
  const { dataPlane } = context;
  return [
    {
      paths: ["/v2"],
      api: "metadata",
      get: () => {
        const { name, version, extensions } = dataPlane.metadata;
        return jsonResponse({ name, version, extensions });
      },
    },
    {
      paths: modelPaths(""),
      api: "metadata",
      get: (_request, params) => {
        const { name, version } = modelOf(params);
        const { config, versionText } = dataPlane.model(name, version);
        return jsonResponse({
          name: config.name,
          versions: version === "" ? dataPlane.readyVersions(name) : [versionText],
          platform: config.platform,
          inputs: config.inputs.map((spec) => tensorMetadata(config, spec)),
          outputs: config.outputs.map((spec) => tensorMetadata(config, spec)),
        });
      },
    },
  ];
}
