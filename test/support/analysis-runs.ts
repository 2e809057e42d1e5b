/** Runs in memory for tests of the analysis: courses of losses with noise from a seed, layers, parameters. */
import type { AlertRecord } from 'quark-sdk';
import {
  analyzeColumns,
  createMetricSeries,
  createRunColumns,
  LAYER_NUMBERS,
  PARAMETER_NUMBERS,
  type AnalyzerEngineConfig,
  type LayerNumber,
  type LayerSeries,
  type MetricSeries,
  type ParameterNumber,
  type ParameterSeries,
  type RuleId,
  type RunColumnsParts,
} from 'quark-sdk/analysis';

/** Numbers in [0, 1) from a seed (mulberry32). */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Normal numbers from a seed (Box and Muller). */
export function normal(seed: number): () => number {
  const next = random(seed);
  return () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
}

/** A metric whose value at each of `count` steps is `valueAt`. */
export function metric(
  key: string,
  count: number,
  valueAt: (i: number) => number,
  stride = 1,
): MetricSeries {
  const at = Array.from({ length: count }, (_, i) => i);
  return createMetricSeries(key, {
    steps: at.map((i) => i * stride),
    values: at.map((i) => valueAt(i)),
  });
}

/** A loss that falls from `start` to `floor` with the time constant `tau`, with noise relative to its level. */
export function fallingLoss(
  count: number,
  { start = 2.3, floor = 0.2, tau = count / 6, noise = 0.03, seed = 1 } = {},
): (i: number) => number {
  const gauss = normal(seed);
  return (i) => (floor + (start - floor) * Math.exp(-i / tau)) * (1 + noise * gauss());
}

/** A layer probed at `steps`; numbers that are not given are NaN. */
export function layer(
  moduleName: string,
  summaryType: LayerSeries['summaryType'],
  steps: readonly number[],
  numbers: Partial<Record<LayerNumber, (i: number) => number>>,
  more: Partial<Pick<LayerSeries, 'moduleType' | 'isEvaluation' | 'callIndex'>> = {},
): LayerSeries {
  return {
    moduleName,
    moduleType: 'Dense',
    summaryType,
    callIndex: 0,
    isEvaluation: false,
    ...more,
    ...placed(steps),
    ...columnsOf(LAYER_NUMBERS, steps, numbers),
  };
}

/** A parameter looked at, at `steps`; numbers that are not given are NaN. */
export function parameter(
  parameterName: string,
  steps: readonly number[],
  numbers: Partial<Record<ParameterNumber, (i: number) => number>>,
  more: Partial<Pick<ParameterSeries, 'parameterRole' | 'isFrozen'>> = {},
): ParameterSeries {
  return {
    moduleName: parameterName.replace(/\/[^/]*$/, ''),
    parameterName,
    parameterRole: 'weight',
    isFrozen: false,
    ...more,
    ...placed(steps),
    ...columnsOf(PARAMETER_NUMBERS, steps, numbers),
  };
}

function placed(steps: readonly number[]) {
  return {
    x: 'step' as const,
    steps: Float64Array.from(steps),
    epochs: new Float64Array(steps.length).fill(Number.NaN),
    timesMs: Float64Array.from(steps, (step) => step * 1000),
  };
}

function columnsOf<N extends string>(
  names: readonly N[],
  steps: readonly number[],
  numbers: Partial<Record<N, (i: number) => number>>,
): Record<N, Float64Array> {
  const entries = names.map((name) => [
    name,
    Float64Array.from(steps, (_, i) => numbers[name]?.(i) ?? Number.NaN),
  ]);
  return Object.fromEntries(entries);
}

/** The alert of a rule on a run made of these parts; undefined where it says nothing. */
export function findAlert(
  ruleId: RuleId,
  parts: RunColumnsParts,
  config: AnalyzerEngineConfig = {},
): AlertRecord | undefined {
  const { alerts } = analyzeColumns(createRunColumns(parts), config, { nowMs: 0 });
  return alerts.find((alert) => alert.ruleId === ruleId);
}
