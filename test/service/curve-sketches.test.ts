/** A service has a sketch of a long run before anybody looks at it, and uses what another process has kept. */
import { afterEach, expect, test } from 'vitest';
import { openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import { findSketch, storeSketch } from '../../src/read/curve-sketch.ts';
import { readCurves } from '../../src/read/curves.ts';
import { metricTable } from '../../src/records/metric.ts';
import { createSegment } from '../../src/segment/manifest.ts';
import type { Vector } from '../../src/codecs/arrow/vectors.ts';
import { SketchKeeper } from '../../src/service/maintenance/sketch-keeper.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { NewSegment, SegmentManifest, StoreNotes } from '../../src/store/store.ts';
import { TestClock } from '../support/clock.ts';
import { RUN_ID, runOf } from '../support/segments.ts';
import { intercept } from '../support/store-proxy.ts';
import { RunningServices, storeOf } from './running-service.ts';

const services = new RunningServices();
afterEach(() => services.clear());

const ROWS = 10_000;

function longSegment(batchNumber: number): NewSegment {
  const first = batchNumber * ROWS;
  const numbers = (valueOf: (row: number) => number): Float64Array =>
    Float64Array.from({ length: ROWS }, (_, i) => valueOf(first + i));
  const number = (valueOf: (row: number) => number): Vector => ({
    kind: 'number',
    values: numbers(valueOf),
  });
  const key = (text: string): Vector => ({
    kind: 'key',
    dictionary: [text],
    indices: new Int32Array(ROWS),
  });
  const columns = new Map<string, Vector>([
    ['timestamp', number((row) => 1_700_000_000_000 + row)],
    ['run_id', key(RUN_ID)],
    ['metric_key', key('loss')],
    ['metric_name', key('loss')],
    ['value', { kind: 'f64', values: numbers(Math.sin), isNull: null }],
    ['step', number((row) => row)],
  ]);
  const identity = { runId: RUN_ID, table: 'metrics', writerId: 'writer', batchNumber };
  return createSegment(metricTable, identity, { rowCount: ROWS, columns });
}

function notesOf({ notes }: { readonly notes?: StoreNotes }): StoreNotes {
  if (notes === undefined) throw new Error('A store at hand has notes.');
  return notes;
}

test('a run that ends is sketched, and a service that is started later draws it from there', async () => {
  const storage = services.folder();
  const options = { storage, maintenance: false } as const;
  const first = await services.start(options);
  const writer = await storeOf(first);
  const run = await writer.createRun(runOf());
  for (let batch = 0; batch < 7; batch++) await writer.appendSegments([longSegment(batch)]);
  await writer.updateRun({ ...run, status: 'completed' });
  const local = await openFileStorage(storage);
  const notes = notesOf(local);
  const found = (): ReturnType<typeof findSketch> => findSketch(notes, RUN_ID);
  await expect.poll(found, { timeout: 30_000 }).toMatchObject({ endSequence: 7 * ROWS });
  await writer.close();
  await first.close();

  const query = { runId: RUN_ID, buckets: 100 };
  const expected = await readCurves(local, query);
  const looked = async (): Promise<unknown> => {
    const reader = await storeOf(await services.start(options));
    const curves = await reader.readCurves?.(query);
    await reader.close();
    return curves;
  };
  expect(await looked()).toEqual(expected);
  // It is the sketch that is drawn: another one gives another curve.
  const sketch = await found();
  if (sketch === undefined) throw new Error('It was there a moment ago.');
  const metrics = sketch.rows.metrics.map((one) => ({ ...one, sampleCount: 12_345 }));
  await storeSketch(notes, RUN_ID, { ...sketch, rows: { ...sketch.rows, metrics } });
  expect(await looked()).toMatchObject({ curves: [{ sampleCount: 12_345 }] });
  await local.close();
});

test('a run is sketched when it pauses after many rows or ends, and not before', async () => {
  const clock = new TestClock();
  const keeper = new SketchKeeper(clock);
  const place = createMemoryStore();
  let looks = 0;
  const store = intercept(place, (call, _args, work) => {
    if (call === 'listSegments') looks += 1;
    return work();
  });
  const scope = { store, notes: notesOf(place), feed: { space: 'one', view: 'all' } };
  const segment: SegmentManifest = {
    ...longSegment(0).manifest,
    firstSequence: 0,
    lastSequence: 0,
  };
  const append = (rowCount: number, change: Partial<SegmentManifest> = {}): void =>
    keeper.appended(scope, [{ ...segment, rowCount, ...change }]);
  append(60_000);
  append(60_000, { runId: 'run_2' });
  append(60_000, { table: 'events' });
  clock.advance(60_000);
  append(6_000);
  clock.advance(900);
  append(10);
  clock.advance(999);
  expect(looks).toBe(0);
  clock.advance(1);
  await expect.poll(() => looks).toBe(1);
  // What was looked at counts from the beginning.
  append(60_000);
  clock.advance(60_000);
  keeper.ended(scope, RUN_ID);
  clock.advance(0);
  await expect.poll(() => looks).toBe(2);
  append(100_000);
  keeper.end();
  append(100_000);
  clock.advance(60_000);
  await new Promise((resolve) => setImmediate(resolve));
  expect(looks).toBe(2);
});
