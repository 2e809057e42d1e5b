/** The buffers of one Arrow message in the order of its fields. Bytes beyond the rows are padding, and limited. */
import { damaged, type FlatTable } from './flatbuffer.ts';

/** Largest number of rows in one batch. */
export const MAX_ROWS: number = 1 << 26;
/** Arrow recommends that buffers are padded to 64 bytes; writers pad to 8 or to 64. */
export const ALIGNMENT = 64;

/** The bytes behind a message. */
export type BatchBody = {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
};

/** Where a buffer lies in the bytes: what packing needs to know. */
export type BufferSpan = {
  readonly at: number;
  readonly byteLength: number;
  /** Bytes a value; 0 for buffers of bits or text. */
  readonly width: 0 | 1 | 2 | 4 | 8;
  /** Whether neighbours tend to be close: integers, offsets, indices. */
  readonly isOrdinal: boolean;
};

/**
 * Hands out the field nodes and buffers of a message one after the other. Buffers lie in this order, without overlaps and
 * without gaps that are longer than padding.
 */
export class BatchCursor {
  readonly #nodes: [number, number][];
  readonly #buffers: [number, number][];
  readonly #body: BatchBody;
  readonly #spans: BufferSpan[] | undefined;
  /** Where the last buffer ended. */
  #at: number;

  constructor(batch: FlatTable, body: BatchBody, spans: BufferSpan[] | undefined) {
    if (batch.table(3) !== undefined) throw damaged('compressed buffers are not supported');
    this.#nodes = batch.pairs(1).toReversed();
    this.#buffers = batch.pairs(2).toReversed();
    this.#body = body;
    this.#spans = spans;
    this.#at = body.start;
  }

  node(): { length: number; nullCount: number } {
    const node = this.#nodes.pop();
    if (node === undefined) throw damaged('a record batch lacks a field node');
    if (node[0] > MAX_ROWS) throw damaged(`more than ${MAX_ROWS} rows in one batch`);
    return { length: node[0], nullCount: node[1] };
  }

  buffer(width: BufferSpan['width'], isOrdinal: boolean): Uint8Array {
    const pair = this.#buffers.pop();
    if (pair === undefined) throw damaged('a record batch lacks a buffer');
    const [offset, byteLength] = pair;
    const at = this.#body.start + offset;
    const end = at + byteLength;
    if (end > this.#body.end) throw damaged('a buffer is longer than its message');
    if (byteLength === 0) return this.#body.bytes.subarray(at, at);
    if (at < this.#at) throw damaged('buffers overlap');
    if (at - this.#at >= ALIGNMENT) throw damaged('there is a gap between buffers');
    this.#at = end;
    this.#spans?.push({ at, byteLength, width, isOrdinal });
    return this.#body.bytes.subarray(at, end);
  }

  /** Refuses a buffer with more than padding beyond the bytes that its rows need. */
  fit(buffer: Uint8Array, neededBytes: number): void {
    const padded = Math.max(ALIGNMENT, Math.ceil(neededBytes / ALIGNMENT) * ALIGNMENT);
    if (buffer.byteLength > padded) throw damaged('a buffer is longer than its rows need');
  }

  /** Refuses what is left behind the last field. */
  close(): void {
    if (this.#nodes.length > 0 || this.#buffers.some(([, byteLength]) => byteLength > 0))
      throw damaged('a record batch has more columns than its schema');
    if (this.#body.end - this.#at >= ALIGNMENT) throw damaged('bytes follow the last buffer');
  }
}
