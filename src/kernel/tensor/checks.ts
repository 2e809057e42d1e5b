/** Checks of what callers hand to a kernel. */
import { checkAttached, checkLiteral, checkOptionNames } from '../../base/assert.ts';
import { invalidInput } from '../../base/errors.ts';
import {
  HISTOGRAM_SCALES,
  type HistogramOptions,
  type PairData,
  type PairType,
  type TensorData,
  type TensorStatsOptions,
  type TensorType,
  type TensorTypeOptions,
  type TensorUnitStatsOptions,
  type ValueRange,
} from '../kernel.ts';

/** Most bins of a histogram: beyond it the counting tables leave the second-level cache. */
export const MAX_HISTOGRAM_BINS = 65_536;
/** Bins of a histogram unless told otherwise. */
export const DEFAULT_HISTOGRAM_BINS = 32;

/** Most units of the statistics of units: five arrays of so many numbers come back. */
export const MAX_UNITS = 2 ** 24;

const UNIFORM_OPTION_NAMES = ['bins', 'range'] as const;
const LOG_OPTION_NAMES = ['magnitudes', 'binsPerOctave'] as const;
const RANGE_NAMES = ['min', 'max'] as const;
const MIN_MAGNITUDE = 2 ** -126;
const MAX_MAGNITUDE = 2 ** 127;
const MAX_BINS_PER_OCTAVE = 64;
const DEFAULT_MAGNITUDES: ValueRange = { min: 2 ** -40, max: 2 ** 24 };
const MIN_SPAN = 2 ** -960;
const MAX_END = 2 ** 1022;

/** Statistics options with every default filled in; a threshold that is not wanted is +Infinity, which no finite value reaches. */
export type StatsSettings = TensorTypeOptions & {
  readonly epsilon: number;
  readonly threshold: number | null;
};

/** Histogram options with every default filled in, but for the range of uniform bins. */
export type UniformSettings = TensorTypeOptions & {
  readonly scale: 'uniform';
  readonly bins: number;
  readonly range?: ValueRange;
  readonly maxHistogramValues?: number | null;
};

/** The same for bins of magnitudes. */
export type LogSettings = TensorTypeOptions & {
  readonly scale: 'log_magnitude';
  readonly magnitudes: ValueRange;
  readonly binsPerOctave: number;
  readonly maxHistogramValues?: number | null;
};

/** Histogram options with every default filled in. */
export type HistogramSettings = UniformSettings | LogSettings;

/** Options of the statistics of units with every default filled in. */
export type UnitSettings = TensorTypeOptions & {
  readonly units: number;
  readonly innerSize: number;
  readonly epsilon: number;
};

/**
 * The element type of a tensor.
 *
 * @param options may state the type, and has to for a `Uint16Array`; not checked otherwise
 * @throws {QuarkError} `invalid_input`
 */
export function checkTensor(data: TensorData, options: TensorTypeOptions | undefined): TensorType {
  const type = statedOrOwnType(data, options?.type);
  checkAttached('data', data);
  return type;
}

function statedOrOwnType(data: unknown, stated: unknown): TensorType {
  if (stated !== undefined && tagOf(data) === 'Uint16Array') {
    if (stated === 'float16' || stated === 'bfloat16') return stated;
    throw invalidInput('type', stated, '"float16" or "bfloat16" for a Uint16Array');
  }
  const type = typeOf(data);
  if (stated !== undefined && stated !== type)
    throw invalidInput('type', stated, `"${type}", which is the type of the array`);
  return type;
}

function typeOf(data: unknown): TensorType {
  const tag = tagOf(data);
  switch (tag) {
    case 'Float32Array':
      return 'float32';
    case 'Float64Array':
      return 'float64';
    case 'Int32Array':
      return 'int32';
    case 'Uint8Array':
      return 'uint8';
    default:
      throw invalidInput(
        'data',
        tag ?? (Array.isArray(data) ? 'an array' : data),
        'a Float32Array, Float64Array, Int32Array, Uint8Array, or a Uint16Array with the option type',
      );
  }
}

