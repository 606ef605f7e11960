/** Metrics that models make themselves. Every method throws InferenceError with a text for the model. */
export interface ModelMetricCalls {
  /** Makes a family, or joins the one of that name. @param kind 0 counter, 1 gauge, 2 histogram. */
  family(name: string, description: string, kind: number): number;
  releaseFamily(family: number): void;
  /** @param buckets upper bounds, ascending; for histograms only. */
  metric(
    family: number,
    labels: Readonly<Record<string, string>>,
    buckets: readonly number[] | undefined,
  ): number;
  releaseMetric(metric: number): void;
  /** @param operation `increment`, `set` or `observe`. */
  change(metric: number, operation: string, value: number): void;
  value(metric: number): number;
}
