/**
 * How charts are drawn. Settings are given at three levels: of the workspace, of a section, of a panel. What a level does not say is as
 * the level above says; the workspace starts from {@link DEFAULT_CHART_SETTINGS}.
 */
import { invalidInput } from '../base/errors.ts';
import { MAX_NAME_CHARS } from '../base/names.ts';
import {
  literal,
  nullable,
  number,
  optional,
  text,
  texts,
  trueOrFalse,
  type Field,
  type ValuesOf,
} from '../schema/shape.ts';

/**
 * The x axis of a chart: steps, epochs, the time since the start of the run, the time of day, or the values of another metric at the
 * same steps (`metric:tokens`).
 */
export type ChartAxis = 'step' | 'epoch' | 'time' | 'wall' | `metric:${string}`;

const AXES: readonly ChartAxis[] = ['step', 'epoch', 'time', 'wall'];
const METRIC_AXIS = 'metric:';

/** How a curve is smoothed: exponential mean with debiasing, running mean, Gaussian. */
export const SMOOTHING_KINDS = ['exponential', 'mean', 'gaussian'] as const;

/** One of {@link SMOOTHING_KINDS}. */
export type SmoothingKind = (typeof SMOOTHING_KINDS)[number];

/** Largest amount of smoothing. */
export const MAX_SMOOTHING = 0.99;

/**
 * Whether a value names an axis of charts: `step`, `epoch`, `time`, `wall`, or `metric:` and the key of a metric.
 *
 * @example
 * ```js
 * import { isChartAxis } from 'quark-sdk/workspace';
 *
 * console.log(isChartAxis('epoch'), isChartAxis('metric:tokens'), isChartAxis('seconds')); // true true false
 * ```
 */
export function isChartAxis(value: unknown): value is ChartAxis {
  if (typeof value !== 'string') return false;
  return (
    AXES.some((axis) => axis === value) ||
    (value.startsWith(METRIC_AXIS) &&
      value.length > METRIC_AXIS.length &&
      value.length <= METRIC_AXIS.length + MAX_NAME_CHARS)
  );
}

function checkAxis(field: string, value: unknown): ChartAxis {
  if (isChartAxis(value)) return value;
  throw invalidInput(field, value, '"step", "epoch", "time", "wall" or "metric:KEY"');
}

/** What is marked at a step of a chart. */
export const CHART_MARK_KINDS = ['alert', 'phase', 'event', 'note'] as const;

/** One of {@link CHART_MARK_KINDS}. */
export type ChartMarkKind = (typeof CHART_MARK_KINDS)[number];

function checkMarks(field: string, value: unknown): readonly ChartMarkKind[] {
  const most = CHART_MARK_KINDS.length;
  if (!Array.isArray(value)) throw invalidInput(field, value, 'a list');
  if (value.length > most) throw invalidInput(`${field}.length`, value.length, `at most ${most}`);
  return value.map((one: unknown, at) => {
    const kind = CHART_MARK_KINDS.find((known) => known === one);
    if (kind !== undefined) return kind;
    throw invalidInput(`${field}[${at}]`, one, `one of ${CHART_MARK_KINDS.join(', ')}`);
  });
}

function checkAmount(field: string, value: unknown): number {
  if (typeof value === 'number' && value >= 0 && value <= MAX_SMOOTHING) return value;
  throw invalidInput(field, value, `a number from 0 (off) to ${MAX_SMOOTHING}`);
}

function checkBound(field: string, value: unknown): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw invalidInput(field, value, 'a finite number, or null for what the data says');
}

const axis: Field<ChartAxis> = { ...text(), check: checkAxis };

/** The declared fields, for shapes that have more. */
export const chartChoiceFields = {
  /** See {@link ChartAxis}. */
  axis: optional(axis),
  /** A logarithmic x axis. */
  logX: optional(trueOrFalse()),
  /** A logarithmic axis of values. */
  logY: optional(trueOrFalse()),
  /** See {@link SMOOTHING_KINDS}. */
  smoothing: optional(literal(SMOOTHING_KINDS)),
  /** From 0, which is off, to 0.99. */
  smoothingAmount: optional(number({ check: checkAmount })),
  /** Whether the axis of values leaves outliers out. */
  skipsOutliers: optional(trueOrFalse()),
  /** Lowest value on the axis; null: as the data says. */
  yMin: optional(nullable(number({ check: checkBound }))),
  /** Highest value on the axis; null: as the data says. */
  yMax: optional(nullable(number({ check: checkBound }))),
  /** Whether charts of the same x axis show the same part of it. */
  isLinked: optional(trueOrFalse()),
  /** What is not marked at its step; see {@link CHART_MARK_KINDS}. */
  hiddenMarks: optional(texts({ check: checkMarks })),
};