/**
 * The element type of two tensors to be compared.
 *
 * @throws {QuarkError} `invalid_input`
 */
export function checkPair(first: PairData, second: PairData): PairType {
  const type = pairTypeOf('first', first);
  if (pairTypeOf('second', second) !== type)
    throw invalidInput('second', tagOf(second), `of the type of the first tensor (${type})`);
  checkAttached('first', first);
  checkAttached('second', second);
  if (first.length !== second.length)
    throw invalidInput('second', second.length, `as long as the first tensor (${first.length})`);
  return type;
}

function pairTypeOf(field: string, data: unknown): PairType {
  const tag = tagOf(data);
  if (tag === 'Float32Array') return 'float32';
  if (tag === 'Float64Array') return 'float64';
  throw invalidInput(
    field,
    tag ?? (Array.isArray(data) ? 'an array' : data),
    'a Float32Array or Float64Array',
  );
}

/** The name of a typed array's class, whichever realm it is from. */
function tagOf(data: unknown): unknown {
  return ArrayBuffer.isView(data) ? Reflect.get(data, Symbol.toStringTag) : undefined;
}

/** @throws {QuarkError} `invalid_input` */
export function checkStatsOptions(
  options: TensorStatsOptions | undefined,
  alsoKnown: readonly string[] = [],
): StatsSettings {
  if (options === undefined) return DEFAULT_STATS_SETTINGS;
  checkOptionNames('options', checkObject(options), [...STATS_OPTION_NAMES, ...alsoKnown]);
  const { epsilon = 0, threshold = null } = options;
  checkEpsilon(epsilon);
  if (
    threshold !== null &&
    (typeof threshold !== 'number' || !(threshold >= 0) || threshold === Infinity)
  ) {
    throw invalidInput('threshold', threshold, 'null or a finite number, 0 or more');
  }
  return { epsilon, threshold, ...statedType(options) };
}

const STATS_OPTION_NAMES = ['epsilon', 'threshold', 'type'] as const;
const DEFAULT_STATS_SETTINGS: StatsSettings = { epsilon: 0, threshold: null };

/** @throws {QuarkError} `invalid_input` */
export function checkHistogramOptions(
  options: HistogramOptions = {},
  alsoKnown: readonly string[] = [],
): HistogramSettings {
  const { scale = 'uniform', maxHistogramValues = null } = checkObject(options);
  checkLiteral('scale', scale, HISTOGRAM_SCALES);
  const names = scale === 'uniform' ? UNIFORM_OPTION_NAMES : LOG_OPTION_NAMES;
  checkOptionNames('options', options, [
    'scale',
    'type',
    'maxHistogramValues',
    ...names,
    ...alsoKnown,
  ]);
  if (
    maxHistogramValues !== null &&
    (!Number.isSafeInteger(maxHistogramValues) || maxHistogramValues < 1)
  )
    throw invalidInput('maxHistogramValues', maxHistogramValues, 'null or an integer, 1 or more');
  const common = { ...statedType(options), maxHistogramValues };
  return scale === 'uniform'
    ? { scale, ...common, ...checkUniform(options) }
    : { scale, ...common, ...checkMagnitudes(options) };
}

function checkUniform({
  bins = DEFAULT_HISTOGRAM_BINS,
  range,
}: HistogramOptions): Pick<UniformSettings, 'bins' | 'range'> {
  if (!Number.isSafeInteger(bins) || bins < 1 || bins > MAX_HISTOGRAM_BINS) {
    throw invalidInput('bins', bins, `an integer from 1 to ${MAX_HISTOGRAM_BINS}`);
  }
  if (range === undefined) return { bins };
  checkOptionNames('range', range, RANGE_NAMES);
  const { min, max } = range;
  if (typeof min !== 'number' || !Number.isFinite(min))
    throw invalidInput('range.min', min, 'a finite number');
  if (typeof max !== 'number' || !Number.isFinite(max))
    throw invalidInput('range.max', max, 'a finite number');
  if (!(max - min >= MIN_SPAN && max - min < Infinity)) {
    throw invalidInput(
      'range.max',
      max,
      `above range.min (${min}) by at least 2^-960 and less than 2^1024`,
    );
  }
  return { bins, range: { min, max } };
}

