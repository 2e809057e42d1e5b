/**
 * The kernels for drawing in WebAssembly. A series is copied block by block into a stage that stays in the cache, so that a series of any
 * length needs a few hundred KB. Buckets with values that are not finite are left to the plain scan.
 */
import {
  bucketStarts,
  checkBuckets,
  checkLttb,
  type BucketReduction,
  type BucketRequest,
  type DrawKernel,
} from './draw.ts';
import { reduceToTriangles, triangleStarts } from './draw-lttb.ts';
import { ReductionBuilder, scanSpan, type KeptPoints } from './draw-span.ts';
import { type SeriesModule } from '../module/module.ts';

type DrawFunctions = {
  readonly drawExtremes: (
    values: number,
    first: number,
    starts: number,
    buckets: number,
    out: number,
  ) => void;
  readonly drawAscending: (positions: number, count: number) => number;
  readonly drawFinite: (values: number, count: number, origin: number) => number;
  readonly drawLttb: (
    values: number,
    positions: number,
    starts: number,
    buckets: number,
    first: number,
    ax: number,
    ay: number,
    out: number,
  ) => number;
};

/** Values in the stage at a time: 128 KB, which leaves a second-level cache room for where they come from. */
const STAGE_VALUES = 16_384;
/** Buckets at a time. */
const STAGE_BUCKETS = 4096;
const VALUE_BYTES = 8;
const NONE = 0xffff_ffff;

/** The kernels for drawing over an instance of the module. */
export function wasmDraw(module: SeriesModule): DrawKernel {
  const ascending = (positions: Float64Array): number => countAscending(module, positions);
  return {
    m4: (values, options) => reduce(module, checkBuckets(values, options, ascending), 'm4'),
    minMax: (values, options) => reduce(module, checkBuckets(values, options, ascending), 'minMax'),
    lttb: (given, options) =>
      reduceToTriangles(
        checkLttb(given, options, ascending),
        (values, positions, points) => pickTriangles(module, values, positions, points),
        (values, positions, buckets) =>
          reduce(
            module,
            { values, positions, starts: bucketStarts(values.length, positions, { buckets }) },
            'minMax',
          ),
      ),
  };
}

function countAscending(module: SeriesModule, positions: Float64Array): number {
  return module.use<Pick<DrawFunctions, 'drawAscending'>, number>(
    ['drawAscending'],
    ({ drawAscending }, arena) => {
      const { length } = positions;
      const stage = arena.allocate(Math.min(length, STAGE_VALUES) * VALUE_BYTES);
      const room = arena.slots(stage, Math.min(length, STAGE_VALUES));
      // Each block begins with the last position of the one before.
      for (let from = 0; from < length; from += STAGE_VALUES - 1) {
        const count = Math.min(STAGE_VALUES, length - from);
        room.set(positions.subarray(from, from + count));
        const sorted = drawAscending(stage, count);
        if (sorted < count) return from + sorted;
      }
      return length;
    },
  );
}

function reduce(
  module: SeriesModule,
  { values, starts }: BucketRequest,
  kept: KeptPoints,
): BucketReduction {
  const builder = new ReductionBuilder(starts, kept);
  const extremes = findExtremes(module, values, starts);
  for (let b = 0; b + 1 < starts.length; b++) {
    const from = starts[b] ?? 0;
    const to = starts[b + 1] ?? 0;
    if (from === to) continue;
    const low = extremes[2 * b] ?? NONE;
    if (low === NONE) builder.addSpan(scanSpan(values, from, to, kept));
    else builder.add(from, low, extremes[2 * b + 1] ?? 0, to - 1);
  }
  return builder.finish();
}