/** What one level says of charts: a field that is not there is inherited. */
export type ChartChoices = ValuesOf<typeof chartChoiceFields>;

/** Name of a field of {@link ChartChoices}. */
export type ChartChoice = keyof ChartChoices;

/** How one chart is drawn, after all levels. */
export type ChartSettings = {
  /** See {@link ChartAxis}. */
  readonly axis: ChartAxis;
  readonly logX: boolean;
  readonly logY: boolean;
  /** `amount` from 0, which is off, to 0.99. */
  readonly smoothing: { readonly kind: SmoothingKind; readonly amount: number };
  /** Whether the axis of values leaves outliers out. */
  readonly skipsOutliers: boolean;
  /** Lowest value on the axis; undefined: as the data says. */
  readonly yMin: number | undefined;
  /** Highest value on the axis; undefined: as the data says. */
  readonly yMax: number | undefined;
  /** Whether charts of the same x axis show the same part of it. */
  readonly isLinked: boolean;
  /** What is not marked at its step. */
  readonly hiddenMarks: readonly ChartMarkKind[];
};

/** What holds where no level says anything. */
export const DEFAULT_CHART_CHOICES: Required<ChartChoices> = {
  axis: 'step',
  logX: false,
  logY: false,
  smoothing: 'exponential',
  smoothingAmount: 0,
  skipsOutliers: false,
  yMin: null,
  yMax: null,
  isLinked: false,
  // Plain events would cover what matters: they are marked for those who ask.
  hiddenMarks: ['event'],
};

/** The settings of a chart where no level says anything: steps, nothing logarithmic, no smoothing, every value shown, nothing linked, all but plain events marked. */
export const DEFAULT_CHART_SETTINGS: ChartSettings = chartSettings([]);

/**
 * The settings of a chart.
 *
 * @param levels what each level says, the outermost first: workspace, section, panel
 * @returns for each field what the innermost level says that says anything; bounds that contradict each other are as the data says
 * @example
 * ```js
 * import { chartSettings } from 'quark-sdk/workspace';
 *
 * const [workspace, section, panel] = [{ smoothingAmount: 0.6 }, {}, { logY: true }];
 * const { axis, logY, smoothing } = chartSettings([workspace, section, panel]);
 * console.log(axis, logY, smoothing.amount); // step true 0.6
 * ```
 */
export function chartSettings(levels: readonly ChartChoices[]): ChartSettings {
  const all = {
    axis: innermost(levels, 'axis'),
    logX: innermost(levels, 'logX'),
    logY: innermost(levels, 'logY'),
    smoothing: innermost(levels, 'smoothing'),
    smoothingAmount: innermost(levels, 'smoothingAmount'),
    skipsOutliers: innermost(levels, 'skipsOutliers'),
    yMin: innermost(levels, 'yMin'),
    yMax: innermost(levels, 'yMax'),
    isLinked: innermost(levels, 'isLinked'),
    hiddenMarks: innermost(levels, 'hiddenMarks'),
  };
  const isEmpty = all.yMin !== null && all.yMax !== null && all.yMin >= all.yMax;
  return {
    axis: all.axis,
    logX: all.logX,
    logY: all.logY,
    smoothing: { kind: all.smoothing, amount: all.smoothingAmount },
    skipsOutliers: all.skipsOutliers,
    yMin: isEmpty ? undefined : (all.yMin ?? undefined),
    yMax: isEmpty ? undefined : (all.yMax ?? undefined),
    isLinked: all.isLinked,
    hiddenMarks: CHART_MARK_KINDS.filter((kind) => all.hiddenMarks.includes(kind)),
  };
}

/**
 * Which level a field comes from.
 *
 * @param levels as of {@link chartSettings}
 * @returns the position in `levels` of the innermost that says it; -1 where none does, so that the default holds
 * @example
 * ```js
 * import { levelOfChoice } from 'quark-sdk/workspace';
 *
 * const levels = [{ smoothingAmount: 0.6 }, { smoothingAmount: 0.2 }, { logY: true }]; // workspace, section, panel
 * console.log(levelOfChoice(levels, 'smoothingAmount'), levelOfChoice(levels, 'axis')); // 1 -1
 * ```
 */
export function levelOfChoice(levels: readonly ChartChoices[], choice: ChartChoice): number {
  return levels.findLastIndex((level) => level[choice] !== undefined);
}

function innermost<K extends ChartChoice>(
  levels: readonly ChartChoices[],
  choice: K,
): Exclude<ChartChoices[K], undefined> | Required<ChartChoices>[K] {
  for (const level of levels.toReversed()) {
    const given = level[choice];
    if (isSaid(given)) return given;
  }
  return DEFAULT_CHART_CHOICES[choice];
}

function isSaid<T>(given: T): given is Exclude<T, undefined> {
  return given !== undefined;
}
