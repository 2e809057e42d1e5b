/** Checks of the options of the curve kernels, with every default filled in. */
import { checkLiteral, checkOptionNames, checkPositive, checkFlag } from '../../../base/assert.ts';
import { literal, numberWhere, orDefault, readOptions } from '../../../base/options.ts';
import { invalidInput } from '../../../base/errors.ts';
import {
  ALIGN_FILLS,
  ALIGN_JOINS,
  SPIKE_DIRECTIONS,
  type AlignFill,
  type AlignJoin,
  type AlignOptions,
  type AreaOptions,
  type SmoothExponentialOptions,
  type SmoothRobustOptions,
  type SpikeDirection,
  type SpikeOptions,
  type SteppedSeries,
  type TheilSenOptions,
} from './curve.ts';
import { checkSeries, type SeriesValues } from '../module/values.ts';

/** Widest window of a moving median: its scratch memory grows with it. */
export const MAX_MEDIAN_WINDOW = 2 ** 22;
const MAX_SPIKE_WINDOW = 2 ** 20;
const DEFAULT_WINDOW = 101;
const DEFAULT_WEIGHT = 0.6;
/** Least share of a new value: below it the average would stand still within the precision of float64. */
const LEAST = 2 ** -40;

const DECAYS = ['alpha', 'weight', 'halfLife', 'span'] as const;

export type ExponentialSettings = {
  /** What one point, or one unit of position, leaves over: 0 to below 1. */
  readonly decay: number;
  readonly adjust: boolean;
  readonly positions: Float64Array | null;
  readonly fillGaps: boolean;
};

export function checkExponential(
  length: number,
  options: SmoothExponentialOptions = {},
): ExponentialSettings {
  checkOptionNames('options', options, [...DECAYS, 'adjust', 'positions', 'fillGaps']);
  const given = DECAYS.filter((name) => options[name] !== undefined);
  if (given.length > 1)
    throw invalidInput('options', given.join(' and '), `one of ${DECAYS.join(', ')} at most`);
  return {
    decay: checkDecay(options),
    adjust: checkOptionalFlag('options.adjust', options.adjust, true),
    positions: checkPositions(options.positions, length),
    fillGaps: checkOptionalFlag('options.fillGaps', options.fillGaps, false),
  };
}

function checkDecay({ alpha, weight, halfLife, span }: SmoothExponentialOptions): number {
  if (alpha !== undefined)
    return 1 - inRange('options.alpha', alpha, (x) => x >= LEAST && x <= 1, 'from 2^-40 to 1');
  if (halfLife !== undefined) {
    const checked = inRange(
      'options.halfLife',
      halfLife,
      (x) => x > 0 && x <= 1 / LEAST,
      'above 0 and at most 2^40',
    );
    return 2 ** (-1 / checked);
  }
  if (span !== undefined) {
    const checked = inRange(
      'options.span',
      span,
      (x) => x >= 1 && x <= 1 / LEAST,
      'from 1 to 2^40',
    );
    return 1 - 2 / (checked + 1);
  }
  return inRange(
    'options.weight',
    weight ?? DEFAULT_WEIGHT,
    (x) => x >= 0 && x <= 1 - LEAST,
    'from 0 to 1 - 2^-40',
  );
}

export type RobustSettings = {
  /** Values of a window before and after its own. */
  readonly before: number;
  readonly after: number;
  readonly fillGaps: boolean;
};

export function checkRobust(options: SmoothRobustOptions = {}): RobustSettings {
  checkOptionNames('options', options, ['window', 'center', 'fillGaps']);
  const window = checkWindow(options.window ?? DEFAULT_WINDOW, 1, MAX_MEDIAN_WINDOW);
  const isCentered = checkOptionalFlag('options.center', options.center, true);
  const before = isCentered ? window >>> 1 : window - 1;
  return {
    before,
    after: window - 1 - before,
    fillGaps: checkOptionalFlag('options.fillGaps', options.fillGaps, false),
  };
}

export type TheilSenSettings = {
  readonly positions: Float64Array | null;
  readonly confidence: number | null;
};

export function checkTheilSen(length: number, options: TheilSenOptions = {}): TheilSenSettings {
  checkOptionNames('options', options, ['positions', 'confidence']);
  const { confidence } = options;
  return {
    positions: checkPositions(options.positions, length),
    confidence:
      confidence === undefined
        ? null
        : inRange('options.confidence', confidence, (x) => x > 0 && x < 1, 'above 0 and below 1'),
  };
}

