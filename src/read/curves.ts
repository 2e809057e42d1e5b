/** Curves of a run, downsampled while its segments are read: memory depends on their resolution, not on the length of the run. */
import { checkCount, checkNotAborted } from '../base/assert.ts';
import { invalidInput } from '../base/errors.ts';
import { nextTask } from '../base/next-task.ts';
import { metricTable } from '../records/metric.ts';
import type { CurveQuery, RunCurves } from '../store/curves.ts';
import { containsKey } from '../store/segment-rules.ts';
import type { SegmentFilter, SegmentManifest, SegmentSource } from '../store/store.ts';
import { CurveSink, curveLimit, extentOf, MAX_CURVES, type DownsampledRows } from './curve-sink.ts';
import {
  findSketch,
  storeSketch,
  segmentsAfter,
  sketchOf,
  type SketchNotes,
} from './curve-sketch.ts';
import { scanSegments, type ScanOptions } from './scan.ts';

/** Parts of an axis: more than a screen has pixels. */
export const MAX_CURVE_BUCKETS = 4_096;

/** Read at a time: others are served in between. */
const GROUP_BYTES = 2 << 20;
const GROUP_SEGMENTS = 64;
/** Sizes of sketches. */
type SketchSizes = {
  /** Parts of the axis, at most: a sketch serves every query that asks for no more. Of many metrics it has fewer. */
  readonly buckets: number;
  /** Rows that are worth a sketch, or a sketch made anew. */
  readonly rows: number;
  /** A sketch with a larger share of the rows saves little. */
  readonly storedShare: number;
};

const SKETCH_SIZES: SketchSizes = { buckets: 2_048, rows: 65_536, storedShare: 0.25 };
/** Parts of all metrics of a sketch together: as many as fit into a note, some ten characters a sample and four samples a part. */
const SKETCH_BUCKETS_IN_ALL = 65_536;
/** Rows after a sketch, as a share of the rows in it, from which it is made anew: so the cost of all sketches of a run is small per row. */
const LEFT_SHARE = 1 / 16;

/** @throws {QuarkError} `invalid_input` naming the field */
export function checkCurveQuery(query: CurveQuery): void {
  const { buckets, metricKeys, stepMax, stepMin, rowsMin } = query;
  if (!Number.isInteger(buckets) || buckets < 1 || buckets > MAX_CURVE_BUCKETS)
    throw invalidInput('buckets', buckets, `an integer from 1 to ${MAX_CURVE_BUCKETS}`);
  if (metricKeys !== undefined && metricKeys.length > curveLimit(buckets))
    throw invalidInput(
      'metricKeys',
      metricKeys.length,
      `at most ${curveLimit(buckets)} metrics for ${buckets} buckets`,
    );
  for (const [name, value] of Object.entries({ stepMin, stepMax, rowsMin }))
    if (value !== undefined) checkCount(name, value);
  if (stepMin !== undefined && stepMax !== undefined && stepMin > stepMax)
    throw invalidInput('stepMin', stepMin, `at most stepMax (${stepMax})`);
}

/** What readers of curves may be given. */
export type CurveSource = {
  /** All segments of the metrics of the run, where the caller has just listed them. */
  readonly listed?: readonly SegmentManifest[];
  /** Where sketches are stored. Without it every sample is read. */
  readonly notes?: SketchNotes | undefined;
  /** Called with the reason why a sketch could not be stored: curves are read all the same. */
  readonly onFailure?: ((error: unknown) => void) | undefined;
  readonly signal?: AbortSignal;
  /** Tests ask for smaller sketches. */
  readonly sizes?: SketchSizes;
};

/** All segments of the metrics of a run. */
export async function metricSegments(
  store: SegmentSource,
  runId: string,
): Promise<readonly SegmentManifest[]> {
  return store.listSegments({ runId, table: metricTable.table });
}

/** Those of the segments that a query is about. */
export function curveSegments(
  { metricKeys, stepMin, stepMax }: CurveQuery,
  manifests: readonly SegmentManifest[],
): readonly SegmentManifest[] {
  return manifests.filter(
    (one) =>
      containsKey(one.keys, metricKeys) &&
      (stepMin === undefined || (one.stepMax !== null && one.stepMax >= stepMin)) &&
      (stepMax === undefined || (one.stepMin !== null && one.stepMin <= stepMax)),
  );
}

