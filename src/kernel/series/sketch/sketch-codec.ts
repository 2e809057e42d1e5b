/**
 * A quantile sketch as bytes, little-endian:
 *
 *     "QDS1"  uint32 maxBins  float64 relativeAccuracy
 *     float64 zeros, NaN, +Inf, -Inf  float64 min, max  68 × int32 sum
 *     positive side, negative side: uint32 isCollapsed  int32 first bin  uint32 length  uint32 0  float64 counts
 *
 * min and max are Infinity and -Infinity where no value is finite. Sides begin and end with a bin in use, so that equal sketches have
 * equal bytes.
 */
import { invalidInput } from '../../../base/errors.ts';
import { SUM_LIMBS } from '../module/exact-sum.ts';

/** The counts of one sign. */
export type SketchSide = {
  readonly first: number;
  readonly counts: Float64Array;
  readonly isCollapsed: boolean;
};

/** All that a sketch holds. */
export type SketchState = {
  readonly relativeAccuracy: number;
  readonly maxBins: number;
  readonly zeroCount: number;
  readonly nanCount: number;
  readonly positiveInfinityCount: number;
  readonly negativeInfinityCount: number;
  readonly min: number;
  readonly max: number;
  readonly sum: Float64Array;
  readonly positive: SketchSide;
  readonly negative: SketchSide;
};

const MAGIC = 0x31534451; // "QDS1"
const HEAD_BYTES = 64 + SUM_LIMBS * 4;
const SIDE_BYTES = 16;

/** Writes a sketch. */
export function encodeSketch(state: SketchState): Uint8Array<ArrayBuffer> {
  const sides = [state.positive, state.negative];
  const bins = state.positive.counts.length + state.negative.counts.length;
  const bytes = new Uint8Array(HEAD_BYTES + 2 * SIDE_BYTES + bins * 8);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, MAGIC, true);
  view.setUint32(4, state.maxBins, true);
  const numbers = [
    state.relativeAccuracy,
    state.zeroCount,
    state.nanCount,
    state.positiveInfinityCount,
    state.negativeInfinityCount,
    state.min,
    state.max,
  ];
  numbers.forEach((value, i) => view.setFloat64(8 + i * 8, value, true));
  state.sum.forEach((limb, i) => view.setInt32(64 + i * 4, limb | 0, true));
  let at = HEAD_BYTES;
  for (const { first, counts, isCollapsed } of sides) {
    view.setUint32(at, isCollapsed ? 1 : 0, true);
    view.setInt32(at + 4, first, true);
    view.setUint32(at + 8, counts.length, true);
    at += SIDE_BYTES;
    for (const count of counts) {
      view.setFloat64(at, count, true);
      at += 8;
    }
  }
  return bytes;
}

/**
 * Reads a sketch and checks what can be checked of its parts by themselves.
 *
 * @throws {QuarkError} `invalid_input`
 */
export function decodeSketch(bytes: unknown): SketchState {
  if (!(bytes instanceof Uint8Array)) throw invalidInput('bytes', bytes, 'a Uint8Array');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  demand(bytes.length >= HEAD_BYTES + 2 * SIDE_BYTES, `${bytes.length} bytes`);
  demand(view.getUint32(0, true) === MAGIC, 'another first word');
  const maxBins = view.getUint32(4, true);
  const number = (i: number): number => view.getFloat64(8 + i * 8, true);
  const count = (i: number): number => {
    demand(isCount(number(i)), 'a count that is none');
    return number(i);
  };
  const sum = Float64Array.from({ length: SUM_LIMBS }, (_, i) =>
    i === SUM_LIMBS - 1 ? view.getInt32(64 + i * 4, true) : view.getUint32(64 + i * 4, true),
  );
  const positive = readSide(view, HEAD_BYTES, maxBins);
  const negative = readSide(view, positive.end, maxBins);
  demand(negative.end === bytes.length, `${bytes.length} bytes`);
  return {
    relativeAccuracy: number(0),
    maxBins,
    zeroCount: count(1),
    nanCount: count(2),
    positiveInfinityCount: count(3),
    negativeInfinityCount: count(4),
    min: number(5),
    max: number(6),
    sum,
    positive: positive.side,
    negative: negative.side,
  };
}

function readSide(view: DataView, at: number, maxBins: number): { side: SketchSide; end: number } {
  demand(view.byteLength >= at + SIDE_BYTES, `${view.byteLength} bytes`);
  const collapsed = view.getUint32(at, true);
  const first = view.getInt32(at + 4, true);
  const length = view.getUint32(at + 8, true);
  const start = at + SIDE_BYTES;
  const end = start + length * 8;
  // What is not there is refused before room is made for it.
  demand(length <= maxBins && end <= view.byteLength, `${length} bins`);
  demand(collapsed <= 1 && view.getUint32(at + 12, true) === 0, 'a mark that is none');
  demand(length > 0 || (first === 0 && collapsed === 0), 'an empty side that is not');
  const counts = Float64Array.from({ length }, (_, i) => view.getFloat64(start + i * 8, true));
  demand(counts.every(isCount), 'a count that is none');
  demand(length === 0 || (counts[0] !== 0 && counts.at(-1) !== 0), 'an outer bin without values');
  demand(collapsed === 0 || length === maxBins, 'too few bins for some to be put together');
  return { side: { first, counts, isCollapsed: collapsed === 1 }, end };
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0 && !Object.is(value, -0);
}

function demand(isTrue: boolean, found: string): void {
  if (!isTrue) throw invalidInput('bytes', found, 'those of a quantile sketch');
}
