/** Change points of a series: where its level, or its line, is another one. */
import { checkCount, checkLiteral, checkOptionNames, checkPositive } from '../../../base/assert.ts';
import { invalidInput } from '../../../base/errors.ts';
import type { SeriesValues } from '../module/values.ts';

/** What is constant within a segment: `mean` the level; `slope` level and slope, each line free of the one before. */
export const CHANGE_MODELS = ['mean', 'slope'] as const;

/** One of {@link CHANGE_MODELS}. */
export type ChangeModel = (typeof CHANGE_MODELS)[number];

/** How a deviation counts: `squared`, or `biweight`, squared up to three times the noise and constant beyond. */
export const CHANGE_LOSSES = ['squared', 'biweight'] as const;

/** One of {@link CHANGE_LOSSES}. */
export type ChangeLoss = (typeof CHANGE_LOSSES)[number];

/** What to do about noise that repeats itself from one value to the next. */
export const AUTOCORRELATION_CHOICES = ['adjust', 'ignore'] as const;

/** One of {@link AUTOCORRELATION_CHOICES}. */
export type AutocorrelationChoice = (typeof AUTOCORRELATION_CHOICES)[number];

/** How change points are sought. */
export type ChangePointOptions = {
  /** Default `mean`. */
  readonly model?: ChangeModel;
  /**
   * Default `squared`. `biweight`, for the model `mean` only, is not moved by single spikes: prefer it for losses of training steps,
   * whose tails are heavier than those of the normal distribution. Where the noise shrinks with the loss, pass logarithms.
   */
  readonly loss?: ChangeLoss;
  /**
   * What a change must save, in units of the noise variance. Default `bic`: 2 ln n for the mean and 3 ln n for the slope, n finite
   * values (Yao 1988: a change has one location and as many levels and slopes as it adds).
   */
  readonly penalty?: number | 'bic';
  /**
   * Standard deviation of the noise around the segments. Default: found from the differences of neighbours, robustly; what is found
   * is no less than 2^-46 of the largest size among the values (of 2^-1000 where they are smaller), so that their rounding does not
   * pass for changes.
   */
  readonly noise?: number;
  /**
   * `adjust` (the default) multiplies the penalty by (1 + r) / (1 - r), where r is the correlation of neighbours in noise of first
   * order, found from first and second differences (after Chakar, Lebarbier, Lévy-Leduc and Robin 2017) and taken as 0 while it
   * is within the error of its estimate, or no more than a trend; `ignore` takes r as 0.
   */
  readonly autocorrelation?: AutocorrelationChoice;
  /** Fewest finite values of a segment. Default 1 for `mean`, 3 for `slope`. With `biweight` it must be 1. */
  readonly minSegmentLength?: number;
  /** Most changes. Where more are found, the penalty is raised until it holds (what is found is optimal for that penalty). */
  readonly maxChanges?: number;
  /**
   * Series up to this length are searched exactly. Default 65,536 for `mean` and 2,048 for `slope`, where the time may grow with
   * the square of it.
   */
  readonly exactLimit?: number;
};

/** What {@link ChangeKernel.changePoints} finds. */
export type ChangePoints = {
  /** Index into the values of the first value of each segment after the first, ascending. */
  readonly indices: Uint32Array;
  /** Level of each segment, one more than there are changes: its mean, or the height of its line at its first value. */
  readonly levels: Float64Array;
  /** Slope of each segment, per finite value; 0 in the model `mean`. */
  readonly slopes: Float64Array;
  /** The loss of all segments, and the penalty of all changes, in units of the noise variance (0 where there is no noise). */
  readonly cost: number;
  /** The penalty of one change, in the same unit, after all adjustments. */
  readonly penalty: number;
  /** Standard deviation of the noise, given or found; 0 when all values lie on one line of the model. */
  readonly noise: number;
  /** Correlation of neighbours by which the penalty was raised, 0 to 0.99. */
  readonly autocorrelation: number;
  /** Finite values, those that were read. */
  readonly count: number;
  /** Whether no other segments have a lower cost, but for rounding. False where blocks were searched first. */
  readonly isExact: boolean;
};

