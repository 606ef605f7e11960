import type { ModelStatistics } from "../../core/statistics/model-statistics.ts";

/** What the metrics page shows of one loaded model version. */
export interface MeteredModel {
  readonly name: string;
  /** Decimal text. */
  readonly versionText: string;
  readonly config: {
    /** Labels, names already prefixed by `_`. */
    readonly metricTags: Readonly<Record<string, string>>;
    readonly message: { readonly responseCache?: { readonly enable: boolean } | undefined };
  };
  readonly scheduler: { readonly pendingCount: number };
  readonly statistics: ModelStatistics;
  /** From the begin of the load to READY. */
  readonly loadDurationNs: number;
}

/** The labels of every series of a model. */
export function labelsOf(model: MeteredModel): Record<string, string> {
  return { model: model.name, version: model.versionText, ...model.config.metricTags };
}
