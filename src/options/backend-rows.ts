import { choice, list, text } from "./option.ts";
import { parseOwnedSetting, parseRateLimitResource, parseSetting } from "./setting.ts";

/** Flags of backends, repository agents and response caches. */
export const BACKEND_ROWS = {
  "backend-directory": text(
    "<path>",
    "/opt/tritonserver/backends",
    "Where Triton looks for its backend libraries.",
    { served: "backends are inside this program" },
  ),
  "backend-config": list(
    "[<backend>,]<setting>=<value>",
    parseSetting,
    "A setting of one backend, or of all, for example default-max-batch-size=4.",
  ),
  "onnxruntime-library": text(
    "<path>",
    "",
    "The onnxruntime library to use before any other that is found. Not a flag of Triton.",
  ),
  "repoagent-directory": text(
    "<path>",
    "/opt/tritonserver/repoagents",
    "Where Triton looks for repository agents.",
    { served: "there are no repository agents" },
  ),
  "cache-config": list(
    "<cache>,<key>=<value>",
    parseOwnedSetting,
    "A setting of the response cache, for example local,size=1048576.",
    { served: "responses are not cached yet" },
  ),
  "cache-directory": text(
    "<path>",
    "/opt/tritonserver/caches",
    "Where Triton looks for its cache libraries.",
    { served: "caches are inside this program" },
  ),
};

/** Flags of the rate limiter. */
export const RATE_LIMITER_ROWS = {
  "rate-limit": choice(
    ["off", "execution_count"],
    "off",
    "execution_count: instances run as their rate_limiter settings and the resources allow.",
    { served: "instances run as soon as they are free" },
  ),
  "rate-limit-resource": list(
    "<name>:<count>[:<device>]",
    parseRateLimitResource,
    "How many of a resource there are, on one device or on each.",
    { served: "instances run as soon as they are free" },
  ),
};
