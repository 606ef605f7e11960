import { InferenceError } from "../../base/error.ts";
import type { LogSettings } from "../../core/control-plane.ts";
import {
  expectKind,
  readBooleanMember,
  readSizeMember,
  readStringMember,
} from "./codec/json-members.ts";
import { JsonReader } from "./codec/json-reader.ts";
import type { Endpoint } from "./endpoint.ts";
import type { HttpContext } from "./http-context.ts";
import { jsonResponse } from "./json-response.ts";

function settingsOnTheWire(settings: LogSettings) {
  return {
    log_file: settings.logFile,
    log_info: settings.logInfo,
    log_warning: settings.logWarning,
    log_error: settings.logError,
    log_verbose_level: settings.logVerboseLevel,
    log_format: settings.logFormat,
  };
}

type Change = { -readonly [key in keyof LogSettings]?: LogSettings[key] };

/**
 * Reads an update: a subset of the settings; null and unknown ones mean nothing.
 *
 * @throws InferenceError INVALID_ARG naming the setting; UNSUPPORTED for `log_file`.
 * @see reference: Triton docs, "Logging Extension".
 */
export function readLogUpdate(body: Uint8Array): Partial<LogSettings> {
  const change: Change = {};
  const reader = new JsonReader(body);
  expectKind(reader, "object", "request");
  reader.object((key) => {
    if (reader.peek() === "null") {
      reader.skip();
      return;
    }
    switch (key) {
      case "log_file":
        throw new InferenceError(
          "UNSUPPORTED",
          "log file location can not be updated through network protocol",
        );
      case "log_info":
        change.logInfo = readBooleanMember(reader, key);
        break;
      case "log_warning":
        change.logWarning = readBooleanMember(reader, key);
        break;
      case "log_error":
        change.logError = readBooleanMember(reader, key);
        break;
      case "log_verbose_level":
        change.logVerboseLevel = readSizeMember(reader, key);
        break;
      case "log_format":
        change.logFormat = readStringMember(reader, key);
        break;
      default:
        reader.skip();
    }
  });
  reader.finish();
  return change;
}

/** The log settings, to read and to change. */
export function loggingEndpoints({ controlPlane, bodies }: HttpContext): Endpoint[] {
  return [
    {
      paths: ["/v2/logging"],
      api: "logging",
      get: () => jsonResponse(settingsOnTheWire(controlPlane.logSettings())),
      post: async (request) => {
        const change = readLogUpdate(await bodies.readJson(request));
        return jsonResponse(settingsOnTheWire(controlPlane.updateLogSettings(change)));
      },
    },
  ];
}
