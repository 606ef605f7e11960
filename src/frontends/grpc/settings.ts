import type { ServiceImpl } from "@connectrpc/connect";
import type { GRPCInferenceService, LogSettingsRequest } from "#gen/inference/grpc_service_pb.ts";
import { InferenceError } from "../../base/error.ts";
import type { LogSettings } from "../../core/control-plane.ts";
import type { GrpcContext } from "./grpc-context.ts";

/** What Triton says while tracing is off. */
const TRACE_OFF: Readonly<Record<string, readonly string[]>> = {
  trace_level: ["OFF"],
  trace_rate: ["1000"],
  trace_count: ["-1"],
  log_frequency: ["0"],
  trace_file: [""],
  trace_mode: ["triton"],
};

type Choice = LogSettingsRequest["settings"][string]["parameterChoice"];
type Change = { -readonly [key in keyof LogSettings]?: LogSettings[key] };

function refuseKind(name: string, expected: string): never {
  throw new InferenceError("INVALID_ARG", `expect ${expected} for '${name}'`);
}

function booleanOf(name: string, choice: Choice): boolean {
  return choice.case === "boolParam" ? choice.value : refuseKind(name, "boolean");
}

/**
 * Reads an update of the log settings; unknown ones mean nothing.
 *
 * @throws InferenceError INVALID_ARG with Triton's texts; UNSUPPORTED for `log_file`.
 */
function logChangeFrom(settings: LogSettingsRequest["settings"]): Change {
  const change: Change = {};
  for (const [name, { parameterChoice: choice }] of Object.entries(settings)) {
    switch (name) {
      case "log_file":
        throw new InferenceError(
          "UNSUPPORTED",
          "log file location can not be updated through network protocol",
        );
      case "log_info":
        change.logInfo = booleanOf(name, choice);
        break;
      case "log_warning":
        change.logWarning = booleanOf(name, choice);
        break;
      case "log_error":
        change.logError = booleanOf(name, choice);
        break;
      case "log_verbose_level":
        if (choice.case !== "uint32Param") refuseKind(name, "unsigned integer");
        change.logVerboseLevel = choice.value;
        break;
      case "log_format":
        if (choice.case !== "stringParam") refuseKind(name, "string");
        change.logFormat = choice.value;
        break;
      default:
    }
  }
  return change;
}

function bool(value: boolean) {
  return { parameterChoice: { case: "boolParam" as const, value } };
}

function text(value: string) {
  return { parameterChoice: { case: "stringParam" as const, value } };
}

function logSettingsMessage(settings: LogSettings) {
  return {
    settings: {
      log_file: text(settings.logFile),
      log_info: bool(settings.logInfo),
      log_warning: bool(settings.logWarning),
      log_error: bool(settings.logError),
      log_verbose_level: {
        parameterChoice: { case: "uint32Param" as const, value: settings.logVerboseLevel },
      },
      log_format: text(settings.logFormat),
    },
  };
}

/** Settings of the log, to read and to change; those of tracing, which this server does not do, to read. */
export function settingsRpcs({ controlPlane, dataPlane }: GrpcContext) {
  return {
    logSettings({ settings }) {
      const change = logChangeFrom(settings);
      return logSettingsMessage(
        Object.keys(change).length === 0
          ? controlPlane.logSettings()
          : controlPlane.updateLogSettings(change),
      );
    },
    traceSetting({ modelName, settings }) {
      if (modelName !== "") dataPlane.model(modelName, "");
      const changes = Object.entries(settings).some(
        ([name, { value }]) => Object.hasOwn(TRACE_OFF, name) && value.length > 0,
      );
      // An empty list puts a setting back to its default, which is where it stands.
      if (changes) throw new InferenceError("UNSUPPORTED", "this server does not support tracing");
      return {
        settings: Object.fromEntries(
          Object.entries(TRACE_OFF).map(([name, value]) => [name, { value: [...value] }]),
        ),
      };
    },
  } satisfies Partial<ServiceImpl<typeof GRPCInferenceService>>;
}
