import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { InferenceError } from "../../base/error.ts";
import type { ModelMetricCalls } from "../../core/statistics/model-metrics.ts";

const COUNTER = 0;
const GAUGE = 1;
const HISTOGRAM = 2;
const KIND_NAMES = ["counter", "gauge", "histogram"] as const;

/** The name rule of Prometheus. */
const METRIC_NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const LABEL_NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

/** A family as models share it; gone when the last of them has released it and its metrics. */
interface Family {
  readonly id: number;
  readonly name: string;
  readonly description: string;
  readonly kind: number;
  readonly series: Map<string, Series>;
  userCount: number;
}

/** One set of labels of a family. */
interface Series {
  readonly family: Family;
  readonly labels: Readonly<Record<string, string>>;
  readonly labelKey: string;
  readonly registry: Registry;
  readonly instrument: Counter | Gauge | Histogram;
  value: number;
  userCount: number;
}

/** Metrics that models make themselves. Families and series are counted, and leave the page with their last user. */
export class CustomMetrics implements ModelMetricCalls {
  readonly #isOn: boolean;
  readonly #families = new Map<string, Family>();
  readonly #familyById = new Map<number, Family>();
  readonly #seriesById = new Map<number, Series>();
  #nextId = 0;

  /** @param isOn false under `--allow-metrics=false`: models are then refused. */
  constructor(isOn: boolean) {
    this.#isOn = isOn;
  }

  family(name: string, description: string, kind: number): number {
    if (!this.#isOn)
      throw refused("metrics not supported: the server runs with --allow-metrics=false");
    if (!METRIC_NAME.test(name)) {
      throw refused(`'${name}' is no metric name: letters, digits, '_' and ':', no digit first`);
    }
    const known = this.#families.get(name);
    if (known !== undefined && (known.kind !== kind || known.description !== description)) {
      throw refused(
        `metric family '${name}' exists already as a ${KIND_NAMES[known.kind]} with description '${known.description}'`,
      );
    }
    const family = known ?? {
      id: this.#newId(),
      name,
      description,
      kind,
      series: new Map(),
      userCount: 0,
    };
    this.#families.set(name, family);
    family.userCount += 1;
    const id = this.#newId();
    this.#familyById.set(id, family);
    return id;
  }

  releaseFamily(id: number): void {
    const family = this.#familyById.get(id);
    if (family === undefined) return;
    this.#familyById.delete(id);
    family.userCount -= 1;
    this.#forgetUnused(family);
  }

  metric(
    familyId: number,
    labels: Readonly<Record<string, string>>,
    buckets: readonly number[] | undefined,
  ): number {
    const family = this.#familyById.get(familyId);
    if (family === undefined) throw refused("the metric family has been deleted");
    for (const label of Object.keys(labels)) {
      if (!LABEL_NAME.test(label)) throw refused(`'${label}' is no label name`);
    }
    const labelKey = JSON.stringify(Object.entries(labels).sort());
    const series = family.series.get(labelKey) ?? newSeries(family, labels, labelKey, buckets);
    family.series.set(labelKey, series);
    series.userCount += 1;
    const id = this.#newId();
    this.#seriesById.set(id, series);
    return id;
  }

  releaseMetric(id: number): void {
    const series = this.#seriesById.get(id);
    if (series === undefined) return;
    this.#seriesById.delete(id);
    series.userCount -= 1;
    if (series.userCount > 0) return;
    series.family.series.delete(series.labelKey);
    this.#forgetUnused(series.family);
  }

  change(id: number, operation: string, value: number): void {
    const series = this.#seriesOf(id);
    const { labels, instrument } = series;
    if (operation === "observe" && instrument instanceof Histogram) {
      instrument.observe(labels, value);
    } else if (operation === "set" && instrument instanceof Gauge) {
      instrument.set(labels, value);
      series.value = value;
    } else if (operation === "increment" && !(instrument instanceof Histogram)) {
      // Not `value < 0`: NaN would stay in the counter for ever.
      if (instrument instanceof Counter && !(value >= 0)) {
        throw refused(`a counter goes up only, by 0 or more: it was given ${value}`);
      }
      instrument.inc(labels, value);
      series.value += value;
    } else {
      throw refused(`a ${KIND_NAMES[series.family.kind]} cannot ${operation}`);
    }
  }

  value(id: number): number {
    const series = this.#seriesOf(id);
    if (series.family.kind === HISTOGRAM) throw refused("a histogram has no single value");
    return series.value;
  }

  /** Prometheus pages, one a series; to be merged with the others. */
  async text(): Promise<string[]> {
    const series = [...this.#families.values()].flatMap((family) => [...family.series.values()]);
    return Promise.all(series.map(({ registry }) => registry.metrics()));
  }

  #seriesOf(id: number): Series {
    const series = this.#seriesById.get(id);
    if (series === undefined) throw refused("the metric has been deleted");
    return series;
  }

  #forgetUnused(family: Family): void {
    if (family.userCount === 0 && family.series.size === 0) this.#families.delete(family.name);
  }

  #newId(): number {
    this.#nextId += 1;
    return this.#nextId;
  }
}

function newSeries(
  family: Family,
  labels: Readonly<Record<string, string>>,
  labelKey: string,
  buckets: readonly number[] | undefined,
): Series {
  const registry = new Registry();
  const base = {
    name: family.name,
    help: family.description,
    labelNames: Object.keys(labels),
    registers: [registry],
  };
  return {
    family,
    labels,
    labelKey,
    registry,
    instrument: instrumentOf(family.kind, base, labels, buckets),
    value: 0,
    userCount: 0,
  };
}

function instrumentOf(
  kind: number,
  base: { name: string; help: string; labelNames: string[]; registers: Registry[] },
  labels: Readonly<Record<string, string>>,
  buckets: readonly number[] | undefined,
): Counter | Gauge | Histogram {
  if (kind === COUNTER) {
    const counter = new Counter(base);
    counter.inc(labels, 0);
    return counter;
  }
  if (kind === GAUGE) {
    const gauge = new Gauge(base);
    gauge.set(labels, 0);
    return gauge;
  }
  const histogram = new Histogram({ ...base, buckets: [...(buckets ?? [])] });
  histogram.zero(labels);
  return histogram;
}

function refused(text: string): InferenceError {
  return new InferenceError("INVALID_ARG", text);
}