/** Change points of one series. */
export interface ChangeKernel {
  /**
   * The segments with the least sum of losses and penalties. Values that are not finite are passed over, as if they were not there;
   * neighbours are then the finite values on both sides.
   *
   * Up to `exactLimit` values the result is the optimum over all segmentations: by functional pruning for the mean (Maidstone,
   * Hocking, Rigaill and Fearnhead 2017, and with bounded loss Fearnhead and Rigaill 2019), by pruned partitioning for the slope
   * (Killick, Fearnhead and Eckley 2012). Its cost is within 1e-9 of the optimum, relative to the cost.
   *
   * Beyond, the series is first reduced. For the mean, to runs of a power of two of values, at least 16,384 of them, within which no
   * aligned half, quarter, ... or single value deviates by more than half a penalty; the runs are searched exactly, and those around
   * a change are taken apart and all searched again, up to ten times or until none is left to take apart. The result is then the
   * best segmentation that changes between runs or anywhere within those taken apart. Another one may cost less by at most 12
   * penalties for each of its changes inside a run left whole (proof: end and begin a segment at both ends of that run instead; one
   * cut inside saves less than 6 penalties, by the sizes above). Series so uneven that this makes more than max(65,536, n / 16) runs
   * get larger limits and the same search without that bound. For the slope, 2,048 blocks are searched exactly, and then each change
   * is moved to the best position within a block until none moves: the cost is at most that of the best segmentation at block ends.
   *
   * Time is close to linear: the work of the search is limited, and where a hostile series (a smooth curve without noise under a
   * huge penalty) spends it, less likely candidates are given up and `isExact` is false.
   *
   * Multiplying the values by a constant other than 0 or adding one leaves the indices as they are, but for rounding.
   *
   * @throws {QuarkError} `invalid_input`
   */
  changePoints(values: SeriesValues, options?: ChangePointOptions): ChangePoints;
}

/** Options with every default filled in; `undefined` where the data decide. */
export type ChangeSettings = {
  readonly model: ChangeModel;
  readonly loss: ChangeLoss;
  readonly penalty: number | 'bic';
  readonly noise: number | undefined;
  readonly isAdjusted: boolean;
  readonly minSegmentLength: number;
  readonly maxChanges: number;
  readonly exactLimit: number;
};

const OPTION_NAMES = [
  'model',
  'loss',
  'penalty',
  'noise',
  'autocorrelation',
  'minSegmentLength',
  'maxChanges',
  'exactLimit',
] as const;
/** Longest series searched exactly unless told otherwise: 10 to 15 ms of either search. */
const EXACT_MEAN = 65_536;
const EXACT_SLOPE = 2048;
/** Longest series of lines that may be searched exactly: its time may grow with the square. */
const MOST_EXACT_SLOPE = 16_384;

/** @throws {QuarkError} `invalid_input` */
export function checkChangeOptions(options: ChangePointOptions = {}): ChangeSettings {
  checkOptionNames('options', options, OPTION_NAMES);
  const model = checkLiteral('model', options.model ?? 'mean', CHANGE_MODELS);
  const loss = checkLiteral('loss', options.loss ?? 'squared', CHANGE_LOSSES);
  const isSlope = model === 'slope';
  if (isSlope && loss === 'biweight')
    throw invalidInput('loss', loss, '"squared" for the model "slope"');
  const { penalty = 'bic', noise } = options;
  if (penalty !== 'bic') checkScale('penalty', penalty, '"bic" or a finite number above 0');
  if (noise !== undefined) checkScale('noise', noise, 'a finite number above 0');
  const choice = options.autocorrelation ?? 'adjust';
  const minSegmentLength = checkPositive(
    'minSegmentLength',
    options.minSegmentLength ?? (isSlope ? 3 : 1),
  );
  if (loss === 'biweight' && minSegmentLength > 1)
    throw invalidInput('minSegmentLength', minSegmentLength, '1 with the loss "biweight"');
  const exactLimit = checkPositive(
    'exactLimit',
    options.exactLimit ?? (isSlope ? EXACT_SLOPE : EXACT_MEAN),
  );
  if (isSlope && exactLimit > MOST_EXACT_SLOPE)
    throw invalidInput(
      'exactLimit',
      exactLimit,
      `at most ${MOST_EXACT_SLOPE} for the model "slope"`,
    );
  return {
    model,
    loss,
    penalty,
    noise,
    isAdjusted: checkLiteral('autocorrelation', choice, AUTOCORRELATION_CHOICES) === 'adjust',
    minSegmentLength,
    maxChanges:
      options.maxChanges === undefined ? Infinity : checkCount('maxChanges', options.maxChanges),
    exactLimit,
  };
}

function checkScale(field: string, value: unknown, rule: string): void {
  if (typeof value !== 'number' || !(value > 0) || value === Infinity)
    throw invalidInput(field, value, rule);
}
