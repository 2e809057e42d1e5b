/** Values of a column as Parquet's pages have them: levels, plain values, positions in a dictionary. */
import type { RowBatch, Vector } from '../../codecs/arrow/vectors.ts';

/** A part of a column, ready for a page. */
export type EncodedValues = {
  /** Values with nulls and, of lists, one for each item, empty list and null. */
  readonly valueCount: number;
  readonly nullCount: number;
  /** Levels and values. */
  readonly bytes: Uint8Array<ArrayBuffer>;
};

/** Largest and smallest of the integers of a column; null when it has none. */
export type IntegerRange = { readonly min: number; readonly max: number } | null;

const EMPTY = new Uint8Array(0);

/** Rows `[from, to)` of a column. A column that is not there is null in every row. */
export function encodeValues(
  column: Vector | undefined,
  from: number,
  to: number,
  isList: boolean,
): EncodedValues {
  const none = (): Uint8Array<ArrayBuffer> => EMPTY;
  if (column === undefined)
    return isList
      ? lists(new Array<null>(to - from).fill(null), none)
      : flat(to - from, () => false, none);
  switch (column.kind) {
    case 'number': {
      const { values } = column;
      const isThere = (row: number): boolean => !Number.isNaN(values[row + from]);
      return flat(to - from, isThere, (rows) => integers(values, from, rows));
    }
    case 'f64': {
      const { values, isNull } = column;
      const isThere = (row: number): boolean => isNull?.[row + from] !== 1;
      return flat(to - from, isThere, (rows) => doubles(values, from, rows));
    }
    case 'key': {
      const { indices, dictionary } = column;
      const isThere = (row: number): boolean => (indices[row + from] ?? -1) >= 0;
      const width = indexWidth(dictionary.length);
      return flat(to - from, isThere, (rows) => {
        const found = Int32Array.from(rows, (row) => indices[row + from] ?? 0);
        return join([Uint8Array.of(width), hybrid(found, width)]);
      });
    }
    case 'text': {
      const { values } = column;
      const isThere = (row: number): boolean => (values[row + from] ?? null) !== null;
      return flat(to - from, isThere, (rows) =>
        plainTexts(Array.from(rows, (row) => values[row + from] ?? '')),
      );
    }
    case 'bool': {
      const { values } = column;
      return flat(
        to - from,
        (row) => (values[row + from] ?? 2) !== 2,
        (rows) => {
          const bits = new Uint8Array((rows.length + 7) >>> 3);
          rows.forEach((row, i) => {
            if (values[row + from] === 1) bits[i >>> 3] = (bits[i >>> 3] ?? 0) | (1 << (i & 7));
          });
          return bits;
        },
      );
    }
    case 'f64_list':
      return lists(column.values.slice(from, to), (found) => {
        const all = new Float64Array(found.reduce((sum, { length }) => sum + length, 0));
        let at = 0;
        for (const items of found) {
          all.set(items, at);
          at += items.length;
        }
        return new Uint8Array(all.buffer);
      });
    case 'text_list':
      return lists(column.values.slice(from, to), (found) => plainTexts(found.flat()));
  }
}

/** The texts of a dictionary page. */
export function plainTexts(texts: readonly string[]): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const parts = texts.map((text) => encoder.encode(text));
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length + 4, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const part of parts) {
    view.setUint32(at, part.length, true);
    bytes.set(part, at + 4);
    at += part.length + 4;
  }
  return bytes;
}

/** Where the next page of a column begins: pages have at most so many rows, and about so many bytes. */
export function pageEnd(
  column: Vector | undefined,
  from: number,
  rowCount: number,
  maxRows: number,
  maxItems: number,
): number {
  const end = Math.min(rowCount, from + maxRows);
  if (column?.kind !== 'text' && column?.kind !== 'f64_list' && column?.kind !== 'text_list')
    return end;
  let items = 0;
  for (let row = from; row < end; row++) {
    const value = column.values[row] ?? [];
    items += value.length;
    if (typeof value !== 'string')
      for (const item of value) items += typeof item === 'string' ? item.length : 7;
    if (items > maxItems) return row === from ? row + 1 : row;
  }
  return end;
}

export function valueRangeOf(column: Vector | undefined, rowCount: number): IntegerRange {
  if (column?.kind !== 'number') return null;
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < rowCount; i++) {
    const value = Math.trunc(column.values[i] ?? Number.NaN);
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return min > max ? null : { min, max };
}

/** An integer of 64 bits. */
export function int64Bytes(value: number): Uint8Array<ArrayBuffer> {
  return integers(Float64Array.of(value), 0, Int32Array.of(0));
}

/** The column of a batch, with the name of the run where it is asked for. */
export function columnOf(batch: RowBatch, name: string, runId: string): Vector | undefined {
  if (name !== 'run_id') return batch.columns.get(name);
  return { kind: 'key', dictionary: [runId], indices: new Int32Array(batch.rowCount) };
}