function checkMagnitudes({
  magnitudes = DEFAULT_MAGNITUDES,
  binsPerOctave = 1,
}: HistogramOptions): Pick<LogSettings, 'magnitudes' | 'binsPerOctave'> {
  checkOptionNames('magnitudes', magnitudes, RANGE_NAMES);
  const { min, max } = magnitudes;
  if (!isPowerOfTwo(min) || min < MIN_MAGNITUDE || min >= MAX_MAGNITUDE)
    throw invalidInput('magnitudes.min', min, 'a power of two from 2^-126 to 2^126');
  if (!isPowerOfTwo(max) || max > MAX_MAGNITUDE || max <= min)
    throw invalidInput(
      'magnitudes.max',
      max,
      `a power of two above magnitudes.min (${min}), up to 2^127`,
    );
  if (!isPowerOfTwo(binsPerOctave) || binsPerOctave < 1 || binsPerOctave > MAX_BINS_PER_OCTAVE)
    throw invalidInput('binsPerOctave', binsPerOctave, '1, 2, 4, 8, 16, 32 or 64');
  return { magnitudes: { min, max }, binsPerOctave };
}

/** Whether `value` is a power of two, log2 of which is exact then. */
function isPowerOfTwo(value: unknown): value is number {
  return typeof value === 'number' && value > 0 && 2 ** Math.round(Math.log2(value)) === value;
}

/** @throws {QuarkError} `invalid_input` */
export function checkUnitStatsOptions(
  data: TensorData,
  options: TensorUnitStatsOptions,
  alsoKnown: readonly string[] = [],
): UnitSettings {
  checkOptionNames('options', checkObject(options), [...UNIT_OPTION_NAMES, ...alsoKnown]);
  const { units, innerSize = 1, epsilon = 0 } = options;
  if (!Number.isSafeInteger(units) || units < 1 || units > MAX_UNITS)
    throw invalidInput('units', units, `an integer from 1 to ${MAX_UNITS}`);
  if (!Number.isSafeInteger(innerSize) || innerSize < 1)
    throw invalidInput('innerSize', innerSize, 'an integer, 1 or more');
  if (data.length % (units * innerSize) !== 0)
    throw invalidInput(
      'units',
      units,
      `such that units * innerSize (${units * innerSize}) divides the length of the tensor (${data.length})`,
    );
  return { units, innerSize, epsilon: checkEpsilon(epsilon), ...statedType(options) };
}

const UNIT_OPTION_NAMES = ['units', 'innerSize', 'epsilon', 'type'] as const;

function checkEpsilon(epsilon: unknown): number {
  if (typeof epsilon !== 'number' || !(epsilon >= 0) || epsilon === Infinity)
    throw invalidInput('epsilon', epsilon, 'a finite number, 0 or more');
  return epsilon;
}

/** The type that options state, for calls made of them. */
export function statedType({ type }: TensorTypeOptions): TensorTypeOptions {
  return type === undefined ? {} : { type };
}

/** The range of the bins when none was given, from the extremes of the finite values (NaN when there are none). */
export function rangeAround(min: number, max: number): ValueRange {
  if (!(min <= max)) return { min: 0, max: 1 };
  const low = Math.max(-MAX_END, Math.min(MAX_END, min));
  const high = Math.max(-MAX_END, Math.min(MAX_END, max));
  // + 0: the kernels do not keep the sign of a zero, so there is none.
  if (high - low >= MIN_SPAN) return { min: low + 0, max: high + 0 };
  const reach = Math.max(0.5, Math.abs(low) * 2 ** -20);
  return { min: low - reach, max: low + reach };
}

/** Settings of uniform bins over a range, of all elements. */
export function uniformSettings(
  bins: number,
  range: ValueRange,
): UniformSettings & { readonly range: ValueRange } {
  return { scale: 'uniform', maxHistogramValues: null, bins, range };
}

function checkObject<T extends object>(value: T): T {
  if (typeof value !== 'object' || value === null)
    throw invalidInput('options', value, 'an object');
  return value;
}
