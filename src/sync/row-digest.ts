/**
 * A checksum of rows that does not depend on how they are cut into segments, nor on their order: each row is hashed from
 * the names and values of its columns, and the hashes are added modulo 2^64 (a multiset hash; Bellare and Micciancio
 * 1997 call the construction AdHash). Nulls and columns that are not there count alike. Two tables with the same count
 * and checksum differ with a probability of about 2^-64, unless somebody made them to: it tells damage and loss, not
 * malice.
 *
 * Sequence numbers are left out: a service that several clients write to gives its own.
 */
import { SEQUENCE_COLUMN } from '../segment/encode.ts';
import type { RowBatch, Vector } from '../codecs/arrow/vectors.ts';

const LEFT_OUT: ReadonlySet<string> = new Set([SEQUENCE_COLUMN, 'run_id']);

/** Adds the hash of a value into a row's two lanes. */
type AddValue = (row: number) => boolean;

/** The count and checksum of rows that were added, in any order. */
export class RowDigest {
  #rows = 0;
  #low = 0;
  #high = 0;
  // Of the value looked at last.
  #a = 0;
  #b = 0;
  readonly #float = new Float64Array(1);
  readonly #bits = new Uint32Array(this.#float.buffer);
  readonly #texts = new Map<string, readonly [number, number]>();

  get rows(): number {
    return this.#rows;
  }

  /** 16 hex digits. */
  get checksum(): string {
    return [this.#high, this.#low].map((lane) => lane.toString(16).padStart(8, '0')).join('');
  }

  add(batch: RowBatch): void {
    const { rowCount } = batch;
    const lanes = new Uint32Array(2 * rowCount);
    for (const [name, vector] of batch.columns) {
      if (LEFT_OUT.has(name)) continue;
      const [nameA, nameB] = this.#hashText(name);
      const read = this.#reader(vector);
      for (let row = 0; row < rowCount; row++) {
        if (!read(row)) continue;
        // Added, so that the order of the columns does not matter either.
        lanes[2 * row] = (lanes[2 * row] ?? 0) + mix(this.#a ^ nameA, nameB);
        lanes[2 * row + 1] = (lanes[2 * row + 1] ?? 0) + mix(this.#b ^ nameB, this.#a ^ nameA);
      }
    }
    for (let row = 0; row < rowCount; row++) {
      const [a, b] = [lanes[2 * row] ?? 0, lanes[2 * row + 1] ?? 0];
      const low = this.#low + mix(a, b);
      this.#low = low >>> 0;
      this.#high = (this.#high + mix(b, ~a) + (low > 0xffffffff ? 1 : 0)) >>> 0;
    }
    this.#rows += rowCount;
  }

  #reader(vector: Vector): AddValue {
    switch (vector.kind) {
      case 'number': {
        const { values } = vector;
        return (row) => {
          const value = values[row] ?? Number.NaN;
          return !Number.isNaN(value) && this.#number(value);
        };
      }
      case 'f64': {
        const { isNull, values } = vector;
        return (row) => isNull?.[row] !== 1 && this.#number(values[row] ?? 0);
      }
      case 'bool': {
        const { values } = vector;
        return (row) => values[row] !== 2 && this.#number(values[row] ?? 0);
      }
      case 'key': {
        const { dictionary, indices } = vector;
        const hashes = dictionary.map((text) => this.#hashText(text));
        return (row) => {
          const hash = hashes[indices[row] ?? -1];
          return hash !== undefined && this.#set(hash[0], hash[1]);
        };
      }
      case 'text': {
        const { values } = vector;
        return (row) => {
          const text = values[row];
          if (typeof text !== 'string') return false;
          const [a, b] = hashText(text);
          return this.#set(a, b);
        };
      }
      case 'f64_list':
      case 'text_list': {
        const { values } = vector;
        return (row) => {
          const list = values[row];
          if (list === null || list === undefined) return false;
          let [a, b] = [list.length, ~list.length];
          for (const item of list) {
            if (typeof item === 'number') this.#number(item);
            else this.#set(...hashText(item));
            a = mix(a, this.#a);
            b = mix(b, this.#b);
          }
          return this.#set(a, b);
        };
      }
    }
  }

  #number(value: number): boolean {
    // All NaN are one; -0 is not 0.
    this.#float[0] = Number.isNaN(value) ? Number.NaN : value;
    const [low = 0, high = 0] = this.#bits;
    return this.#set(mix(low, high), mix(high, ~low));
  }

  #set(a: number, b: number): true {
    this.#a = a;
    this.#b = b;
    return true;
  }

  #hashText(text: string): readonly [number, number] {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const hash = hashText(text);
    if (this.#texts.size < 100_000) this.#texts.set(text, hash);
    return hash;
  }
}

/** Two words into one: the finalizer of MurmurHash3 (Appleby 2011) over their combination. */
function mix(a: number, b: number): number {
  let hash = Math.imul(a ^ 0x9e3779b9, 0x85ebca6b) + Math.imul(b ^ 0x7f4a7c15, 0xc2b2ae35);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** FNV-1a (Fowler, Noll, Vo) over UTF-16 units, in two lanes with different starts. */
function hashText(text: string): readonly [number, number] {
  let a = 0x811c9dc5;
  let b = 0x01000193 ^ text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b ^ unit, 0x85ebca6b) + a;
  }
  return [a >>> 0, mix(b, a)];
}
