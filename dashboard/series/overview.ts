/** The overview of a long run: its curves thinned by the service, there at once, while all of its samples are still being read. */
import type { RunCurves, Store } from 'quark-sdk';
import { splitByMetric, type SeriesParts } from './series-parts.ts';
import type { Standing } from './series.ts';

/** Runs with fewer samples are read as quickly as an overview of them. */
const WORTH_AN_OVERVIEW = 100_000;
/** Parts of the axis: the pixels of a wide chart. */
const BUCKETS = 1_200;

/** The curves of a run, or one of them, where the store can thin them and they are worth it. */
export async function readOverview(
  store: Store,
  runId: string,
  metricKey?: string,
): Promise<RunCurves | undefined> {
  try {
    const found = await store.readCurves?.({
      runId,
      buckets: BUCKETS,
      rowsMin: WORTH_AN_OVERVIEW,
      ...(metricKey === undefined ? {} : { metricKeys: [metricKey] }),
    });
    return found === undefined || found.curves.length === 0 ? undefined : found;
  } catch {
    // An older service, or a run that is not there: reading it says what is wrong.
    return undefined;
  }
}

/** The curves as series, and how many samples each stands for. */
export function overviewParts({ curves }: RunCurves): {
  readonly parts: SeriesParts;
  readonly standing: ReadonlyMap<string, Standing>;
} {
  const parts = curves.map(({ metricKey, values, steps, epochs, timestampsMs }) =>
    splitByMetric({
      rowCount: values.length,
      keys: [metricKey],
      keyIndex: new Int32Array(values.length),
      values,
      steps,
      epochs,
      timestampsMs,
    }),
  );
  return {
    parts: {
      rowCount: parts.reduce((sum, one) => sum + one.rowCount, 0),
      parts: parts.flatMap((one) => one.parts),
      epochs: parts.flatMap((one) => one.epochs),
    },
    standing: new Map(
      curves.map(({ metricKey, sampleCount, nonFiniteCount }) => [
        metricKey,
        { sampleCount, nonFiniteCount },
      ]),
    ),
  };
}
