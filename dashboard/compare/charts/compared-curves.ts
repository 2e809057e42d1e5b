/** The curves of a comparison by their keys: of runs as they were read, or of groups as means with their bands. */
import type { ChartAxis } from 'quark-sdk/workspace';
import type { CurveOrigin } from '../../charts/chart-state.ts';
import { metricOfAxis } from '../../charts/plot/chart-settings.ts';
import type { CurveSpread } from '../../charts/plot/curve-paths.ts';
import type { XRange } from '../../charts/reduce.ts';
import { getOrMake } from '../../parts/maps.ts';
import { SeriesSet, type SampleSeries, type XAxis } from '../../series/series.ts';
import { DASH_COUNT, type CurveStyle } from '../../theme/curve-styles.ts';
import { FormulaSource } from '../../workspace/formula-series.ts';
import { FORMULA_MARK } from '../../workspace/layout.ts';
import type { ComparedColumn, ComparisonState } from '../comparison-state.ts';
import { styleOfRun } from '../run-styles.ts';
import { comparedCurve } from './curve-keys.ts';
import { GroupCurves, type GroupCurve } from './group-curves.ts';

const NO_EPOCHS = new SeriesSet().epochScale;

/** What curves are made of. */
type CurvesState = Pick<ComparisonState, 'band' | 'feed' | 'grouping'>;

/** The curves of one comparison. */
export class ComparedCurves {
  readonly #state: CurvesState;
  readonly #sources = new Map<string, FormulaSource>();
  readonly #groups: GroupCurves;
  #columns: ReadonlyMap<string, ComparedColumn> = new Map();

  constructor(state: CurvesState) {
    this.#state = state;
    this.#groups = new GroupCurves((runId, { axis, metric }) => {
      const series = this.#ofRun(runId, metric);
      const by = this.#axisOf(runId, axis);
      return series === undefined ? undefined : { series, by, ...this.#originOf(runId, metric) };
    });
  }

  /** Whose curves are drawn from now on. */
  show(columns: readonly ComparedColumn[]): void {
    this.#columns = new Map(columns.map((column) => [column.key, column]));
  }

  get(key: string, axis: ChartAxis): SampleSeries | undefined {
    const { metric, owner } = comparedCurve(key);
    return this.#isGrouped ? this.#groupOf(key, axis)?.series : this.#ofRun(owner, metric);
  }

  /** The band around the mean of a group. */
  spreadOf(key: string, axis: ChartAxis): CurveSpread | undefined {
    return this.#isGrouped ? this.#groupOf(key, axis)?.band : undefined;
  }

  /** The values that the axis goes by, for a curve. */
  axisMetricOf(key: string, metric: string): SampleSeries | undefined {
    const { owner } = comparedCurve(key);
    return this.#isGrouped
      ? this.#groupOf(key, `metric:${metric}`)?.by
      : this.#state.feed.get(owner, metric);
  }

  /** Where a curve begins: the positions of means are those of the axis already. */
  originOf(key: string): CurveOrigin {
    const { metric, owner } = comparedCurve(key);
    return this.#isGrouped ? { startMs: 0, scale: NO_EPOCHS } : this.#originOf(owner, metric);
  }

  /** From the first to the last point of the metrics of these keys, or of all that are read. */
  extentOf(axis: XAxis, keys: readonly string[] | undefined): XRange {
    const metrics = keys?.map((key) => comparedCurve(key).metric);
    return this.#state.feed.extent(axis, metrics && this.metricsOf(metrics));
  }

  /** The name of its run, and of its metric where the chart has several. */
  nameOf(key: string): string {
    const { at, metric, owner } = comparedCurve(key);
    const name = this.#columns.get(owner)?.name ?? owner;
    const said = metric.startsWith(FORMULA_MARK) ? metric.slice(FORMULA_MARK.length) : metric;
    return at === undefined ? name : `${name} · ${said}`;
  }

  /** The style of its run; of several metrics in a chart, each has dashes of its own. */
  styleOf(key: string): CurveStyle {
    const { at = 0, owner } = comparedCurve(key);
    const { color, dash } = styleOfRun(owner);
    return { color, dash: (dash + at) % DASH_COUNT };
  }

  /** The metrics behind metrics and formulas. */
  metricsOf(keys: readonly string[]): readonly string[] {
    return this.#sourceOf('').metricsOf(keys);
  }

  get #isGrouped(): boolean {
    return this.#state.grouping.peek() !== undefined;
  }

  #groupOf(key: string, axis: ChartAxis): GroupCurve | undefined {
    const { metric, owner } = comparedCurve(key);
    const runIds = this.#columns.get(owner)?.runIds ?? [];
    return this.#groups.get(owner, { metric, runIds, axis, kind: this.#state.band.peek() });
  }

  #ofRun(runId: string, metric: string): SampleSeries | undefined {
    return this.#sourceOf(runId).get(metric);
  }

  #axisOf(runId: string, axis: ChartAxis): SampleSeries | undefined {
    const metric = metricOfAxis(axis);
    return metric === undefined ? undefined : this.#state.feed.get(runId, metric);
  }

  #originOf(runId: string, metric: string): CurveOrigin {
    return this.#state.feed.originOf(runId, this.metricsOf([metric])[0] ?? metric);
  }

  #sourceOf(runId: string): FormulaSource {
    const { feed } = this.#state;
    return getOrMake(
      this.#sources,
      runId,
      () => new FormulaSource({ get: (metric) => feed.get(runId, metric), lookAt: undefined }),
    );
  }
}
