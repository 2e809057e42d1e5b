/** The curve of a group: the mean of its runs on the axis of the chart, with its band. */
import { bandOfCurves, type BandKind, type CurveBand } from 'quark-sdk/analysis';
import type { ChartAxis } from 'quark-sdk/workspace';
import { placedOn } from '../../charts/chart-data.ts';
import type { CurveOrigin } from '../../charts/chart-state.ts';
import { isPlainAxis } from '../../charts/plot/chart-settings.ts';
import { SampleSeries } from '../../series/series.ts';

/** Numbers from here on are positions of means, and far from the steps of any run: what stands at a step has no position on the mean. */
const NO_STEP = 2 ** 40;

/** A group as a chart draws it. */
export type GroupCurve = {
  /** The mean, whose positions on the axis it was made for are those of the band. */
  readonly series: SampleSeries;
  /** On the axis of a metric: its values at the points of the mean, by their numbers as steps. */
  readonly by: SampleSeries | undefined;
  readonly band: CurveBand;
};

/** Which curve. */
export type GroupQuery = {
  readonly metric: string;
  readonly runIds: readonly string[];
  readonly axis: ChartAxis;
  readonly kind: BandKind;
};

/** The curve of a run that is in a group. */
export type MemberCurve = CurveOrigin & {
  readonly series: SampleSeries;
  /** The metric that the axis goes by, if it goes by one. */
  readonly by: SampleSeries | undefined;
};

/** Curves of groups, each computed once for each length of its runs. */
export class GroupCurves {
  readonly #memberOf: (runId: string, query: GroupQuery) => MemberCurve | undefined;
  readonly #known = new Map<string, { readonly stamp: string; readonly curve: GroupCurve }>();

  /** @param memberOf the curve of a run; undefined where it has none */
  constructor(memberOf: (runId: string, query: GroupQuery) => MemberCurve | undefined) {
    this.#memberOf = memberOf;
  }

  /** The curve of a group; undefined where none of its runs has the metric, and that of the axis. */
  get(key: string, query: GroupQuery): GroupCurve | undefined {
    const { axis, kind, metric, runIds } = query;
    const members = runIds.flatMap((runId) => {
      const member = this.#memberOf(runId, query);
      return member === undefined ? [] : [{ runId, ...member }];
    });
    const placed = members.flatMap((member) => placedOn(axis, member) ?? []);
    if (placed.length === 0) return undefined;
    const name = `${metric} ${axis} ${key}`;
    const lengths = members.map(
      ({ by, runId, series }) => `${runId} ${series.length} ${by?.length ?? ''}`,
    );
    const stamp = `${kind} ${lengths.join()}`;
    const known = this.#known.get(name);
    if (known?.stamp === stamp) return known.curve;
    const curves = placed.map(({ xs, ys }) => ({ positions: xs, values: ys }));
    const band = bandOfCurves(curves, { kind });
    const curve = { ...seriesOf(key, axis, band), band };
    this.#known.set(name, { stamp, curve });
    return curve;
  }
}

/** A series that lies at the positions of a band, on the axis that they are of, for a run that began at 0. */
function seriesOf(
  key: string,
  axis: ChartAxis,
  { mean, positions }: CurveBand,
): Pick<GroupCurve, 'by' | 'series'> {
  const series = new SampleSeries(key);
  const by = isPlainAxis(axis) ? undefined : new SampleSeries(axis);
  for (const [i, position] of positions.entries()) {
    const step = by === undefined ? (axis === 'step' ? position : Number.NaN) : NO_STEP + i;
    series.push(mean[i] ?? Number.NaN, step, position, position * 1000);
    by?.push(position, step, position, position * 1000);
  }
  return { series, by };
}
