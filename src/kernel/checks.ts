/** Checks of what callers hand to a kernel. */
import { checkOptionNames } from '../base/assert.ts';
import { invalidInput } from '../base/errors.ts';
import type {
  HistogramOptions,
  PairData,
  PairType,
  TensorStatsOptions,
  TensorType,
  TensorTypeOptions,
  ValueRange,
} from './kernel.ts';

/** Most bins of a histogram: beyond it the counting tables leave the second-level cache. */
export const MAX_HISTOGRAM_BINS = 65_536;
/** Bins of a histogram unless told otherwise. */
export const DEFAULT_HISTOGRAM_BINS = 32;

const HISTOGRAM_OPTION_NAMES = ['bins', 'range', 'type'] as const;
const MIN_SPAN = 2 ** -960;
const MAX_END = 2 ** 1022;

/** Statistics options with every default filled in; a threshold that is not wanted is +Infinity, which no finite value reaches. */
export type StatsSettings = TensorTypeOptions & {
  readonly epsilon: number;
  readonly threshold: number | null;
};

/** Histogram options with every default filled in. */
export type HistogramSettings = TensorTypeOptions & {
  readonly bins: number;
  readonly range?: ValueRange;
};

/**
 * The element type of a tensor.
 *
 * @param options may state the type, and has to for a `Uint16Array`; not checked otherwise
 * @throws {QuarkError} `invalid_input`
 */
export function checkTensor(data: unknown, options: TensorTypeOptions | undefined): TensorType {
  const stated: unknown = options?.type;
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
export function checkPair(first: unknown, second: unknown): PairType {
  const type = pairTypeOf('first', first);
  if (pairTypeOf('second', second) !== type)
    throw invalidInput('second', tagOf(second), `of the type of the first tensor (${type})`);
  const lengths = [first, second].map((data) => (isPairData(data) ? data.length : 0));
  if (lengths[0] !== lengths[1])
    throw invalidInput('second', lengths[1], `as long as the first tensor (${lengths[0]})`);
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

function isPairData(data: unknown): data is PairData {
  const tag = tagOf(data);
  return tag === 'Float32Array' || tag === 'Float64Array';
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
  if (typeof epsilon !== 'number' || !(epsilon >= 0) || epsilon === Infinity) {
    throw invalidInput('epsilon', epsilon, 'a finite number, 0 or more');
  }
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
  checkOptionNames('options', checkObject(options), [...HISTOGRAM_OPTION_NAMES, ...alsoKnown]);
  const { bins = DEFAULT_HISTOGRAM_BINS, range } = options;
  if (!Number.isSafeInteger(bins) || bins < 1 || bins > MAX_HISTOGRAM_BINS) {
    throw invalidInput('bins', bins, `an integer from 1 to ${MAX_HISTOGRAM_BINS}`);
  }
  if (range === undefined) return { bins, ...statedType(options) };
  const { min, max } = checkObject(range, 'range');
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
  return { bins, range: { min, max }, ...statedType(options) };
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

function checkObject<T extends object>(value: T, field = 'options'): T {
  if (typeof value !== 'object' || value === null) throw invalidInput(field, value, 'an object');
  return value;
}
