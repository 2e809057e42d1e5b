/** What a classifier gets right: confusion matrices, and curves over its thresholds. Exact; definitions as in scikit-learn. */
import { invalidInput } from '../../base/errors.ts';
import type { JsonValue } from '../../base/json.ts';
import type { MediaMetadata } from './media-shapes.ts';
import { corrupt, listIn, numbersIn, textsIn } from './reading.ts';

/** Most classes of a confusion matrix: a million cells. */
const MAX_CLASSES = 1000;
const MAX_EXAMPLES = 1 << 26;
/** Points of a curve unless asked otherwise. */
export const DEFAULT_CURVE_POINTS = 1000;

/** Examples as class numbers, or a matrix that has been counted. */
export type ConfusionInput =
  | {
      /** True class of each example, from 0. */
      readonly labels: ArrayLike<number>;
      /** Predicted class of each example, from 0. */
      readonly predictions: ArrayLike<number>;
      /** Names of the classes. Default: their numbers. */
      readonly classes?: readonly string[];
    }
  | {
      /** Counts, `[true class, predicted class]`. */
      readonly counts: readonly (readonly number[])[];
      readonly classes?: readonly string[];
    };

/** A confusion matrix: counts, `[true class, predicted class]`. */
export type ConfusionMatrix = {
  readonly classes: readonly string[];
  readonly counts: readonly (readonly number[])[];
};

/** Examples of a binary classifier. */
export type CurveInput = {
  /** 1 for examples of the class, 0 for others. */
  readonly labels: ArrayLike<number | boolean>;
  /** Score of each example: higher is more likely of the class. */
  readonly scores: ArrayLike<number>;
};

/** Precision and recall where everything with a score of at least the threshold is taken for the class; recall does not fall. */
export type PrCurve = {
  readonly thresholds: Float64Array;
  readonly precision: Float64Array;
  readonly recall: Float64Array;
};

/** False and true positive rate, from (0, 0) to (1, 1); the threshold of the first point is Infinity. */
export type RocCurve = {
  readonly thresholds: Float64Array;
  readonly falsePositiveRate: Float64Array;
  readonly truePositiveRate: Float64Array;
};

/** @throws {QuarkError} `invalid_input` */
export function countConfusion(input: unknown): {
  readonly payload: JsonValue;
  readonly metadata: MediaMetadata['confusion_matrix'];
} {
  if (typeof input !== 'object' || input === null)
    throw invalidInput('matrix', input, '{ labels, predictions } or { counts }');
  const given: unknown = Reflect.get(input, 'classes');
  const names = given === undefined ? undefined : checkClasses(given);
  const counts = 'counts' in input ? checkCounts(input.counts) : countPairs(input, names?.length);
  const classes = names ?? counts.map((_, i) => String(i));
  if (classes.length !== counts.length)
    throw invalidInput(
      'matrix.classes.length',
      classes.length,
      `as many as there are rows, ${counts.length}`,
    );
  const exampleCount = counts.flat().reduce((sum, count) => sum + count, 0);
  const right = counts.reduce((sum, row, i) => sum + (row[i] ?? 0), 0);
  return {
    payload: { classes, counts },
    metadata: {
      classCount: classes.length,
      exampleCount,
      accuracy: exampleCount === 0 ? null : right / exampleCount,
    },
  };
}

function checkClasses(classes: unknown): readonly string[] {
  if (!Array.isArray(classes) || classes.length === 0 || classes.length > MAX_CLASSES)
    throw invalidInput('matrix.classes', classes, `a list of 1 to ${MAX_CLASSES} names`);
  return classes.map((name: unknown, i) => {
    if (typeof name !== 'string' || name.length > 512)
      throw invalidInput(`matrix.classes[${i}]`, name, 'a text of at most 512 characters');
    return name;
  });
}

