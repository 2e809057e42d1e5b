/** Which runs of many are not beaten in two metrics at once. */
import { checkLiteral } from '../../base/assert.ts';
import { METRIC_DIRECTIONS, type MetricDirection } from '../compare/diff-records.ts';

/** Two values of a run; null where it has none. */
export type ValuePair = { readonly x: number | null; readonly y: number | null };

/**
 * The Pareto front: positions of the pairs than which no other is better in one value and at least as good in the other, the best `x` first.
 * Equal pairs are all in it. Pairs with a value that is missing or not finite are not.
 *
 * @param better which way each value is better
 * @throws {QuarkError} `invalid_input`
 * @example
 * ```js
 * import { paretoFront } from 'quark-sdk/analysis';
 *
 * const runs = [{ latencyMs: 5, accuracy: 0.9 }, { latencyMs: 9, accuracy: 0.95 }, { latencyMs: 8, accuracy: 0.85 }];
 * const pairs = runs.map(({ latencyMs, accuracy }) => ({ x: latencyMs, y: accuracy }));
 * console.log(paretoFront(pairs, { x: 'lower', y: 'higher' })); // [ 0, 1 ]
 * ```
 */
export function paretoFront(
  pairs: readonly ValuePair[],
  better: { readonly x: MetricDirection; readonly y: MetricDirection },
): readonly number[] {
  const signX = checkLiteral('better.x', better.x, METRIC_DIRECTIONS) === 'lower' ? 1 : -1;
  const signY = checkLiteral('better.y', better.y, METRIC_DIRECTIONS) === 'lower' ? 1 : -1;
  // Both are better when lower from here on.
  const known = pairs.flatMap(({ x, y }, at) =>
    x !== null && y !== null && Number.isFinite(x) && Number.isFinite(y)
      ? [{ at, x: signX * x, y: signY * y }]
      : [],
  );
  known.sort((a, b) => a.x - b.x || a.y - b.y || a.at - b.at);
  const front: number[] = [];
  let last: { readonly x: number; readonly y: number } | undefined;
  for (const pair of known) {
    const isEqual = last?.x === pair.x && last.y === pair.y;
    if (!isEqual && last !== undefined && pair.y >= last.y) continue;
    front.push(pair.at);
    last = pair;
  }
  return front;
}
