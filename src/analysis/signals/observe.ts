/** Evidence about one series. */
import type { JsonObject } from '../../base/json.ts';
import type {
  LayerSeries,
  MetricSeries,
  ParameterSeries,
  PlacedColumns,
} from '../columns/run-columns.ts';
import { spanOfRows } from './positions.ts';
import type { Observation } from './rule-types.ts';

/** A series, and how evidence names it. */
export type Subject = {
  readonly kind: 'metric' | 'layer_summary' | 'parameter_summary' | 'telemetry';
  /** A metric key, a layer, a parameter, a telemetry field. */
  readonly source: string;
  readonly series: PlacedColumns;
};

export function ofMetric(series: MetricSeries): Subject {
  return { kind: 'metric', source: series.key, series };
}

export function ofLayer(series: LayerSeries): Subject {
  return { kind: 'layer_summary', source: series.moduleName, series };
}

export function ofParameter(series: ParameterSeries): Subject {
  return { kind: 'parameter_summary', source: series.parameterName, series };
}

/** What was observed, and what it was compared with. */
export type Figures = {
  readonly observed?: number | undefined;
  readonly threshold?: number | undefined;
  readonly metadata?: JsonObject | undefined;
};

/** An observation of the rows from `first` to `last`, in a sentence. */
export function observe(
  { kind, series, source }: Subject,
  rows: readonly [first: number, last: number] | readonly [],
  summary: string,
  figures: Figures = {},
): Observation {
  return { kind, source, summary, ...spanOfRows(series, ...rows), ...figures };
}