export type SpikeSettings = Required<SpikeOptions> & { readonly direction: SpikeDirection };

export function checkSpikes(options: SpikeOptions = {}): SpikeSettings {
  checkOptionNames('options', options, [
    'direction',
    'window',
    'minPeriods',
    'threshold',
    'recovery',
    'minRelativeHeight',
    'minHeight',
    'maxLength',
  ]);
  const window = checkWindow(options.window ?? DEFAULT_WINDOW, 2, MAX_SPIKE_WINDOW);
  const minPeriods = options.minPeriods ?? Math.min(16, window);
  if (!Number.isSafeInteger(minPeriods) || minPeriods < 2 || minPeriods > window)
    throw invalidInput('options.minPeriods', minPeriods, `an integer from 2 to ${window}`);
  const threshold = inRange('options.threshold', options.threshold ?? 8, (x) => x > 0, 'above 0');
  return {
    direction: checkLiteral('options.direction', options.direction ?? 'up', SPIKE_DIRECTIONS),
    window,
    minPeriods,
    threshold,
    recovery: inRange(
      'options.recovery',
      options.recovery ?? Math.min(3, threshold),
      (x) => x >= 0 && x <= threshold,
      `from 0 to ${threshold}`,
    ),
    minRelativeHeight: notNegative('options.minRelativeHeight', options.minRelativeHeight ?? 0.1),
    minHeight: notNegative('options.minHeight', options.minHeight ?? 0),
    maxLength: checkPositive('options.maxLength', options.maxLength ?? window),
  };
}

export type AreaSettings = {
  readonly positions: Float64Array | null;
  readonly from: number;
  readonly to: number;
};

export function checkArea(length: number, options: AreaOptions = {}): AreaSettings {
  checkOptionNames('options', options, ['positions', 'from', 'to']);
  const from = checkNumber('options.from', options.from ?? -Infinity);
  const to = checkNumber('options.to', options.to ?? Infinity);
  if (from > to) throw invalidInput('options.to', to, `at least options.from, ${from}`);
  return { positions: checkPositions(options.positions, length), from, to };
}

export type AlignSettings = {
  readonly join: AlignJoin;
  readonly fill: AlignFill;
  readonly tolerance: number;
};

export function checkAlign(options: AlignOptions = {}): AlignSettings {
  return readOptions('options', options, {
    join: orDefault(literal<AlignJoin>(ALIGN_JOINS), 'inner'),
    fill: orDefault(literal<AlignFill>(ALIGN_FILLS), 'none'),
    tolerance: orDefault(
      numberWhere((x) => x >= 0, 'at least 0'),
      Infinity,
    ),
  });
}

/** Steps and values of a series, as float64. */
export function checkStepped(
  name: string,
  series: SteppedSeries,
): { readonly steps: Float64Array; readonly values: Float64Array } {
  checkOptionNames(name, series, ['steps', 'values']);
  const values = checkSeries(`${name}.values`, series.values);
  const steps = checkSeries(`${name}.steps`, series.steps);
  if (steps.length !== values.length)
    throw invalidInput(
      `${name}.steps`,
      `${steps.length} steps`,
      `as long as its values (${values.length})`,
    );
  return { steps, values };
}

function checkPositions(positions: SeriesValues | undefined, length: number): Float64Array | null {
  if (positions === undefined) return null;
  const checked = checkSeries('options.positions', positions);
  if (checked.length !== length)
    throw invalidInput(
      'options.positions',
      `${checked.length} positions`,
      `as long as the values (${length})`,
    );
  return checked;
}

function checkWindow(window: number, least: number, most: number): number {
  if (!Number.isSafeInteger(window) || window < least || window > most)
    throw invalidInput('options.window', window, `an integer from ${least} to ${most}`);
  return window;
}

function checkOptionalFlag(field: string, value: unknown, absent: boolean): boolean {
  return value === undefined ? absent : checkFlag(field, value);
}

function checkNumber(field: string, value: unknown): number {
  if (typeof value !== 'number' || Number.isNaN(value))
    throw invalidInput(field, value, 'a number');
  return value;
}

function notNegative(field: string, value: number): number {
  return inRange(field, value, (x) => x >= 0, 'at least 0');
}

function inRange(
  field: string,
  value: number,
  holds: (value: number) => boolean,
  rule: string,
): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || !holds(value))
    throw invalidInput(field, value, `a finite number ${rule}`);
  return value;
}
