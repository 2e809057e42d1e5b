/** The overview of a long run: its curves downsampled by the service, there at once, while all of its samples are being read. */
import type { RunCurves, Store } from 'quark-sdk';
import type { NewSeries, Standing } from './series.ts';

/** Runs with fewer samples are read as quickly as an overview of them. */
const WORTH_AN_OVERVIEW = 100_000;
/** Parts of the axis: the pixels of a wide chart. */
const BUCKETS = 1_200;

/** The curves of a run, or one of them, where the store can downsample them and the run is long enough. */
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
export function overviewSeries({ curves }: RunCurves): {
  readonly read: NewSeries;
  readonly standing: ReadonlyMap<string, Standing>;
} {
  return {
    read: {
      rowCount: curves.reduce((sum, { values }) => sum + values.length, 0),
      series: curves.map((curve) => ({ ...curve, key: curve.metricKey })),
    },
    standing: new Map(
      curves.map(({ metricKey, sampleCount, nonFiniteCount }) => [
        metricKey,
        { sampleCount, nonFiniteCount },
      ]),
    ),
  };
}