function checkCounts(counts: unknown): number[][] {
  if (!Array.isArray(counts) || counts.length === 0 || counts.length > MAX_CLASSES)
    throw invalidInput('matrix.counts', counts, `1 to ${MAX_CLASSES} rows`);
  return counts.map((row: unknown, i) => {
    if (!Array.isArray(row) || row.length !== counts.length)
      throw invalidInput(`matrix.counts[${i}]`, row, `a list of ${counts.length} counts`);
    return row.map((count: unknown, j) => {
      if (typeof count === 'number' && Number.isSafeInteger(count) && count >= 0) return count;
      throw invalidInput(`matrix.counts[${i}][${j}]`, count, 'an integer of 0 or more');
    });
  });
}

function countPairs(input: object, classCount: number | undefined): number[][] {
  const labels = numberList('matrix.labels', Reflect.get(input, 'labels'));
  const predictions = numberList('matrix.predictions', Reflect.get(input, 'predictions'));
  if (labels.length !== predictions.length)
    throw invalidInput(
      'matrix.predictions.length',
      predictions.length,
      `that of the labels, ${labels.length}`,
    );
  const most = classCount ?? MAX_CLASSES;
  let classes = classCount ?? 1;
  for (const [field, list] of [
    ['labels', labels],
    ['predictions', predictions],
  ] as const)
    for (let i = 0; i < list.length; i++) {
      const value = list[i];
      if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value >= most)
        throw invalidInput(
          `matrix.${field}[${i}]`,
          value,
          `a class, an integer from 0 to ${most - 1}`,
        );
      classes = Math.max(classes, value + 1);
    }
  const counts = Array.from({ length: classes }, () => Array.from({ length: classes }, () => 0));
  for (let i = 0; i < labels.length; i++) {
    const row = counts[Number(labels[i])];
    const column = Number(predictions[i]);
    if (row !== undefined) row[column] = (row[column] ?? 0) + 1;
  }
  return counts;
}

function numberList(field: string, value: unknown): ArrayLike<unknown> {
  if (
    typeof value !== 'object' ||
    value === null ||
    !('length' in value) ||
    typeof value.length !== 'number'
  )
    throw invalidInput(field, value, 'a list of numbers');
  if (value.length > MAX_EXAMPLES)
    throw invalidInput(`${field}.length`, value.length, `at most ${MAX_EXAMPLES}`);
  return value as ArrayLike<unknown>;
}

/** Counts of both classes with a score of at least each distinct threshold, from the highest down. */
type Sweep = {
  readonly positives: number;
  readonly negatives: number;
  readonly thresholds: number[];
  readonly truePositives: number[];
  readonly falsePositives: number[];
};

function sweep(input: unknown): Sweep {
  if (typeof input !== 'object' || input === null)
    throw invalidInput('examples', input, '{ labels, scores }');
  const labels = numberList('examples.labels', Reflect.get(input, 'labels'));
  const scores = numberList('examples.scores', Reflect.get(input, 'scores'));
  if (labels.length !== scores.length)
    throw invalidInput(
      'examples.scores.length',
      scores.length,
      `that of the labels, ${labels.length}`,
    );
  const checked = Float64Array.from({ length: scores.length }, (_, i) => {
    const score = scores[i];
    if (typeof score !== 'number' || !Number.isFinite(score))
      throw invalidInput(`examples.scores[${i}]`, score, 'a finite number');
    const label = labels[i];
    if (label !== 0 && label !== 1 && typeof label !== 'boolean')
      throw invalidInput(`examples.labels[${i}]`, label, '0 or 1, true or false');
    return score;
  });
  const order = Uint32Array.from(checked.keys()).sort(
    (a, b) => (checked[b] ?? 0) - (checked[a] ?? 0),
  );
  const found = {
    thresholds: [] as number[],
    truePositives: [] as number[],
    falsePositives: [] as number[],
  };
  let positives = 0;
  let negatives = 0;
  for (const [at, i] of order.entries()) {
    if (Number(labels[i]) === 1) positives++;
    else negatives++;
    const next = order[at + 1];
    if (next !== undefined && checked[next] === checked[i]) continue;
    found.thresholds.push(checked[i] ?? 0);
    found.truePositives.push(positives);
    found.falsePositives.push(negatives);
  }
  return { ...found, positives, negatives };
}

/** Indices of at most `most` of `length` points, the first and the last among them. */
function somePoints(length: number, most: number): number[] {
  if (length <= most) return Array.from({ length }, (_, i) => i);
  return Array.from({ length: most }, (_, i) => Math.round((i * (length - 1)) / (most - 1)));
}

