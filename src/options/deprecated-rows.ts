import { boolean, optionalInteger, text } from "./option.ts";

/** Flags of old command lines that still mean something, and those whose meaning has gone. */
export const DEPRECATED_ROWS = {
  "strict-model-config": boolean(
    false,
    "true means --disable-auto-complete-config; false completes configurations, which is the default.",
    { replacement: "--disable-auto-complete-config" },
  ),
  "response-cache-byte-size": optionalInteger(
    [0, Number.MAX_SAFE_INTEGER],
    "The same as --cache-config local,size=<integer>.",
    { replacement: "--cache-config", served: "responses are not cached yet" },
  ),
  "trace-file": traceFlag("<path>", "The same as --trace-config triton,file=<path>."),
  "trace-level": traceFlag("<level>", "The same as --trace-config level=<level>."),
  "trace-rate": traceFlag("<integer>", "The same as --trace-config rate=<integer>."),
  "trace-count": traceFlag("<integer>", "The same as --trace-config count=<integer>."),
  "trace-log-frequency": traceFlag(
    "<integer>",
    "The same as --trace-config triton,log-frequency=<integer>.",
  ),
  "allow-poll-model-repository": gone("boolean", "--model-control-mode=poll"),
  "allow-model-control": gone("boolean", "--model-control-mode=explicit"),
  "tf-allow-soft-placement": gone("boolean", "--backend-config"),
  "tf-gpu-memory-fraction": gone("float", "--backend-config"),
  "http-health-port": gone("integer", "--http-port"),
  "api-version": gone("integer", "nothing: there is one version of the api"),
};

function traceFlag(valueName: string, meaning: string) {
  return text(valueName, "", meaning, {
    replacement: "--trace-config",
    served: "requests are not traced yet",
  });
}

function gone(valueName: string, replacement: string) {
  return text(`<${valueName}>`, "", "Removed from Triton long ago.", {
    replacement,
    served: "it was removed from Triton",
  });
}
