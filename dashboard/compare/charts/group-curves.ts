/** The curve of a group: the mean of its runs on the axis of the chart, with its band. */
import { bandOfCurves, type BandKind, type CurveBand } from 'quark-sdk/analysis';
import { cachedOnAxis } from '../../charts/chart-data.ts';
import { SampleSeries, type XAxis } from '../../series/series.ts';
import type { CompareFeed } from '../compare-feed.ts';

/** A group as a chart draws it. */
export type GroupCurve = {
  /** The mean, whose positions on the axis it was made for are those of the band. */
  readonly series: SampleSeries;
  readonly band: CurveBand;
};

/** Which curve. */
export type GroupQuery = {
  readonly metric: string;
  readonly runIds: readonly string[];
  readonly axis: XAxis;
  readonly kind: BandKind;
};

/** Curves of groups, each computed once for each length of its runs. */
export class GroupCurves {
  readonly #feed: CompareFeed;
  readonly #known = new Map<string, { readonly stamp: string; readonly curve: GroupCurve }>();

  constructor(feed: CompareFeed) {
    this.#feed = feed;
  }

  /** The curve of a group; undefined where none of its runs has the metric. */
  get(key: string, query: GroupQuery): GroupCurve | undefined {
    const { axis, kind, metric, runIds } = query;
    const found = runIds.flatMap((runId) => {
      const series = this.#feed.get(runId, metric);
      return series === undefined ? [] : [{ runId, series }];
    });
    if (found.length === 0) return undefined;
    const name = `${metric} ${key}`;
    const stamp = `${axis} ${kind} ${found.map(({ runId, series }) => `${runId} ${series.length}`).join()}`;
    const known = this.#known.get(name);
    if (known?.stamp === stamp) return known.curve;
    const curves = found.map(({ runId, series }) => {
      const { scale, startMs } = this.#feed.originOf(runId, metric);
      const { xs, ys } = cachedOnAxis(series, axis, startMs, scale);
      return { positions: xs, values: ys };
    });
    const band = bandOfCurves(curves, { kind });
    const curve = { series: seriesOf(key, axis, band), band };
    this.#known.set(name, { stamp, curve });
    return curve;
  }
}

/** A series that lies at the positions of a band, on the axis that they are of, for a run that began at 0. */
function seriesOf(key: string, axis: XAxis, { mean, positions }: CurveBand): SampleSeries {
  const series = new SampleSeries(key);
  for (const [i, position] of positions.entries()) {
    const step = axis === 'step' ? position : Number.NaN;
    series.push(mean[i] ?? Number.NaN, step, position, position * 1000);
  }
  return series;
}
