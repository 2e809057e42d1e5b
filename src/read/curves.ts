/** Curves of a run, thinned while its segments are read: memory depends on how fine they are, not on how long the run is. */
import { checkCount, checkNotAborted } from '../base/assert.ts';
import { invalidInput } from '../base/errors.ts';
import { nextTask } from '../base/next-task.ts';
import { metricTable } from '../records/metric.ts';
import { decodeSegment, type OpenedSegment, type ReadySegment } from '../segment/open-segment.ts';
import type { Curve, CurveQuery, RunCurves } from '../store/curves.ts';
import type { SegmentFilter, SegmentManifest, Store } from '../store/store.ts';
import { CurveGrid, type SampleColumns } from './curve-grid.ts';
import { keyColumn } from './metric-columns.ts';
import { scanSegments, type SegmentVisitor } from './scan.ts';

/** Metrics in one answer. */
export const MAX_CURVES = 64;
/** Parts of an axis: more than a screen has pixels. */
export const MAX_CURVE_BUCKETS = 4_096;
/** Parts of all curves of an answer together: some 350 bytes each while they are read. */
export const MAX_BUCKETS_IN_ALL = 131_072;

/** Read at a time: others are served in between. */
const GROUP_BYTES = 2 << 20;
const GROUP_SEGMENTS = 64;

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

/** How many metrics an answer takes. */
function curveLimit(buckets: number): number {
  return Math.min(MAX_CURVES, Math.floor(MAX_BUCKETS_IN_ALL / buckets));
}

/** The segments that a query is about. */
export async function curveSegments(
  store: Store,
  query: CurveQuery,
): Promise<readonly SegmentManifest[]> {
  return store.listSegments(curveFilter(query));
}

function curveFilter({ runId, metricKeys, stepMin, stepMax }: CurveQuery): SegmentFilter {
  return {
    runId,
    table: metricTable.table,
    ...(metricKeys === undefined ? {} : { keys: metricKeys }),
    ...(stepMin === undefined ? {} : { stepMin }),
    ...(stepMax === undefined ? {} : { stepMax }),
  };
}

/**
 * Reads curves. See {@link CurveQuery} and {@link Curve}.
 *
 * @param listed what {@link curveSegments} found a moment ago, where the caller has looked
 * @throws {QuarkError} `invalid_input`, `aborted`
 */
export async function readCurves(
  store: Store,
  query: CurveQuery,
  listed?: readonly SegmentManifest[],
  signal?: AbortSignal,
): Promise<RunCurves> {
  checkCurveQuery(query);
  const manifests = listed ?? (await curveSegments(store, query));
  const looked = lookedAt(manifests);
  if (looked.rowCount < (query.rowsMin ?? 0))
    return { ...looked, curves: [], leftOutCount: 0, damagedCount: 0 };
  const { damage, visitor } = await scanSegments(
    store,
    curveFilter(query),
    (segments) => new CurveSink(query, segments),
    {
      listed: manifests,
      fetch: { segments: GROUP_SEGMENTS, bytes: GROUP_BYTES },
      turn: () => {
        checkNotAborted(signal);
        return nextTask();
      },
    },
  );
  return { ...visitor.curves(), damagedCount: damage.length };
}

function lookedAt(
  manifests: readonly SegmentManifest[],
): Pick<RunCurves, 'rowCount' | 'lastSequence'> {
  return {
    rowCount: manifests.reduce((sum, one) => sum + one.rowCount, 0),
    lastSequence: manifests.reduce((last, one) => Math.max(last, one.lastSequence), -1),
  };
}

type Range = { min: number; max: number };

/** The grids of one metric: samples without a step are placed by their time. */
type Grids = { byStep: CurveGrid | undefined; byTime: CurveGrid | undefined };

class CurveSink implements SegmentVisitor {
  readonly #looked: Pick<RunCurves, 'rowCount' | 'lastSequence'>;
  readonly #wanted: ReadonlySet<string> | undefined;
  readonly #buckets: number;
  readonly #bySteps: Range;
  readonly #byTimes: Range;
  readonly #stepMin: number;
  readonly #stepMax: number;
  readonly #isCut: boolean;
  readonly #grids = new Map<string, Grids>();
  readonly #leftOut = new Set<string>();
  /** One segment after the other is joined in the same memory: new memory for each costs more than what is done in it. */
  #memory = new Uint8Array(0);

  constructor(query: CurveQuery, manifests: readonly SegmentManifest[]) {
    const { buckets, metricKeys, stepMax, stepMin } = query;
    this.#wanted = metricKeys === undefined ? undefined : new Set(metricKeys);
    this.#buckets = buckets;
    this.#stepMin = stepMin ?? Number.NEGATIVE_INFINITY;
    this.#stepMax = stepMax ?? Number.POSITIVE_INFINITY;
    this.#isCut = stepMin !== undefined || stepMax !== undefined;
    const steps = rangeOf(manifests, 'stepMin', 'stepMax');
    this.#bySteps = { min: stepMin ?? steps.min, max: stepMax ?? steps.max };
    this.#byTimes = rangeOf(manifests, 'timeMinMs', 'timeMaxMs');
    this.#looked = lookedAt(manifests);
  }

