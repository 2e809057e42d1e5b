/** Small curves of stores that do not make them themselves: from the samples of each run, or from the overview of a long one. */
import type { Store } from 'quark-sdk';
import { SeriesPyramid } from 'quark-sdk/kernels';
import { onAxis } from '../../charts/axis.ts';
import { lossKey } from '../../charts/group.ts';
import { reduceSeries } from '../../charts/reduce.ts';
import { NO_EPOCHS } from '../../series/epoch-scale.ts';
import { overviewSeries, readOverview } from '../../series/overview.ts';
import {
  metricKeysOf,
  readInto,
  seriesReader,
  type ReadSeries,
} from '../../series/series-reader.ts';
import { SeriesSet, type SampleSeries } from '../../series/series.ts';
import type { Sparkline } from '../../series/small-curves.ts';

const BUCKETS = 60;

/** The curves of a metric of these runs, of the first loss for `''`. A run that cannot be read has none. */
export async function readSmallCurves(
  store: Store,
  runIds: readonly string[],
  metric: string,
): Promise<ReadonlyMap<string, Sparkline>> {
  const read = seriesReader(store);
  const found = new Map<string, Sparkline>();
  for (const runId of runIds) {
    try {
      const key = metric === '' ? lossKey(await metricKeysOf(store, runId, read)) : metric;
      const series = key === undefined ? undefined : await seriesOf(store, read, runId, key);
      if (series !== undefined) found.set(runId, sparklineOf(series));
    } catch {
      // A row without a curve is a row all the same; the page of the run says what is wrong.
    }
  }
  return found;
}

/** The overview of a long run, all samples of any other one. */
async function seriesOf(
  store: Store,
  read: ReadSeries,
  runId: string,
  metricKey: string,
): Promise<SampleSeries | undefined> {
  const series = new SeriesSet();
  const overview = await readOverview(store, runId, metricKey);
  if (overview === undefined)
    await readInto({ series, next: 0 }, read, { runId, metricKeys: [metricKey] });
  else series.take(overviewSeries(overview).read);
  return series.get(metricKey);
}

function sparklineOf(series: SampleSeries): Sparkline {
  const byStep = onAxis(series, 'step', 0, NO_EPOCHS);
  const points = byStep.xs.length > 0 ? byStep : onAxis(series, 'time', 0, NO_EPOCHS);
  const last = series.last?.value;
  const [first = 0] = points.xs;
  const end = points.xs.at(-1) ?? first;
  const pyramid = new SeriesPyramid();
  pyramid.extendTo(points.ys, points.xs);
  const { xs, ys } =
    end > first
      ? reduceSeries(pyramid, { min: first, max: end }, BUCKETS)
      : { xs: [first], ys: [last ?? Number.NaN] };
  // The last sample may be one that is not drawn.
  const isEnd = ys.at(-1) === last || last === undefined;
  return {
    key: series.key,
    steps: isEnd ? xs : [...xs, end],
    values: [...ys.map((y) => y ?? Number.NaN), ...(isEnd ? [] : [last])],
  };
}
