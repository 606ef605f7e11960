import { INT32_MAX, OptionError, parseInteger } from "./option.ts";
import type { Setting } from "./setting.ts";

/** What is recorded of a traced request. */
export type TraceLevel = "TIMESTAMPS" | "TENSORS";

/** What `--trace-config` says. */
export interface TraceConfig {
  readonly mode: "triton" | "opentelemetry";
  /** Empty = tracing is off. */
  readonly levels: readonly TraceLevel[];
  /** Every n-th request is traced. */
  readonly rate: number;
  /** Traces that may still be made; −1 = no limit. */
  readonly count: number;
  /** Mode triton: the file; "" = none. */
  readonly file: string;
  /** Mode triton: traces a file; 0 = all in one. */
  readonly logFrequency: number;
  readonly opentelemetry: OpenTelemetryConfig;
}

/** Settings of mode opentelemetry. */
export interface OpenTelemetryConfig {
  readonly url: string;
  /** Attributes of the resource; later ones replace earlier ones of the same key. */
  readonly resource: Readonly<Record<string, string>>;
  readonly bspMaxQueueSize: number;
  readonly bspScheduleDelayMs: number;
  readonly bspMaxExportBatchSize: number;
}

/** The old flags, each with the setting it stands for. */
export const DEPRECATED_TRACE_FLAGS = {
  "trace-file": { owner: "triton", key: "file" },
  "trace-level": { owner: "", key: "level" },
  "trace-rate": { owner: "", key: "rate" },
  "trace-count": { owner: "", key: "count" },
  "trace-log-frequency": { owner: "triton", key: "log-frequency" },
} satisfies Record<string, Omit<Setting, "value">>;

const FLAG = "trace-config";

function wordsError(key: string, value: string, allowed: string): OptionError {
  return new OptionError(`--${FLAG} ${key}: invalid value '${value}' (allowed are ${allowed})`);
}

function levelsFrom(words: readonly string[]): readonly TraceLevel[] {
  const levels = new Set<TraceLevel>();
  let isOff = false;
  for (const word of words.flatMap((given) => given.split(","))) {
    if (word === "OFF") isOff = true;
    else if (word === "TIMESTAMPS" || word === "TENSORS") levels.add(word);
    // MIN and MAX are the names of Triton before 2.18.
    else if (word === "MIN" || word === "MAX") levels.add("TIMESTAMPS");
    else throw wordsError("level", word, "OFF, TIMESTAMPS, TENSORS");
  }
  if (isOff && levels.size > 0) {
    throw new OptionError(`--${FLAG} level: OFF can not be combined with other levels`);
  }
  return [...levels];
}

/** The last value of each key, by `owner,key`, and every value of the two keys that add up. */
class GivenSettings {
  readonly levels: string[] = [];
  readonly resource: Record<string, string> = { "service.name": "triton-inference-server" };
  readonly #last = new Map<string, string>();

  add({ owner, key, value }: Setting): void {
    if (owner !== "" && owner !== "triton" && owner !== "opentelemetry") {
      throw wordsError("mode", owner, "triton, opentelemetry");
    }
    if (owner === "" && key === "level") this.levels.push(value);
    else if (owner === "opentelemetry" && key === "resource") this.#addResource(value);
    else this.#last.set(`${owner},${key}`, value);
  }

  text(key: string, fallback: string): string {
    return this.#last.get(key) ?? fallback;
  }

  integer(key: string, fallback: number, min: number): number {
    const value = this.#last.get(key);
    return value === undefined ? fallback : parseInteger(value, `--${FLAG} ${key}`, min, INT32_MAX);
  }

  /** Settings that nobody asked for. */
  unknown(known: readonly string[]): readonly string[] {
    return [...this.#last.keys()].filter((key) => !known.includes(key));
  }

  #addResource(value: string): void {
    const equals = value.indexOf("=");
    if (equals <= 0) throw wordsError("opentelemetry,resource", value, "<key>=<value>");
    this.resource[value.slice(0, equals)] = value.slice(equals + 1);
  }
}

/** Variables that stand in for settings of mode opentelemetry. */
export interface TraceEnvironment {
  readonly OTEL_BSP_MAX_QUEUE_SIZE?: string | undefined;
  readonly OTEL_BSP_SCHEDULE_DELAY?: string | undefined;
  readonly OTEL_BSP_MAX_EXPORT_BATCH_SIZE?: string | undefined;
}

const KNOWN_SETTINGS = [
  ",mode",
  ",rate",
  ",count",
  "triton,file",
  "triton,log-frequency",
  "opentelemetry,url",
  "opentelemetry,bsp_max_queue_size",
  "opentelemetry,bsp_schedule_delay",
  "opentelemetry,bsp_max_export_batch_size",
];

/**
 * Joins all occurrences of `--trace-config`, the deprecated trace flags already turned into settings.
 *
 * @param environment the OTEL_BSP_… variables are the defaults of the batch span processor.
 * @param warnings gets a line for each setting that is not known.
 * @throws OptionError
 */
export function traceConfigFrom(
  settings: readonly Setting[],
  environment: TraceEnvironment,
  warnings: string[],
): TraceConfig {
  const given = new GivenSettings();
  for (const setting of settings) given.add(setting);
  for (const key of given.unknown(KNOWN_SETTINGS)) {
    warnings.push(`--${FLAG} ${key.replace(/^,/, "")} is not a known setting and is skipped`);
  }
  const mode = given.text(",mode", "triton");
  if (mode !== "triton" && mode !== "opentelemetry") {
    throw wordsError("mode", mode, "triton, opentelemetry");
  }
  const fromEnvironment = (name: keyof TraceEnvironment, fallback: number): number => {
    const value = environment[name];
    return value === undefined ? fallback : parseInteger(value, name, 0, INT32_MAX);
  };
  return {
    mode,
    levels: levelsFrom(given.levels),
    rate: given.integer(",rate", 1000, 0),
    count: given.integer(",count", -1, -1),
    file: given.text("triton,file", ""),
    logFrequency: given.integer("triton,log-frequency", 0, 0),
    opentelemetry: {
      url: given.text("opentelemetry,url", "http://localhost:4318/v1/traces"),
      resource: given.resource,
      bspMaxQueueSize: given.integer(
        "opentelemetry,bsp_max_queue_size",
        fromEnvironment("OTEL_BSP_MAX_QUEUE_SIZE", 2048),
        0,
      ),
      bspScheduleDelayMs: given.integer(
        "opentelemetry,bsp_schedule_delay",
        fromEnvironment("OTEL_BSP_SCHEDULE_DELAY", 5000),
        0,
      ),
      bspMaxExportBatchSize: given.integer(
        "opentelemetry,bsp_max_export_batch_size",
        fromEnvironment("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512),
        0,
      ),
    },
  };
}
