/** From labels, however they come, to the number of samples a class. */
import { invalidInput, messageOf, QuarkError } from '../../base/errors.ts';

/** A tensor on the host: its elements, row-major, and the sizes of its axes. TensorFlow.js's tensors are ones too. */
export type LabelTensor = {
  readonly shape: readonly number[];
  /** Elements, or a function that reads them. */
  readonly data?: ArrayLike<number> | (() => unknown);
  readonly dataSync?: () => ArrayLike<number>;
};

/**
 * Labels of a batch: one a sample (numbers, text or booleans), one-hot rows, a tensor of either (`[batch]`, `[batch, 1]` or
 * `[batch, classes]`), or counts that have been made already, as an object or a Map.
 */
export type Labels =
  | ArrayLike<number | string | boolean>
  | ArrayLike<ArrayLike<number>>
  | LabelTensor
  | Readonly<Record<string, number>>
  | ReadonlyMap<string | number, number>;

/** Number of samples a class, by class name. */
export type ClassCounts = Readonly<Record<string, number>>;

/** More classes than this are refused: the labels are something else, as token ids are. */
export const MAX_CLASSES = 10_000;

/**
 * Counts labels. A row of several numbers is one-hot, or a distribution: its largest element is the class.
 *
 * @throws {QuarkError} `invalid_input`
 */
export function countLabels(field: string, labels: unknown): ClassCounts {
  if (labels instanceof Map) return checkCounts(field, labels);
  if (isArrayLike(labels)) return countList(field, labels);
  if (typeof labels === 'object' && labels !== null) {
    if ('shape' in labels && Array.isArray(labels.shape))
      return countTensor(field, labels as LabelTensor);
    const prototype: unknown = Object.getPrototypeOf(labels);
    // A Set, or a promise that was not awaited, would count as empty.
    if (prototype === null || Object.getPrototypeOf(prototype) === null)
      return checkCounts(field, new Map(Object.entries(labels)));
  }
  throw invalidInput(field, labels, 'labels, one-hot rows, a tensor of either, or counts by class');
}

