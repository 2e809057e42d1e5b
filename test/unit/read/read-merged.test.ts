/** Merged runs of many rows, which WebAssembly unpacks: what was logged, in order, also where a segment is damaged or a reader is cut in. */
import { expect, test } from 'vitest';
import {
  createMemoryStore,
  MetricsLogger,
  openRun,
  startRun,
  type SegmentManifest,
  type Store,
} from 'quark-sdk';
import { readSeries } from '../../../src/read/metric-series.ts';

const KEYS = ['a', 'b/c', 'd'];
const ROWS = 60_000;

/** The value of a row: some planes random, some not. */
function valueOf(row: number): number {
  return row % 7 === 0 ? row : Math.sin(row) / 3;
}

async function recorded(): Promise<{ store: Store; runId: string }> {
  const store = createMemoryStore();
  const session = await startRun({ project: 'p', storage: store, handleSignals: false });
  const metrics = new MetricsLogger(session, { batchSize: 5_000 });
  for (let row = 0; row < ROWS; row++) {
    const step = Math.floor(row / KEYS.length);
    metrics.log(KEYS[row % KEYS.length] ?? '', valueOf(row), {
      step,
      ...(row % 5 === 0 ? { epoch: step >> 8 } : {}),
    });
    if (row % 5_000 === 4_999) await session.flush();
  }
  await session.endRun();
  return { store, runId: session.runId };
}

const made = recorded();

test('all columns, series, one metric and what came since are what was logged', async () => {
  const { runId, store } = await made;
  const packed = await store.listSegments({ runId, table: 'metrics' });
  expect(packed.every(({ encoding }) => encoding === 'packed')).toBe(true);
  const run = await openRun(store, runId);
  const [columns, { series }, one] = await Promise.all([
    run.readMetricColumns(),
    run.readSeries(),
    run.readSeries({ metricKeys: ['b/c'] }),
  ]);
  expect(columns.rowCount).toBe(ROWS);
  for (let row = 0; row < ROWS; row++) {
    const wanted = [row, row % 3, valueOf(row), Math.floor(row / 3)];
    const { keyIndex, keys, sequences, steps, values } = columns;
    const key = KEYS.indexOf(keys[keyIndex[row] ?? -1] ?? '');
    const found = [sequences[row], key, values[row], steps[row]];
    if (found.some((value, i) => value !== wanted[i])) expect(found).toEqual(wanted);
  }
  expect(series.map(({ key }) => key)).toEqual(KEYS);
  for (const [lane, { epochs, steps, timesMs, values }] of series.entries()) {
    const rows = Array.from({ length: ROWS / 3 }, (_, i) => 3 * i + lane);
    expect(Buffer.compare(bytesOf(values), bytesOf(Float64Array.from(rows, valueOf)))).toBe(0);
    expect([...(steps ?? [])]).toEqual(rows.map((_, i) => i));
    expect([...(epochs ?? [])]).toEqual(
      rows.map((row, i) => (row % 5 === 0 ? i >> 8 : Number.NaN)),
    );
    expect([...timesMs]).toEqual(rows.map((row) => columns.timesMs[row]));
  }
  expect(one.series).toEqual([series[1]]);
  const since = await run.readSeries({ sequenceMin: 59_990 });
  expect(since.rowCount).toBe(10);
  expect(since.series.map(({ values }) => values.length)).toEqual([4, 3, 3]);
});

test('a segment whose bytes were changed is reported, and the others are read', async () => {
  const { runId, store } = await made;
  const listed = await store.listSegments({ runId, table: 'metrics' });
  const bad = listed.find(({ keys }) => keys?.includes('b/c'));
  if (bad === undefined) throw new Error('there is a segment');
  const whole = await readSeries({ store, runId });
  for (const at of [0, 6, 40, bad.sizeBytes >> 1, bad.sizeBytes - 1]) {
    const source = {
      listSegments: (filter: Parameters<Store['listSegments']>[0]) => store.listSegments(filter),
      readSegments: async (segments: Parameters<Store['readSegments']>[0]) => {
        const reads = await store.readSegments(segments);
        return reads.map((read, i) => {
          if (read.kind !== 'bytes' || !isSame(segments[i], bad)) return read;
          const bytes = read.bytes.slice();
          bytes[at] = (bytes[at] ?? 0) ^ 4;
          return { kind: 'bytes' as const, bytes };
        });
      },
    };
    const { damage, rowCount, series } = await readSeries({ store: source, runId });
    expect(damage).toMatchObject([
      { identity: { batchNumber: bad.batchNumber }, reason: 'its checksum does not match' },
    ]);
    expect(rowCount).toBe(ROWS - bad.rowCount);
    const others = whole.series.filter(({ key }) => bad.keys?.includes(key) === false);
    expect(series.filter(({ key }) => bad.keys?.includes(key) === false)).toEqual(others);
  }
});

function isSame(
  segment: Pick<SegmentManifest, 'batchNumber' | 'writerId'> | undefined,
  bad: SegmentManifest,
): boolean {
  return segment?.batchNumber === bad.batchNumber && segment.writerId === bad.writerId;
}

function bytesOf(values: Float64Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}
