/** Sets that are numbered and not named: `validation_0`, `validation_1`, as libraries of boosted trees call what they are given. */
import type { MetricSeries } from '../../columns/run-columns.ts';
import type { MetricName } from './names.ts';

/** Share of a series at its end that stands for where it arrived. */
const TAIL_SHARE = 0.1;

/**
 * Keys of the first of two numbered sets that end better than the second, where no name says training: by custom the set that is trained on is
 * given first, and no model is worse on it.
 */
export function trainingSets(
  metrics: ReadonlyMap<string, MetricSeries>,
  names: readonly MetricName[],
): ReadonlySet<string> {
  const judged = names.filter(({ measure }) => measure === 'loss' || measure === 'error');
  const numbered = judged.filter(({ set, side }) => side === 'val' && set !== '');
  const hasTraining = judged.some(({ side }) => side === 'train' || side === undefined);
  if (hasTraining || new Set(numbered.map(({ set }) => set)).size !== 2) return new Set();
  const at = (number: string): readonly MetricName[] =>
    numbered.filter(({ set }) => set === number);
  const isLower = at('0').every(({ key, stem }) => {
    const other = at('1').find((one) => one.stem === stem);
    return other !== undefined && arrivalOf(metrics.get(key)) < arrivalOf(metrics.get(other.key));
  });
  return isLower
    ? new Set(names.filter(({ set, side }) => side === 'val' && set === '0').map(({ key }) => key))
    : new Set();
}

function arrivalOf(series: MetricSeries | undefined): number {
  const finite = series?.values.filter((value) => Number.isFinite(value)) ?? new Float64Array(0);
  const tail = finite.subarray(-Math.max(1, Math.floor(TAIL_SHARE * finite.length))).toSorted();
  return tail[tail.length >> 1] ?? Number.NaN;
}