/**
 * Reads curves. See {@link CurveQuery} and {@link Curve}. A sketch of the run is used, and made, where that is allowed and of use.
 *
 * @throws {QuarkError} `invalid_input`, `aborted`
 */
export async function readCurves(
  store: SegmentSource,
  query: CurveQuery,
  source: CurveSource = {},
): Promise<RunCurves> {
  checkCurveQuery(query);
  const listed = source.listed ?? (await metricSegments(store, query.runId));
  const manifests = curveSegments(query, listed);
  const extent = extentOf(manifests);
  if (query.namesOnly === true) return namesOf(manifests);
  if (extent.rowCount < (query.rowsMin ?? 0))
    return { ...extent, curves: [], leftOutCount: 0, damagedCount: 0 };
  const { stepMin, stepMax, metricKeys, runId } = query;
  const isCut = stepMin !== undefined || stepMax !== undefined;
  const { notes, sizes = SKETCH_SIZES } = source;
  if (notes !== undefined && !isCut && extent.rowCount >= sizes.rows) {
    // For one metric among many, an existing sketch is used: making one would read the whole run.
    const isWorthMaking =
      metricKeys === undefined && query.buckets <= bucketsOf(sizes, countKeys(listed));
    const sketched = await refreshSketch(store, runId, {
      ...source,
      listed,
      use: isWorthMaking ? 'make' : 'find',
    });
    const found = sketched && (await readWithSketch(store, query, sketched, source));
    if (found !== undefined) return found;
  }
  const { damage, visitor } = await scanSegments(
    store,
    filterOf(query),
    (segments) => new CurveSink(query, segments),
    { ...pace(source), listed: manifests },
  );
  return { ...visitor.curves(), damagedCount: damage.length };
}

/** The names of the metrics in segments, by their manifests, and no curves. */
export function namesOf(manifests: readonly SegmentManifest[]): RunCurves {
  const found = { ...extentOf(manifests), curves: [], leftOutCount: 0, damagedCount: 0 };
  const names = keysOf(manifests);
  return names === undefined ? found : { ...found, names: [...names].toSorted() };
}

/** A sketch, and the segments that it leaves to be read. */
type Sketched = {
  readonly rows: DownsampledRows;
  /** All segments: those of the sketch, and the rest. */
  readonly manifests: readonly SegmentManifest[];
  readonly rest: readonly SegmentManifest[];
  /** Rows before this sequence number are in the sketch. */
  readonly endSequence: number;
  /** Whether it is there for others. */
  readonly isStored: boolean;
  /** Segments that could not be read when it was made. */
  readonly damagedCount: number;
};

/** The answer from a sketch and what came after it; undefined where it is not fine enough. */
async function readWithSketch(
  store: SegmentSource,
  query: CurveQuery,
  { rows, manifests, rest, damagedCount }: Sketched,
  source: CurveSource,
): Promise<RunCurves | undefined> {
  const first = new CurveSink(query, curveSegments(query, manifests));
  if (!first.fits(rows)) return undefined;
  first.take(rows);
  let count = damagedCount;
  let next: CurveSink | undefined = first;
  const { damage, visitor } = await scanSegments(
    store,
    filterOf(query),
    (segments) => {
      // Another attempt, over other segments: without the sketch.
      if (next === undefined) count = 0;
      const sink = next ?? new CurveSink(query, segments);
      next = undefined;
      return sink;
    },
    { ...pace(source), listed: curveSegments(query, rest) },
  );
  return { ...visitor.curves(), damagedCount: count + damage.length };
}

/**
 * The sketch of a run. Undefined where there is none, or is of no use: there are few rows, or too many metrics.
 *
 * @param source.use `make` makes it where there is none that leaves little to be read, `extend` only adds to one that there is, and
 *   `find` does neither
 * @throws {QuarkError} `aborted`
 */