/** @throws {QuarkError} `invalid_input` */
export function countPrCurve(
  input: unknown,
  maxPoints: number,
): {
  readonly payload: JsonValue;
  readonly metadata: MediaMetadata['pr_curve'];
} {
  const { falsePositives, negatives, positives, thresholds, truePositives } = sweep(input);
  const precision = truePositives.map((right, i) => right / (right + (falsePositives[i] ?? 0)));
  const recall = truePositives.map((right) => (positives === 0 ? 0 : right / positives));
  let area = 0;
  for (const [i, value] of precision.entries())
    area += value * ((recall[i] ?? 0) - (recall[i - 1] ?? 0));
  const points = somePoints(thresholds.length, maxPoints);
  const at = (list: readonly number[]): number[] => points.map((i) => list[i] ?? 0);
  return {
    payload: { thresholds: at(thresholds), precision: at(precision), recall: at(recall) },
    metadata: {
      positives,
      negatives,
      area: positives === 0 ? null : area,
      pointCount: points.length,
    },
  };
}

/** @throws {QuarkError} `invalid_input` */
export function countRocCurve(
  input: unknown,
  maxPoints: number,
): {
  readonly payload: JsonValue;
  readonly metadata: MediaMetadata['roc_curve'];
} {
  const { falsePositives, negatives, positives, thresholds, truePositives } = sweep(input);
  const rate = (counts: readonly number[], of: number): number[] => [
    0,
    ...counts.map((count) => (of === 0 ? 0 : count / of)),
  ];
  const falseRate = rate(falsePositives, negatives);
  const trueRate = rate(truePositives, positives);
  let area = 0;
  for (let i = 1; i < falseRate.length; i++)
    area +=
      (((falseRate[i] ?? 0) - (falseRate[i - 1] ?? 0)) *
        ((trueRate[i] ?? 0) + (trueRate[i - 1] ?? 0))) /
      2;
  const points = somePoints(falseRate.length, maxPoints);
  const at = (list: readonly number[]): number[] => points.map((i) => list[i] ?? 0);
  return {
    // The first threshold is above every score, and JSON has no infinity.
    payload: {
      thresholds: points.map((i) => (i === 0 ? null : (thresholds[i - 1] ?? 0))),
      false_positive_rate: at(falseRate),
      true_positive_rate: at(trueRate),
    },
    metadata: {
      positives,
      negatives,
      area: positives === 0 || negatives === 0 ? null : area,
      pointCount: points.length,
    },
  };
}

/** @throws {SessionStoreError} `corrupt` */
export function confusionFromJson(payload: unknown): ConfusionMatrix {
  const classes = textsIn(payload, 'classes');
  const counts = listIn(payload, 'counts').map((row) => {
    if (!Array.isArray(row) || row.length !== classes.length)
      throw corrupt('a row has not all counts');
    return row.map((count: unknown) => {
      if (typeof count !== 'number') throw corrupt('a count is no number');
      return count;
    });
  });
  if (counts.length !== classes.length) throw corrupt('it has not as many rows as classes');
  return { classes, counts };
}

/** @throws {SessionStoreError} `corrupt` */
export function prFromJson(payload: unknown): PrCurve {
  return {
    thresholds: Float64Array.from(numbersIn(payload, 'thresholds')),
    precision: Float64Array.from(numbersIn(payload, 'precision')),
    recall: Float64Array.from(numbersIn(payload, 'recall')),
  };
}

/** @throws {SessionStoreError} `corrupt` */
export function rocFromJson(payload: unknown): RocCurve {
  const thresholds = listIn(payload, 'thresholds').map((value) => {
    if (value !== null && typeof value !== 'number') throw corrupt('a threshold is no number');
    return value ?? Infinity;
  });
  return {
    thresholds: Float64Array.from(thresholds),
    falsePositiveRate: Float64Array.from(numbersIn(payload, 'false_positive_rate')),
    truePositiveRate: Float64Array.from(numbersIn(payload, 'true_positive_rate')),
  };
}
