/**
 * Rows of several metrics that were recorded in turn lie metric by metric in merged segments: their sequence numbers are a few evenly
 * spaced spans, which together are all numbers of a range. Such rows are put in order without a sort, and without an index of each. Readers
 * of many rows alone load it.
 */

/** Rows one after the other whose sequence numbers are `first + i * stride`. */
export type EvenSpan = {
  /** Index of the first row. */
  readonly start: number;
  readonly count: number;
  readonly first: number;
  readonly stride: number;
};

/** Rows that come out in order when the spans take turns. */
export type Interleaving = {
  readonly firstSequence: number;
  /** Puts the rows of `source` into `target` from `at` on, in their order. */
  readonly put: <A extends Float64Array | Int32Array>(target: A, at: number, source: A) => void;
  /** The same for values of any kind. */
  readonly putValues: <V>(target: V[], at: number, source: readonly V[]) => void;
};

/** Rows in one span at least, on average: more spans cost more than a sort. */
const MIN_SPAN_ROWS = 64;
/** Rows that are put in order at a time: so few that they stay in the nearest cache. */
const BLOCK_ROWS = 2048;

/** The spans of rows, the first of which has the index `start`; null where there are too many. */
export function evenSpans(sequences: Float64Array, start: number): readonly EvenSpan[] | null {
  const { length } = sequences;
  const spans: EvenSpan[] = [];
  const most = 1 + length / MIN_SPAN_ROWS;
  for (let from = 0; from < length;) {
    if (spans.length >= most) return null;
    const first = sequences[from] ?? 0;
    const stride = from + 1 < length ? (sequences[from + 1] ?? 0) - first : 1;
    let to = from + 1;
    while (to < length && (sequences[to] ?? 0) - (sequences[to - 1] ?? 0) === stride) to++;
    spans.push({ start: start + from, count: to - from, first, stride });
    from = to;
  }
  return spans;
}

/** How spans of `rowCount` rows in all fill a range; null where they do not, or have different strides. */
export function interleavingOf(spans: readonly EvenSpan[], rowCount: number): Interleaving | null {
  const stride = spans.find(({ count }) => count > 1)?.stride ?? 1;
  let firstSequence = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (const { count, first, stride: own } of spans) {
    if (!Number.isSafeInteger(first) || (count > 1 && own !== stride)) return null;
    firstSequence = Math.min(firstSequence, first);
    last = Math.max(last, first + (count - 1) * stride);
  }
  if (!(stride >= 1) || !Number.isSafeInteger(stride) || last - firstSequence + 1 !== rowCount)
    return null;
  const placed = spans.map((span) => ({ ...span, first: span.first - firstSequence }));
  // As many rows as numbers, and none of a lane twice: each number once.
  const lanes = placed.toSorted(
    (a, b) => (a.first % stride) - (b.first % stride) || a.first - b.first,
  );
  for (const [i, { first }] of lanes.entries()) {
    const before = lanes[i - 1];
    if (before === undefined || before.first % stride !== first % stride) continue;
    if (first <= before.first + (before.count - 1) * stride) return null;
  }
  return {
    firstSequence,
    put: (target, at, source) =>
      interleave(target, at, source, { rowCount, spans: placed, stride }),
    putValues(target, at, source) {
      for (const { count, first, start } of placed)
        for (let i = 0; i < count; i++) {
          const value = source[start + i];
          if (value !== undefined) target[at + first + i * stride] = value;
        }
    },
  };
}

/** Spans of rows that fill a range: row `i` of a span belongs at `first + i * stride`. */
type Turns = {
  readonly rowCount: number;
  readonly stride: number;
  readonly spans: readonly EvenSpan[];
};

function interleave<A extends Float64Array | Int32Array>(
  target: A,
  at: number,
  source: A,
  { rowCount, spans, stride }: Turns,
): void {
  for (let block = 0; block < rowCount; block += BLOCK_ROWS) {
    const end = Math.min(rowCount, block + BLOCK_ROWS);
    for (const { count, first, start } of spans) {
      const from = Math.max(0, Math.ceil((block - first) / stride));
      const to = Math.min(count, Math.ceil((end - first) / stride));
      let row = at + first + from * stride;
      for (let i = start + from; i < start + to; i++) {
        target[row] = source[i] ?? 0;
        row += stride;
      }
    }
  }
}
