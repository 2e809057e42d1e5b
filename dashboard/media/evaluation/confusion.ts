/** Confusion matrices as they are looked at: counts or shares, by class or by error. Pure. */
import type { ConfusionMatrix } from 'quark-sdk/media';

/** What the cells show: counts, shares of the true class (the diagonal is the recall), or of the predicted class (the precision). */
export const CONFUSION_SCALES = ['row', 'counts', 'column'] as const;
/** One of {@link CONFUSION_SCALES}. */
export type ConfusionScale = (typeof CONFUSION_SCALES)[number];

/** A matrix to draw. */
export type ConfusionView = {
  readonly classes: readonly string[];
  /** `[true class, predicted class]`, row-major. */
  readonly counts: Float64Array;
  /** The same as counts or shares; NaN where a class has no examples. */
  readonly values: Float64Array;
  /** Of each class the examples that were not recognised; by rows. */
  readonly errors: Float64Array;
};

/** The matrix with its classes in this order. */
export function confusionView(
  { classes, counts }: ConfusionMatrix,
  scale: ConfusionScale,
  isByError: boolean,
): ConfusionView {
  const size = classes.length;
  const errors = Float64Array.from(counts, (row, at) => sumOf(row) - (row[at] ?? 0));
  const order = Array.from(classes.keys());
  if (isByError) order.sort((a, b) => (errors[b] ?? 0) - (errors[a] ?? 0) || a - b);
  const flat = new Float64Array(size * size);
  for (const [row, from] of order.entries())
    for (const [column, to] of order.entries()) flat[row * size + column] = counts[from]?.[to] ?? 0;
  return {
    classes: order.map((at) => classes[at] ?? ''),
    counts: flat,
    values: scaled(flat, size, scale),
    errors: Float64Array.from(order, (at) => errors[at] ?? 0),
  };
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function scaled(counts: Float64Array, size: number, scale: ConfusionScale): Float64Array {
  if (scale === 'counts') return counts.slice();
  const sums = new Float64Array(size);
  const groupOf = (at: number): number => (scale === 'row' ? Math.floor(at / size) : at % size);
  for (const [at, count] of counts.entries()) sums[groupOf(at)] = (sums[groupOf(at)] ?? 0) + count;
  return counts.map((count, at) => {
    const sum = sums[groupOf(at)] ?? 0;
    return sum === 0 ? Number.NaN : count / sum;
  });
}

/** One pair of classes that is taken for each other. */
export type Confusion = { readonly from: string; readonly to: string; readonly count: number };

/** The pairs off the diagonal with the most examples. */
export function topConfusions(view: ConfusionView, most: number): readonly Confusion[] {
  const { classes, counts } = view;
  const size = classes.length;
  const found: Confusion[] = [];
  for (const [at, count] of counts.entries()) {
    const row = Math.floor(at / size);
    const column = at % size;
    if (row === column || count === 0) continue;
    if (found.length === most && count <= (found.at(-1)?.count ?? 0)) continue;
    found.push({ from: classes[row] ?? '', to: classes[column] ?? '', count });
    found.sort((a, b) => b.count - a.count);
    found.length = Math.min(found.length, most);
  }
  return found;
}
