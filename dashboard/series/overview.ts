/** The overview of a long run: its curves downsampled by the service, there at once, while all of its samples are being read. */
import type { RunCurves, Store } from 'quark-sdk';
import type { NewSeries, Standing } from './series.ts';

/** Runs with fewer samples are read as quickly as an overview of them. */
const WORTH_AN_OVERVIEW = 100_000;
/** Parts of the axis: the pixels of a wide chart. */
const BUCKETS = 1_200;
/** Parts where several metrics are asked for: the pixels of charts beside each other. All samples follow. */
const BUCKETS_OF_SEVERAL = 600;

/** The names and counts of the metrics of a run, where the store tells them without reading rows. */
export async function readMetricNames(store: Store, runId: string): Promise<RunCurves | undefined> {
  try {
    return await store.readCurves?.({ runId, buckets: 1, namesOnly: true });
  } catch {
    // As below.
    return undefined;
  }
}

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

/** The curves of some metrics of a run. @throws what the store reports */
export async function readCurvesOf(
  store: Store,
  runId: string,
  metricKeys: readonly string[],
): Promise<RunCurves | undefined> {
  return store.readCurves?.({ runId, metricKeys, buckets: BUCKETS_OF_SEVERAL });
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
