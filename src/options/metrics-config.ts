import type { Setting } from "./setting.ts";

/** A quantile of the latency summaries and the rank error it may have. */
export interface Quantile {
  readonly quantile: number;
  readonly error: number;
}

/** What `--metrics-config` says. */
export interface MetricsConfig {
  /** The cumulative `…_duration_us` counters. */
  readonly counterLatencies: boolean;
  readonly histogramLatencies: boolean;
  readonly summaryLatencies: boolean;
  readonly summaryQuantiles: readonly Quantile[];
}

const DEFAULT_QUANTILES: readonly Quantile[] = [
  { quantile: 0.5, error: 0.05 },
  { quantile: 0.9, error: 0.01 },
  { quantile: 0.95, error: 0.001 },
  { quantile: 0.99, error: 0.001 },
  { quantile: 0.999, error: 0.001 },
];

/** More than anybody needs; each costs memory for every model. */
const MAX_QUANTILES = 32;

function isShare(value: number): boolean {
  return value >= 0 && value <= 1;
}

function parseQuantiles(text: string, warnings: string[]): readonly Quantile[] {
  const quantiles: Quantile[] = [];
  for (const pair of text.split(",")) {
    const parts = pair.split(":");
    const [quantile, error] = parts.map((part) => (part.trim() === "" ? Number.NaN : Number(part)));
    if (
      parts.length === 2 &&
      quantile !== undefined &&
      error !== undefined &&
      isShare(quantile) &&
      isShare(error)
    ) {
      quantiles.push({ quantile, error });
    } else {
      warnings.push(
        `--metrics-config summary_quantiles: '${pair}' is skipped, it is not <quantile>:<error> with both between 0 and 1`,
      );
    }
  }
  if (quantiles.length > MAX_QUANTILES) {
    warnings.push(`--metrics-config summary_quantiles: only the first ${MAX_QUANTILES} are kept`);
  }
  return quantiles.slice(0, MAX_QUANTILES);
}

/**
 * Joins all occurrences of `--metrics-config`. As in Triton only the exact texts `true` and `false` change a switch,
 * and a setting that means nothing does not stop the server.
 * @param warnings gets a line for each part that is skipped.
 */
export function metricsConfigFrom(settings: readonly Setting[], warnings: string[]): MetricsConfig {
  const switches = {
    counter_latencies: true,
    histogram_latencies: false,
    summary_latencies: false,
  };
  let summaryQuantiles = DEFAULT_QUANTILES;
  for (const { owner, key, value } of settings) {
    if (owner === "" && key === "summary_quantiles") {
      summaryQuantiles = parseQuantiles(value, warnings);
    } else if (owner === "" && isSwitch(key, switches) && (value === "true" || value === "false")) {
      switches[key] = value === "true";
    } else {
      const shown = owner === "" ? `${key}=${value}` : `${owner},${key}=${value}`;
      warnings.push(
        `--metrics-config ${shown} is skipped (settings are ${Object.keys(switches).join(", ")} with true or false, and summary_quantiles)`,
      );
    }
  }
  return {
    counterLatencies: switches.counter_latencies,
    histogramLatencies: switches.histogram_latencies,
    summaryLatencies: switches.summary_latencies,
    summaryQuantiles,
  };
}

function isSwitch<Switches extends object>(
  key: string,
  switches: Switches,
): key is Extract<keyof Switches, string> {
  return Object.hasOwn(switches, key);
}
