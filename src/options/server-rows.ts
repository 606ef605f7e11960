import {
  boolean,
  choice,
  INT32_MAX,
  integer,
  list,
  OptionError,
  presence,
  text,
} from "./option.ts";

/** Flags about the server itself. */
export const GENERAL_ROWS = {
  help: presence("Prints all flags and ends."),
  id: text("<string>", "triton", "Name of the server in its metadata."),
  "exit-timeout-secs": integer(
    30,
    [0, INT32_MAX],
    "Seconds that running requests and models get to finish after SIGTERM or SIGINT.",
  ),
};

/** Flags about the log. */
export const LOGGING_ROWS = {
  "log-verbose": integer(
    0,
    [0, INT32_MAX],
    "Verbose messages up to this level are printed; 0 prints none.",
  ),
  "log-info": boolean(true, "Whether messages of level INFO are printed, on standard output."),
  "log-warning": boolean(true, "Whether warnings are printed, on standard error."),
  "log-error": boolean(true, "Whether errors are printed, on standard error."),
  "log-format": choice(
    ["default", "ISO8601", "json"],
    "default",
    "How a line begins: a letter, date and time in Triton's short form (default), or an ISO 8601 time. With json each line is one JSON object.",
  ),
  "log-file": text("<path>", "", "File to which all messages go instead of the console."),
};

function parseConfigName(given: string, name: string): string {
  if (given === "" || /\s/.test(given)) {
    throw new OptionError(
      `--${name} must be a file name without its ending and without spaces, got: '${given}'`,
    );
  }
  return given;
}

/** Flags about models and where they come from. */
export const REPOSITORY_ROWS = {
  "model-repository": list(
    "<path>",
    (path) => path,
    "Folder with models, one sub-folder each. A folder named without a flag means the same.",
  ),
  "model-store": list("<path>", (path) => path, "The same as --model-repository.", {
    aliasOf: "model-repository",
  }),
  "exit-on-error": boolean(
    true,
    "Whether the server ends with status 1 when something fails at start, a model that does not load included.",
  ),
  "disable-auto-complete-config": presence(
    "Model configurations are not completed from the model files; each model needs a full config.pbtxt.",
  ),
  "strict-readiness": boolean(
    true,
    "The server is ready only when all models are; with false as soon as it answers.",
  ),
  "model-control-mode": choice(
    ["none", "poll", "explicit"],
    "none",
    "none: all models are loaded at start. explicit: models are loaded by --load-model and by requests. poll: changes in the repository are followed.",
  ),
  "repository-poll-secs": integer(
    15,
    [0, INT32_MAX],
    "Seconds between two looks at the repository in mode poll.",
    { served: "mode poll is not served yet" },
  ),
  "load-model": list(
    "<name>",
    (model) => model,
    "Model to load at start in mode explicit; * alone means all.",
  ),
  "model-config-name": {
    ...text(
      "<string>",
      "",
      "Models that have configs/<name>.pbtxt use it in place of config.pbtxt.",
    ),
    parse: (given: string, _earlier: string, name: string) => parseConfigName(given, name),
  },
  "model-load-thread-count": integer(4, [1, INT32_MAX], "Models that may be loading at once."),
  "model-load-retry-count": integer(
    0,
    [0, INT32_MAX],
    "How often loading a model is tried again after a failure.",
  ),
  "model-namespacing": boolean(false, "The same model name may stand in several repositories.", {
    served: "names must differ between repositories",
  }),
  "enable-peer-access": boolean(true, "GPUs may read each other's memory.", {
    served: "set by the runtime library that uses the GPUs",
  }),
};