/** Indices of the lowest and the highest value of each bucket, in turn; {@link NONE} where not all are finite. */
function findExtremes(
  module: SeriesModule,
  values: Float64Array,
  starts: Uint32Array,
): Uint32Array {
  const buckets = starts.length - 1;
  const extremes = new Uint32Array(2 * buckets);
  module.use<Pick<DrawFunctions, 'drawExtremes'>, void>(
    ['drawExtremes'],
    ({ drawExtremes }, arena) => {
      const total = (starts[buckets] ?? 0) - (starts[0] ?? 0);
      const count = Math.min(buckets, STAGE_BUCKETS);
      const room = Math.min(total, STAGE_VALUES);
      const [stage, edges, out] = [
        arena.allocate(room * VALUE_BYTES),
        arena.allocate((count + 1) * 4),
        arena.allocate(count * 8),
      ];
      const slots = arena.slots(stage, room);
      const edgeSlots = new Uint32Array(slots.buffer, edges, count + 1);
      const outSlots = new Uint32Array(slots.buffer, out, count * 2);
      const run = (from: number, to: number, some: number): void => {
        slots.set(values.subarray(from, to));
        drawExtremes(stage, from, edges, some, out);
      };
      for (let b = 0; b < buckets;) {
        const from = starts[b] ?? 0;
        let end = b + 1;
        const most = Math.min(buckets, b + STAGE_BUCKETS);
        while (end < most && (starts[end + 1] ?? 0) - from <= STAGE_VALUES) end += 1;
        const to = starts[end] ?? 0;
        if (to - from <= STAGE_VALUES) {
          edgeSlots.set(starts.subarray(b, end + 1));
          run(from, to, end - b);
          extremes.set(outSlots.subarray(0, 2 * (end - b)), 2 * b);
        } else {
          const best = largeBucket(values, from, to, (start, stop) => {
            edgeSlots[0] = start;
            edgeSlots[1] = stop;
            run(start, stop, 1);
            return [outSlots[0] ?? NONE, outSlots[1] ?? NONE];
          });
          extremes.set(best, 2 * b);
        }
        b = end;
      }
    },
  );
  return extremes;
}

/** A bucket larger than the stage, in blocks. */
function largeBucket(
  values: Float64Array,
  from: number,
  to: number,
  find: (start: number, stop: number) => readonly [number, number],
): readonly [number, number] {
  let [low, high] = [from, from];
  for (let start = from; start < to; start += STAGE_VALUES) {
    const [lower, higher] = find(start, Math.min(to, start + STAGE_VALUES));
    if (lower === NONE) return [NONE, NONE];
    if ((values[lower] ?? 0) < (values[low] ?? 0)) low = lower;
    if ((values[higher] ?? 0) > (values[high] ?? 0)) high = higher;
  }
  return [low, high];
}

function pickTriangles(
  module: SeriesModule,
  values: Float64Array,
  positions: Float64Array | undefined,
  points: number,
): Uint32Array | undefined {
  const first = values[0] ?? Number.NaN;
  if (!Number.isFinite(first)) return undefined;
  return module.use<Pick<DrawFunctions, 'drawFinite' | 'drawLttb'>, Uint32Array | undefined>(
    ['drawFinite', 'drawLttb'],
    ({ drawFinite, drawLttb }, arena) => {
      const starts = triangleStarts(values.length, points);
      const buckets = points - 2;
      // A bucket is picked from with the next one beside it, and none is larger than this.
      const largest = Math.ceil((values.length - 2) / buckets);
      const room = Math.min(values.length, Math.max(STAGE_VALUES, 2 * largest));
      const stage = arena.allocate(room * VALUE_BYTES);
      const xStage = positions === undefined ? 0 : arena.allocate(room * VALUE_BYTES);
      const count = Math.min(buckets, STAGE_BUCKETS);
      const edges = arena.allocate((count + 2) * 4);
      const out = arena.allocate(count * 4);
      const slots = arena.slots(stage, room);
      const xSlots = arena.slots(xStage, positions === undefined ? 0 : room);
      const edgeSlots = new Uint32Array(slots.buffer, edges, count + 2);
      const outSlots = new Uint32Array(slots.buffer, out, count);
      const picked = new Uint32Array(points);
      let kept = 0;
      for (let b = 0; b < buckets;) {
        const from = starts[b] ?? 0;
        let end = b + 1;
        const most = Math.min(buckets, b + STAGE_BUCKETS);
        while (end < most && (starts[end + 2] ?? 0) - from <= room) end += 1;
        const to = starts[end + 1] ?? 0;
        slots.set(values.subarray(from, to));
        if (positions !== undefined) xSlots.set(positions.subarray(from, to));
        for (let i = b; i <= end + 1; i++) edgeSlots[i - b] = (starts[i] ?? 0) - from;
        // Every other bucket is looked at when its sum is taken.
        if (b === 0 && drawFinite(stage, (starts[1] ?? 0) - from, first) === 0) return undefined;
        const keptX = positions?.[kept] ?? kept;
        const done = drawLttb(stage, xStage, edges, end - b, from, keptX, values[kept] ?? 0, out);
        if (done < end - b) return undefined;
        for (let i = b; i < end; i++) picked[i + 1] = from + (outSlots[i - b] ?? 0);
        kept = picked[end] ?? 0;
        b = end;
      }
      picked[points - 1] = values.length - 1;
      return picked;
    },
  );
}
