/** Several series as one. */
import type { MetricSeries } from '../../columns/run-columns.ts';

/** Sum or mean of several series where all of them have a value. */
export function combine(
  metrics: ReadonlyMap<string, MetricSeries>,
  keys: readonly string[],
  how: 'sum' | 'mean',
): MetricSeries | null {
  const all = keys.flatMap((key) => metrics.get(key) ?? []);
  const [first] = all;
  if (first === undefined || all.length === 1) return first ?? null;
  const others = all.slice(1).filter(({ x }) => x === first.x);
  const maps = others.map((series) => {
    const positions = series[first.x === 'step' ? 'steps' : 'epochs'];
    return new Map(Array.from(series.values, (value, i) => [positions[i] ?? Number.NaN, value]));
  });
  const positions = first.x === 'step' ? first.steps : first.epochs;
  const rows: number[] = [];
  const values: number[] = [];
  for (let i = 0; i < first.values.length; i++) {
    let sum = first.values[i] ?? Number.NaN;
    for (const map of maps) sum += map.get(positions[i] ?? Number.NaN) ?? Number.NaN;
    const isWhole = maps.every((map) => map.has(positions[i] ?? Number.NaN));
    if (!isWhole) continue;
    rows.push(i);
    values.push(how === 'sum' ? sum : sum / (maps.length + 1));
  }
  if (rows.length === 0) return first;
  const pick = (column: Float64Array): Float64Array =>
    Float64Array.from(rows, (row) => column[row] ?? Number.NaN);
  return {
    key:
      how === 'sum'
        ? all.map(({ key }) => key).join(' + ')
        : `mean of ${all.map(({ key }) => key).join(', ')}`,
    x: first.x,
    steps: pick(first.steps),
    epochs: pick(first.epochs),
    timesMs: pick(first.timesMs),
    values: Float64Array.from(values),
  };
}
