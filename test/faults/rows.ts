/**
 * What is written while things fail, and how it is compared afterwards, row by row. A row's value follows from its
 * writer and its step, so that whoever looks knows what should be there.
 */
import { openRun } from '../../src/read/run-reader.ts';
import { metricTable } from '../../src/records/metric.ts';
import { createSegment } from '../../src/segment/manifest.ts';
import type { Vector } from '../../src/codecs/arrow/vectors.ts';
import type { NewSegment, Store } from '../../src/store/store.ts';

export const RUN_ID = 'run_faults';
const PROJECT = 'faults';
/** Rows of one batch of the clients in `fault-program.ts`, and their space at the service. */
export const CLIENT_ROWS = 25;
export const OUTBOX_SPACE = 'outbox';
/** Instants of all rows: a clock that jumps does not change what is expected. */
const STARTED_AT_MS = 1_700_000_000_000;

/** How far a writer has come: steps below `acknowledged` are safe, steps below `tried` may be there. */
export type Progress = { acknowledged: number; tried: number };

/** Writers by name. */
export type ProgressByWriter = Map<string, Progress>;

/** The value of one row: all bits of it depend on both. */
export function valueOf(writer: string, step: number): number {
  let state = 2166136261 ^ step;
  for (let i = 0; i < writer.length; i++) state = Math.imul(state ^ writer.charCodeAt(i), 16777619);
  state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d);
  state = Math.imul(state ^ (state >>> 12), 0x297a2d39);
  return step + ((state ^ (state >>> 15)) >>> 0) / 2 ** 32;
}

/** The key under which a writer's rows are. */
export function keyOf(writer: string): string {
  return `faults/${writer}`;
}

/** Steps `batchNumber * rowCount` to the one before the next batch. */
export function segmentOf(
  writer: string,
  batchNumber: number,
  rowCount: number,
  runId: string = RUN_ID,
): NewSegment {
  const steps = Float64Array.from({ length: rowCount }, (_, i) => batchNumber * rowCount + i);
  const same = (text: string) => ({
    kind: 'key' as const,
    dictionary: [text],
    indices: new Int32Array(rowCount),
  });
  return createSegment(
    metricTable,
    { runId, table: 'metrics', writerId: writer, batchNumber },
    {
      rowCount,
      columns: new Map<string, Vector>([
        ['timestamp', { kind: 'number', values: steps.map((step) => STARTED_AT_MS + step) }],
        ['metric_key', same(keyOf(writer))],
        ['namespace', same('faults')],
        ['metric_name', same(writer)],
        [
          'value',
          { kind: 'f64', values: steps.map((step) => valueOf(writer, step)), isNull: null },
        ],
        ['step', { kind: 'number', values: steps }],
      ]),
    },
  );
}

/** Makes the run if it is not there. */
export async function prepareRun(store: Store, runId: string = RUN_ID): Promise<void> {
  if ((await store.findRun(runId)) !== undefined) return;
  try {
    await makeRun(store, runId);
  } catch (error) {
    // Another client was first, or this one and the answer was lost.
    if ((await store.findRun(runId)) === undefined) throw error;
  }
}

/** Makes the run. */
export async function makeRun(store: Store, runId: string): Promise<void> {
  const project = await store.ensureProject({
    id: 'project_faults',
    name: PROJECT,
    createdAtMs: STARTED_AT_MS,
  });
  await store.createRun({
    id: runId,
    projectId: project.id,
    projectName: PROJECT,
    status: 'running',
    startedAtMs: STARTED_AT_MS,
    tags: [],
    document: JSON.stringify({ id: runId, project: PROJECT }),
  });
}

/** What is wrong with the metrics of a run: rows lost, doubled, reordered, changed or never written. Empty when nothing is. */
export async function compareRows(
  store: Store,
  writers: ReadonlyMap<string, Progress>,
  runId: string = RUN_ID,
): Promise<string[]> {
  const { rowCount, keys, keyIndex, values, steps, sequences, damage } = await (
    await openRun(store, runId)
  ).readMetricColumns();
  const wrong: string[] = damage.map((report) => `damaged: ${JSON.stringify(report)}`);
  const writerOf = new Map([...writers.keys()].map((writer) => [keyOf(writer), writer]));
  // Every writer has sent its rows in the order of their steps, each request after the answer to the one before.
  const last = new Map<string, number>();
  const found = new Map([...writers].map(([writer, { tried }]) => [writer, new Uint8Array(tried)]));
  for (let row = 0; row < rowCount; row++) {
    const step = steps[row] ?? Number.NaN;
    const writer = writerOf.get(keys[keyIndex[row] ?? -1] ?? '') ?? '';
    const times = found.get(writer);
    if (times === undefined || !(step < times.length))
      wrong.push(`nobody wrote ${keys[keyIndex[row] ?? -1]} at step ${step}`);
    else if (!Object.is(values[row], valueOf(writer, step)))
      wrong.push(`${writer} at step ${step} is ${values[row]}`);
    else times[step] = (times[step] ?? 0) + 1;
    const before = last.get(writer) ?? -1;
    if (step < before) wrong.push(`${writer} at step ${step} follows step ${before}`);
    last.set(writer, step);
    if (row > 0 && (sequences[row] ?? 0) <= (sequences[row - 1] ?? 0))
      wrong.push(`sequence ${sequences[row]} follows ${sequences[row - 1]}`);
  }
  for (const [writer, { acknowledged }] of writers) {
    const times = found.get(writer) ?? new Uint8Array(0);
    for (let step = 0; step < Math.max(acknowledged, times.length); step++) {
      const count = times[step] ?? 0;
      if (count > 1) wrong.push(`${writer} at step ${step} is there ${count} times`);
      if (count === 0 && step < acknowledged) wrong.push(`${writer} at step ${step} is lost`);
    }
  }
  return wrong.length > 20 ? [...wrong.slice(0, 20), `and ${wrong.length - 20} more`] : wrong;
}
