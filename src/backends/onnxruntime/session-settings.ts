import type { GlobalThreadPools } from "#ffi/onnxruntime/environment.ts";
import type { GraphOptimizationLevel } from "#ffi/onnxruntime/session-options.ts";
import type { ModelConfig } from "#gen/inference/model_config_pb.ts";
import { InferenceError } from "../../base/error.ts";

/** How a session is to be made, apart from its execution providers. Plain data. */
export interface SessionSettings {
  readonly graphOptimizationLevel: GraphOptimizationLevel;
  readonly isParallel: boolean;
  /** 0 = onnxruntime's default, one a physical core. */
  readonly intraOpThreadCount: number;
  readonly interOpThreadCount: number;
  readonly hasMemoryArena: boolean;
  readonly hasMemoryPattern: boolean;
  /** Entries of onnxruntime_session_options_config_keys.h. */
  readonly sessionEntries: ReadonlyMap<string, string>;
  /** Entries of onnxruntime_run_options_config_keys.h, given with every run. */
  readonly runEntries: ReadonlyMap<string, string>;
}

/** Beginnings of the keys that go to onnxruntime as they are. */
const SESSION_ENTRY_PREFIXES = ["session.", "ep.", "optimization.", "mlas."];

/** Parameters that are options of a run. */
const RUN_ENTRY_KEYS = ["memory.enable_memory_arena_shrinkage"];

/** `optimization.graph.level` as Triton reads it; unset is 0. */
const GRAPH_LEVELS: Readonly<Record<number, GraphOptimizationLevel>> = {
  [-1]: "basic",
  0: "all",
  1: "extended",
  2: "none",
};

/**
 * What a configuration says about its session.
 *
 * @param backendConfig `--backend-config` settings; their thread counts stand for models that give none.
 * @throws InferenceError INVALID_ARG naming the parameter, what it is and what it may be.
 * @see onnxruntime_backend README, "Command-line options", "Model Config Options".
 */
export function sessionSettingsFrom(
  config: ModelConfig,
  backendConfig: Readonly<Record<string, string>>,
): SessionSettings {
  const integer = (key: string, allowed: IntegerRange) =>
    integerParameter(config, key, allowed) ??
    integerOf(backendConfig[key], `--backend-config onnxruntime,${key}`, allowed) ??
    allowed.otherwise;
  const threads = { from: 0, to: MAX_THREAD_COUNT, otherwise: 0 };
  const flag = (key: string) =>
    integerParameter(config, key, { from: 0, to: 1, otherwise: 1 }) !== 0;
  const executionMode = { from: 0, to: 1, otherwise: 0 };
  return {
    graphOptimizationLevel: graphLevelOf(config),
    isParallel: integerParameter(config, "execution_mode", executionMode) === 1,
    intraOpThreadCount: integer("intra_op_thread_count", threads),
    interOpThreadCount: integer("inter_op_thread_count", threads),
    hasMemoryArena: flag("enable_mem_arena"),
    hasMemoryPattern: flag("enable_mem_pattern"),
    sessionEntries: entriesOf(config, (key) =>
      SESSION_ENTRY_PREFIXES.some((prefix) => key.startsWith(prefix)),
    ),
    runEntries: entriesOf(config, (key) => RUN_ENTRY_KEYS.includes(key)),
  };
}

/**
 * Pools for all sessions of the process, `--backend-config=onnxruntime,enable-global-threadpool=1`.
 * @returns undefined where each session has its own threads.
 * @throws InferenceError INVALID_ARG naming the setting.
 */
export function globalThreadPoolsFrom(
  backendConfig: Readonly<Record<string, string>>,
): GlobalThreadPools | undefined {
  const setting = (key: string, allowed: IntegerRange) =>
    integerOf(backendConfig[key], `--backend-config onnxruntime,${key}`, allowed) ??
    allowed.otherwise;
  if (setting("enable-global-threadpool", { from: 0, to: 1, otherwise: 0 }) === 0) return undefined;
  const threads = { from: 0, to: MAX_THREAD_COUNT, otherwise: 0 };
  return {
    intraOpThreadCount: setting("intra_op_thread_count", threads),
    interOpThreadCount: setting("inter_op_thread_count", threads),
    // There is no brief spinning for shared pools, see spinning.ts.
    allowsSpinning: false,
  };
}

interface IntegerRange {
  readonly from: number;
  readonly to: number;
  readonly otherwise: number;
}

/** More threads than any machine has cores are a typing error, and a way to exhaust the machine. */
const MAX_THREAD_COUNT = 1024;

function integerParameter(
  config: ModelConfig,
  key: string,
  allowed: IntegerRange,
): number | undefined {
  const text = config.parameters[key]?.stringValue;
  return integerOf(text, `parameter '${key}' of model '${config.name}'`, allowed);
}

function integerOf(
  text: string | undefined,
  what: string,
  { from, to }: IntegerRange,
): number | undefined {
  if (text === undefined) return undefined;
  const value = /^-?\d+$/.test(text.trim()) ? Number(text) : Number.NaN;
  if (value >= from && value <= to) return value;
  throw new InferenceError(
    "INVALID_ARG",
    `${what} must be a whole number from ${from} to ${to}, got '${text}'`,
  );
}

function graphLevelOf(config: ModelConfig): GraphOptimizationLevel {
  const number = config.optimization?.graph?.level ?? 0;
  const level = GRAPH_LEVELS[number];
  if (level !== undefined) return level;
  throw new InferenceError(
    "INVALID_ARG",
    `optimization.graph.level of model '${config.name}' must be -1 (basic), 0 (all), 1 (extended) or ` +
      `2 (none), got ${number}`,
  );
}

function entriesOf(config: ModelConfig, isWanted: (key: string) => boolean): Map<string, string> {
  const entries = new Map<string, string>();
  for (const [key, { stringValue }] of Object.entries(config.parameters)) {
    if (isWanted(key)) entries.set(key, stringValue);
  }
  return entries;
}