function flat(
  count: number,
  isThere: (row: number) => boolean,
  encode: (rows: Int32Array) => Uint8Array<ArrayBuffer>,
): EncodedValues {
  const levels = new Int32Array(count);
  const rows = new Int32Array(count);
  let found = 0;
  for (let row = 0; row < count; row++) {
    if (!isThere(row)) continue;
    levels[row] = 1;
    rows[found++] = row;
  }
  // Also of no value: readers expect the width of positions in a page that is null everywhere.
  const values = encode(rows.subarray(0, found));
  return {
    valueCount: count,
    nullCount: count - found,
    bytes: join([withLength(hybrid(levels, 1)), values]),
  };
}

/** Definition levels: 0 no list, 1 an empty one, 2 an item. */
function lists<T extends { readonly length: number }>(
  values: readonly (T | null)[],
  encode: (found: readonly T[]) => Uint8Array<ArrayBuffer>,
): EncodedValues {
  const definition: number[] = [];
  const repetition: number[] = [];
  let nullCount = 0;
  for (const value of values) {
    const length = value?.length ?? 0;
    if (value === null) nullCount++;
    definition.push(length > 0 ? 2 : value === null ? 0 : 1);
    repetition.push(0);
    for (let i = 1; i < length; i++) {
      definition.push(2);
      repetition.push(1);
    }
  }
  return {
    valueCount: definition.length,
    nullCount,
    bytes: join([
      withLength(hybrid(Int32Array.from(repetition), 1)),
      withLength(hybrid(Int32Array.from(definition), 2)),
      encode(values.filter((value) => value !== null)),
    ]),
  };
}

/** Bits are copied, not numbers: the payload of a NaN has to stay. */
function doubles(values: Float64Array, from: number, rows: Int32Array): Uint8Array<ArrayBuffer> {
  const source = new Uint32Array(values.buffer, values.byteOffset, values.length * 2);
  const out = new Uint32Array(rows.length * 2);
  for (let i = 0; i < rows.length; i++) {
    const at = 2 * ((rows[i] ?? 0) + from);
    out[2 * i] = source[at] ?? 0;
    out[2 * i + 1] = source[at + 1] ?? 0;
  }
  return new Uint8Array(out.buffer);
}

function integers(values: Float64Array, from: number, rows: Int32Array): Uint8Array<ArrayBuffer> {
  const out = new Uint32Array(rows.length * 2);
  for (let i = 0; i < rows.length; i++) {
    const value = Math.trunc(values[(rows[i] ?? 0) + from] ?? 0);
    out[2 * i] = value;
    out[2 * i + 1] = Math.floor(value / 2 ** 32);
  }
  return new Uint8Array(out.buffer);
}

/** Bits of a position in a dictionary of this length. */
function indexWidth(length: number): number {
  return Math.max(1, 32 - Math.clz32(Math.max(0, length - 1)));
}

/**
 * Parquet's hybrid of runs and packed bits: runs where at least 8 equal numbers follow one another, groups of 8 in between.
 */
function hybrid(values: Int32Array, width: number): Uint8Array<ArrayBuffer> {
  const out: number[] = [];
  const varint = (value: number): void => {
    let rest = value;
    for (; rest > 0x7f; rest >>>= 7) out.push((rest & 0x7f) | 0x80);
    out.push(rest);
  };
  const runLength = (from: number): number => {
    let to = from + 1;
    while (to < values.length && values[to] === values[from]) to++;
    return to - from;
  };
  const packed = (from: number, to: number): void => {
    const groups = Math.ceil((to - from) / 8);
    varint((groups << 1) | 1);
    let bits = 0;
    let used = 0;
    for (let i = from; i < from + groups * 8; i++) {
      // At most 7 bits wait, and a dictionary has fewer than 2^24 words.
      bits += (i < to ? (values[i] ?? 0) : 0) * 2 ** used;
      used += width;
      for (; used >= 8; used -= 8) {
        out.push(bits % 256);
        bits = Math.floor(bits / 256);
      }
    }
  };
  let start = 0;
  for (let at = 0; at < values.length;) {
    const length = runLength(at);
    // Packed groups are whole: what is missing to a multiple of 8 is taken from the run.
    const missing = (8 - ((at - start) & 7)) & 7;
    if (length - missing < 8) {
      at += length;
      continue;
    }
    at += missing;
    if (at > start) packed(start, at);
    varint((length - missing) << 1);
    for (let byte = 0; byte < Math.ceil(width / 8); byte++)
      out.push(((values[at] ?? 0) >>> (8 * byte)) & 0xff);
    at += length - missing;
    start = at;
  }
  if (start < values.length) packed(start, values.length);
  return Uint8Array.from(out);
}

function withLength(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(bytes.length + 4);
  new DataView(out.buffer).setUint32(0, bytes.length, true);
  out.set(bytes, 4);
  return out;
}

function join(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}
