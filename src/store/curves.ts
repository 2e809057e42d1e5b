/** Curves of metrics, downsampled where the rows are: what a picture needs of a long run, in one small answer. */

/** Name of the note with the sketch of a run. */
export function sketchName(runId: string): string {
  return `curves/${runId}`;
}

/** Which curves, and how fine. */
export type CurveQuery = {
  readonly runId: string;
  /** Only these metrics, at most 64 (fewer above 2,048 buckets); unless given, the first of the run. */
  readonly metricKeys?: readonly string[];
  /**
   * Into how many equal parts the steps (the times, for samples without a step) are divided at most: pixels, usually. 1 to 4,096.
   * Parts are powers of two wide and begin at multiples of their width; where steps span more than one part, there are at least half as
   * many as asked for, less one.
   */
  readonly buckets: number;
  /** Only samples from this step on, and up to this one, both inclusive. Samples without a step are left out then. */
  readonly stepMin?: number;
  readonly stepMax?: number;
  /** A table with fewer rows is not worth it: there are no curves in the answer then. Default 0. */
  readonly rowsMin?: number;
  /** True: the answer has no curves, but `names` and counts, for which no row is read. Default false. */
  readonly namesOnly?: boolean;
};

/**
 * One metric, downsampled: of each part of the axis the first, lowest, highest and last finite sample and one of each kind that is
 * not finite. All are samples as they were recorded, in the order in which they were; columns have one length, and NaN stands
 * for a step or epoch that a sample does not have.
 */
export type Curve = {
  readonly metricKey: string;
  /** Samples that this stands for. */
  readonly sampleCount: number;
  readonly nonFiniteCount: number;
  readonly values: Float64Array<ArrayBuffer>;
  readonly steps: Float64Array<ArrayBuffer>;
  readonly epochs: Float64Array<ArrayBuffer>;
  /** UTC epoch milliseconds. */
  readonly timesMs: Float64Array<ArrayBuffer>;
  /** @deprecated The same as `timesMs`. */
  readonly timestampsMs: Float64Array<ArrayBuffer>;
};

/** Curves of one run. */
export type RunCurves = {
  /** Rows of the table of metrics that were looked at. */
  readonly rowCount: number;
  /** Sequence number of the last row; -1 where there is none. */
  readonly lastSequence: number;
  /** In the order in which the metrics first appear. */
  readonly curves: readonly Curve[];
  /** Metrics that are not among them, because there are more than an answer takes. */
  readonly leftOutCount: number;
  /** Segments that could not be read. */
  readonly damagedCount: number;
  /**
   * Every metric of the run, in alphabetical order, where `namesOnly` asked for them; absent where segments have too many to list, and
   * from services of older releases.
   */
  readonly names?: readonly string[];
};

/** Small curves of many runs. */
export type SparklineQuery = {
  /** At most 200. */
  readonly runIds: readonly string[];
  /** Unless given, the loss of each run. */
  readonly metricKey?: string | undefined;
  /** About so many of each curve, 4 to 512; 64 unless given. */
  readonly points?: number | undefined;
};

/** The small curve of a metric of a run. */
export type RunSparkline = {
  readonly runId: string;
  readonly metricKey: string;
  /** What the positions are: `time` (UTC epoch milliseconds) where no sample has a step. */
  readonly axis: 'step' | 'time';
  /** Ascending. */
  readonly positions: readonly number[];
  /** As many as positions. NaN stands for a value that is not finite. */
  readonly values: readonly number[];
};
