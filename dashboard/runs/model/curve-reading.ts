/** Small curves of stores that do not have them at hand: those of many runs in one question. */
import type { Store } from 'quark-sdk';
import { readSparklines } from 'quark-sdk/workspace';
import type { Sparkline } from '../../series/small-curves.ts';

/** The curves of a metric of these runs, of the first loss for `''`. A run that cannot be read has none. */
export async function readSmallCurves(
  store: Store,
  runIds: readonly string[],
  metric: string,
): Promise<ReadonlyMap<string, Sparkline>> {
  const query = metric === '' ? { runIds } : { runIds, metricKey: metric };
  const found = await readSparklines(store, query);
  return new Map(
    found.map(({ metricKey: key, positions: steps, runId, values }) => [
      runId,
      { key, steps, values },
    ]),
  );
}
