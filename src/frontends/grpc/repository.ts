import type { ServiceImpl } from "@connectrpc/connect";
import type {
  GRPCInferenceService,
  ModelRepositoryParameter,
} from "#gen/inference/grpc_service_pb.ts";
import { InferenceError } from "../../base/error.ts";
import type { LoadOverrides } from "../../core/control-plane.ts";
import type { GrpcContext } from "./grpc-context.ts";

type ParameterMap = Readonly<Record<string, ModelRepositoryParameter>>;

const FILE_PREFIX = "file:";

function refuseRepositoryName(repositoryName: string): void {
  if (repositoryName === "") return;
  throw new InferenceError(
    "UNSUPPORTED",
    `'repository_name' specification is not supported, got '${repositoryName}'`,
  );
}

function refuseKind(key: string, action: string, expected: string): never {
  throw new InferenceError(
    "INVALID_ARG",
    `invalid value type for ${action} parameter '${key}', expected ${expected}.`,
  );
}

/** @throws InferenceError INVALID_ARG for unknown parameters and for known ones of the wrong kind. */
function loadOverridesFrom(parameters: ParameterMap): LoadOverrides {
  let configJson: string | undefined;
  const files = new Map<string, Uint8Array>();
  for (const [key, { parameterChoice: choice }] of Object.entries(parameters)) {
    if (key === "config") {
      if (choice.case !== "stringParam") refuseKind(key, "load", "string_param");
      configJson = choice.value;
    } else if (key.startsWith(FILE_PREFIX)) {
      if (choice.case !== "bytesParam") refuseKind(key, "load", "bytes_param");
      files.set(key.slice(FILE_PREFIX.length), choice.value);
    } else {
      throw new InferenceError("INVALID_ARG", `unrecognized load parameter '${key}'.`);
    }
  }
  return {
    ...(configJson === undefined ? {} : { configJson }),
    ...(files.size === 0 ? {} : { files }),
  };
}

function unloadsDependents(parameters: ParameterMap): boolean {
  const choice = parameters["unload_dependents"]?.parameterChoice;
  if (choice === undefined) return false;
  if (choice.case !== "boolParam") refuseKind("unload_dependents", "unload", "bool_param");
  return choice.value;
}

/** What is in the repository; loading and unloading. */
export function repositoryRpcs({ controlPlane }: GrpcContext) {
  return {
    repositoryIndex({ repositoryName, ready }) {
      refuseRepositoryName(repositoryName);
      return { models: controlPlane.index(ready).map((entry) => ({ ...entry })) };
    },
    async repositoryModelLoad({ repositoryName, modelName, parameters }) {
      refuseRepositoryName(repositoryName);
      await controlPlane.loadModel(modelName, loadOverridesFrom(parameters));
      return {};
    },
    async repositoryModelUnload({ repositoryName, modelName, parameters }) {
      refuseRepositoryName(repositoryName);
      await controlPlane.unloadModel(modelName, unloadsDependents(parameters));
      return {};
    },
  } satisfies Partial<ServiceImpl<typeof GRPCInferenceService>>;
}