  visit(ready: ReadySegment): void {
    const toArrow = (): Uint8Array =>
      ready.toArrow((byteLength) => {
        if (this.#memory.byteLength < byteLength) this.#memory = new Uint8Array(byteLength);
        return this.#memory.subarray(0, byteLength);
      });
    this.#add(decodeSegment(metricTable, { ...ready, toArrow }));
  }

  #add({ batch, sequences }: OpenedSegment): void {
    const value = batch.columns.get('value');
    if (value?.kind !== 'f64' && value?.kind !== 'number') return;
    const numbers = (name: string): Float64Array | undefined => {
      const column = batch.columns.get(name);
      return column?.kind === 'number' ? column.values : undefined;
    };
    const columns: SampleColumns = {
      values: value.values,
      steps: numbers('step'),
      epochs: numbers('epoch'),
      timesMs: numbers('timestamp'),
      sequences,
    };
    const { dictionary, indices } = keyColumn(batch);
    const { rowCount } = batch;
    const { steps, timesMs } = columns;
    // Merged segments hold one metric, and most metrics have a step everywhere: nothing is sorted out then.
    if (
      dictionary.length === 1 &&
      !this.#isCut &&
      steps !== undefined &&
      isWhole(steps, rowCount)
    ) {
      this.#grid(dictionary[0] ?? '', 'byStep')?.add(columns, steps, rowCount);
      return;
    }
    const withStep = dictionary.map((): number[] => []);
    const withTime = dictionary.map((): number[] => []);
    for (let row = 0; row < rowCount; row++) {
      const step = steps?.[row] ?? Number.NaN;
      const hasStep = !Number.isNaN(step);
      if (this.#isCut && !(hasStep && step >= this.#stepMin && step <= this.#stepMax)) continue;
      (hasStep ? withStep : withTime)[indices[row] ?? 0]?.push(row);
    }
    for (const [at, key] of dictionary.entries()) {
      const stepRows = withStep[at] ?? [];
      const timeRows = withTime[at] ?? [];
      if (stepRows.length > 0 && steps !== undefined)
        this.#grid(key, 'byStep')?.add(columns, steps, Int32Array.from(stepRows));
      if (timeRows.length > 0)
        this.#grid(key, 'byTime')?.add(columns, timesMs ?? sequences, Int32Array.from(timeRows));
    }
  }

  curves(): Omit<RunCurves, 'damagedCount'> {
    const curves = [...this.#grids].map(([metricKey, { byStep, byTime }]): Curve => {
      const parts = [byTime, byStep].flatMap((grid) => (grid === undefined ? [] : [grid]));
      const samples = parts.map((grid) => grid.samples());
      const joined = (pick: (one: (typeof samples)[number]) => Float64Array<ArrayBuffer>) =>
        samples.length === 1 && samples[0] !== undefined
          ? pick(samples[0])
          : Float64Array.from(samples.flatMap((one) => [...pick(one)]));
      return {
        metricKey,
        sampleCount: parts.reduce((sum, grid) => sum + grid.sampleCount, 0),
        nonFiniteCount: parts.reduce((sum, grid) => sum + grid.nonFiniteCount, 0),
        values: joined((one) => one.values),
        steps: joined((one) => one.steps),
        epochs: joined((one) => one.epochs),
        timestampsMs: joined((one) => one.timesMs),
      };
    });
    return { ...this.#looked, curves, leftOutCount: this.#leftOut.size };
  }

  #grid(key: string, by: keyof Grids): CurveGrid | undefined {
    if (this.#wanted?.has(key) === false) return undefined;
    let grids = this.#grids.get(key);
    if (grids === undefined) {
      if (this.#grids.size >= curveLimit(this.#buckets)) {
        this.#leftOut.add(key);
        return undefined;
      }
      grids = { byStep: undefined, byTime: undefined };
      this.#grids.set(key, grids);
    }
    return (grids[by] ??= new CurveGrid(
      by === 'byStep' ? this.#bySteps : this.#byTimes,
      this.#buckets,
    ));
  }
}

function isWhole(column: Float64Array, length: number): boolean {
  for (let row = 0; row < length; row++) if (Number.isNaN(column[row])) return false;
  return true;
}

function rangeOf(
  manifests: readonly SegmentManifest[],
  low: 'stepMin' | 'timeMinMs',
  high: 'stepMax' | 'timeMaxMs',
): Range {
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (const manifest of manifests) {
    min = Math.min(min, manifest[low] ?? min);
    max = Math.max(max, manifest[high] ?? max);
  }
  return { min, max };
}