export async function refreshSketch(
  store: SegmentSource,
  runId: string,
  source: CurveSource & { readonly use: 'make' | 'extend' | 'find' },
): Promise<Sketched | undefined> {
  const { notes, sizes = SKETCH_SIZES, use } = source;
  const listed = source.listed ?? (await metricSegments(store, runId));
  if (notes === undefined || extentOf(listed).rowCount < sizes.rows) return undefined;
  const known = await usableSketch(store, notes, runId, listed);
  if (use === 'find' || (use === 'extend' && known === undefined)) return known;
  const { manifests, rest } = known ?? { manifests: listed, rest: listed };
  const leftCount = extentOf(rest).rowCount;
  const isEnough = leftCount < Math.max(sizes.rows, LEFT_SHARE * extentOf(manifests).rowCount);
  const keyCount = countKeys(manifests);
  if ((known !== undefined && isEnough) || keyCount > MAX_CURVES) return known;
  const query = { buckets: bucketsOf(sizes, keyCount) };
  const extended = new CurveSink(query, manifests);
  const isExtended = known !== undefined && extended.fits(known.rows);
  if (isExtended) extended.take(known.rows);
  let next: CurveSink | undefined = isExtended ? extended : undefined;
  const { damage, visitor } = await scanSegments(
    store,
    filterOf({ runId }),
    (segments) => {
      const sink = next ?? new CurveSink(query, segments);
      next = undefined;
      return sink;
    },
    { ...pace(source), listed: isExtended ? rest : manifests },
  );
  if (visitor.leftOutCount > 0) return undefined;
  const sketch = await sketchOf(visitor.downsampled(), visitor.manifests);
  let isStored = false;
  // Damage may be of the transfer only: a sketch without those rows is not stored.
  if (damage.length === 0 && isWorthKeeping(sketch.rows, sizes.storedShare))
    try {
      isStored = await storeSketch(notes, runId, sketch);
    } catch (error) {
      source.onFailure?.(error);
    }
  const { endSequence, rows } = sketch;
  const damagedCount = damage.length;
  return { rows, manifests: visitor.manifests, rest: [], endSequence, isStored, damagedCount };
}

function bucketsOf({ buckets }: SketchSizes, keyCount: number): number {
  return Math.min(buckets, Math.floor(SKETCH_BUCKETS_IN_ALL / Math.max(1, keyCount)));
}

function isWorthKeeping({ batch, metrics }: DownsampledRows, storedShare: number): boolean {
  return batch.rowCount <= storedShare * metrics.reduce((sum, one) => sum + one.sampleCount, 0);
}

async function usableSketch(
  store: SegmentSource,
  notes: SketchNotes,
  runId: string,
  listed: readonly SegmentManifest[],
): Promise<Sketched | undefined> {
  const sketch = await findSketch(notes, runId);
  if (sketch === undefined) return undefined;
  let manifests = listed;
  let rest = await segmentsAfter(sketch, manifests);
  if (rest === undefined) {
    // Segments may have been merged, and named in the sketch, since they were listed.
    manifests = await metricSegments(store, runId);
    rest = await segmentsAfter(sketch, manifests);
  }
  const { endSequence, rows } = sketch;
  return rest && { rows, manifests, rest, endSequence, isStored: true, damagedCount: 0 };
}

/** How many metrics the segments name; more than any answer takes where one has too many to name them. */
function countKeys(manifests: readonly SegmentManifest[]): number {
  return keysOf(manifests)?.size ?? Number.POSITIVE_INFINITY;
}

/** The metrics that the segments name; undefined where one has too many to name them. */
function keysOf(manifests: readonly SegmentManifest[]): ReadonlySet<string> | undefined {
  const keys = new Set<string>();
  for (const { keys: some } of manifests) {
    if (some === null) return undefined;
    for (const key of some) keys.add(key);
  }
  return keys;
}

function filterOf({
  runId,
  metricKeys,
  stepMin,
  stepMax,
}: Omit<CurveQuery, 'buckets'>): SegmentFilter {
  return {
    runId,
    table: metricTable.table,
    ...(metricKeys === undefined ? {} : { keys: metricKeys }),
    ...(stepMin === undefined ? {} : { stepMin }),
    ...(stepMax === undefined ? {} : { stepMax }),
  };
}

/** Others are served between two segments. */
function pace({ signal }: CurveSource): ScanOptions {
  return {
    fetch: { segments: GROUP_SEGMENTS, bytes: GROUP_BYTES },
    turn: () => {
      checkNotAborted(signal);
      return nextTask();
    },
  };
}