/** Number of samples that counts stand for. */
export function sampleCountOf(counts: ClassCounts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

function countList(field: string, labels: ArrayLike<unknown>): ClassCounts {
  const counts = new Map<string, number>();
  for (let i = 0; i < labels.length; i++) {
    const label = labels[i];
    // A row of one is the label itself, as in a tensor of shape [batch, 1].
    if (!isArrayLike(label)) add(field, counts, classOf(`${field}[${i}]`, label));
    else if (label.length === 1) add(field, counts, classOf(`${field}[${i}][0]`, label[0]));
    else add(field, counts, String(largest(`${field}[${i}]`, label, 0, label.length)));
  }
  return toObject(counts);
}

function countTensor(field: string, tensor: LabelTensor): ClassCounts {
  const { shape } = tensor;
  const elements = elementsOf(field, tensor);
  const [rows = 1, ...rest] = shape;
  const columns = rest.reduce((product, size) => product * size, 1);
  if (rest.length > 1 && columns !== rest.at(-1))
    throw invalidInput(
      `${field}.shape`,
      `[${shape.join(', ')}]`,
      '[batch], [batch, 1] or [batch, classes]',
    );
  if (elements.length !== rows * columns)
    throw invalidInput(
      `${field}.data.length`,
      elements.length,
      `${rows * columns}, as the shape says`,
    );
  const counts = new Map<string, number>();
  for (let row = 0; row < rows; row++) {
    const at = row * columns;
    const label =
      columns === 1
        ? classOf(`${field}[${row}]`, elements[at])
        : String(largest(`${field}[${row}]`, elements, at, at + columns));
    add(field, counts, label);
  }
  return toObject(counts);
}

/**
 * The elements of a tensor, row-major.
 *
 * @throws {QuarkError} `invalid_input` when they are not on the host, `probe_failed` when reading them fails, as it does
 * when the tensor has been disposed of
 */
export function elementsOf(field: string, tensor: LabelTensor): ArrayLike<unknown> {
  let elements: unknown;
  try {
    elements = tensor.dataSync?.() ?? tensor.data;
  } catch (cause) {
    const message = `The tensor ${field} could not be read: ${messageOf(cause)}`;
    throw new QuarkError('probe_failed', message, { details: { field }, cause });
  }
  if (!isArrayLike(elements))
    throw invalidInput(`${field}.data`, elements, 'the elements of the tensor, on the host');
  return elements;
}

/**
 * One value a sample, as an array or a tensor of shape `[batch]` or `[batch, 1]`.
 *
 * @throws {QuarkError} `invalid_input`
 */
export function listValues(field: string, values: unknown): unknown[] {
  if (typeof values === 'object' && values !== null && 'length' in values)
    return Array.from(values as ArrayLike<unknown>);
  if (typeof values !== 'object' || values === null || !('shape' in values))
    throw invalidInput(field, values, 'an array, or a tensor with one value a sample');
  const tensor = values as LabelTensor;
  const elements = elementsOf(field, tensor);
  if (!Array.isArray(tensor.shape) || elements.length !== (tensor.shape[0] ?? 1))
    throw invalidInput(`${field}.shape`, `[${String(tensor.shape)}]`, '[batch] or [batch, 1]');
  return Array.from(elements);
}

function largest(field: string, values: ArrayLike<unknown>, from: number, to: number): number {
  let best = -1;
  let bestValue = Number.NEGATIVE_INFINITY;
  for (let i = from; i < to; i++) {
    const value = values[i];
    if (typeof value !== 'number' && typeof value !== 'boolean')
      throw invalidInput(field, value, 'a row of numbers');
    const size = Number(value);
    if (size > bestValue) {
      best = i - from;
      bestValue = size;
    }
  }
  if (best < 0) throw invalidInput(field, `${to - from} elements`, 'a row with a largest element');
  return best;
}

function classOf(field: string, label: unknown): string {
  if (typeof label === 'string') return label;
  if (typeof label === 'boolean') return String(label);
  if (typeof label === 'bigint') return String(label);
  if (typeof label === 'number' && Number.isFinite(label)) return String(label);
  throw invalidInput(field, label, 'a class: text, a finite number or a boolean');
}

function add(field: string, counts: Map<string, number>, label: string): void {
  counts.set(label, (counts.get(label) ?? 0) + 1);
  if (counts.size > MAX_CLASSES)
    throw invalidInput(
      field,
      `more than ${MAX_CLASSES} classes`,
      `labels of at most ${MAX_CLASSES} classes`,
    );
}

function checkCounts(field: string, counts: ReadonlyMap<unknown, unknown>): ClassCounts {
  const checked = new Map<string, number>();
  for (const [label, count] of counts) {
    if (typeof count !== 'number' || !Number.isSafeInteger(count) || count < 0)
      throw invalidInput(`${field}.${String(label)}`, count, 'a non-negative integer');
    const name = classOf(field, label);
    checked.set(name, (checked.get(name) ?? 0) + count); // 1 and "1" are one class
  }
  if (checked.size > MAX_CLASSES)
    throw invalidInput(
      field,
      `${checked.size} classes`,
      `counts of at most ${MAX_CLASSES} classes`,
    );
  return toObject(checked);
}

/** In the order of the class names, numbers by size, so that equal batches have equal records. */
function toObject(counts: ReadonlyMap<string, number>): ClassCounts {
  return Object.fromEntries([...counts].toSorted(([a], [b]) => compareClasses(a, b)));
}

/** Orders class names: numbers by size, then text. */
export function compareClasses(a: string, b: string): number {
  const difference = Number(a) - Number(b);
  if (a !== '' && b !== '' && difference === difference) return difference;
  return a < b ? -1 : a > b ? 1 : 0;
}

function isArrayLike(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && 'length' in value);
}
