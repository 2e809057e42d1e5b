/** Series read straight from segments, against a plain account of what was recorded. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createMemoryStore, type SegmentManifest, type Store } from 'quark-sdk';
import { placeSeries } from '../../../../src/analysis/columns/metric-series.ts';
import { readMetricColumns } from '../../../../src/read/metric-columns.ts';
import { readSeries } from '../../../../src/read/metric-series.ts';
import { metricTable } from '../../../../src/records/metric.ts';
import { batchOfRows } from '../../../../src/segment/batch-ops.ts';
import { segmentChecksum } from '../../../../src/segment/checksum.ts';
import { encodeBatch, SEQUENCE_COLUMN } from '../../../../src/segment/encode.ts';
import { describeSegment } from '../../../../src/segment/manifest.ts';
import { packSegment } from '../../../../src/codecs/packed/pack.ts';
import { intercept } from '../../../support/store-proxy.ts';
import { runs } from '../../../support/property.ts';

type Row = {
  readonly key: string;
  readonly value: number;
  readonly step: number | null;
  readonly epoch: number | null;
  /** Which segment the row is in. */
  readonly segment: number;
};
type Numbered = Row & { readonly sequence: number };
type Stored = { readonly manifest: SegmentManifest; readonly bytes: Uint8Array<ArrayBuffer> };

const KEYS = ['train/loss', 'val/loss', 'b', 'é'];

const row: fc.Arbitrary<Row> = fc.record({
  key: fc.constantFrom(...KEYS),
  value: fc.double(),
  step: fc.option(fc.integer({ min: 0, max: 40 }), { freq: 5 }),
  epoch: fc.option(fc.integer({ min: 0, max: 3 }), { freq: 1 }),
  segment: fc.integer({ min: 0, max: 5 }),
});

/** Many rows of few segments, evenly spaced or not, so that planes of packed segments are used. */
const regular: fc.Arbitrary<readonly Row[]> = fc
  .record({
    count: fc.integer({ min: 300, max: 900 }),
    keys: fc.integer({ min: 1, max: KEYS.length }),
    cut: fc.integer({ min: 1, max: 500 }),
    restartAt: fc.integer({ min: 0, max: 900 }),
    byKey: fc.boolean(),
  })
  .map(({ byKey, count, cut, keys, restartAt }) =>
    Array.from({ length: count }, (_, i): Row => {
      const step = Math.floor(i / keys);
      return {
        key: KEYS[i % keys] ?? '',
        value: Math.sin(i * i),
        step: i < restartAt ? step : Math.max(0, step - 20),
        epoch: i % 7 === 0 ? Math.floor(i / 100) : null,
        segment: byKey ? i % keys : Math.floor(i / cut),
      };
    }),
  );

const recording = fc.record({
  rows: fc.oneof<fc.Arbitrary<readonly Row[]>[]>(
    fc.array(row, { maxLength: 60, size: 'max' }),
    regular,
  ),
  isPacked: fc.boolean(),
  /** Within a segment, rows may lie by key. */
  isByKey: fc.boolean(),
});

function timeOf(sequence: number): number {
  return 1_700_000_000_000 + 30 * sequence;
}

/** Segments as merging makes them, and as it could make them: rows anywhere, numbers in a column. */
async function storedAs(
  rows: readonly Numbered[],
  isPacked: boolean,
  isByKey: boolean,
): Promise<readonly Stored[]> {
  const groups = new Map<number, Numbered[]>();
  for (const one of rows) groups.set(one.segment, [...(groups.get(one.segment) ?? []), one]);
  const made = [...groups].map(async ([batchNumber, members]) => {
    const sorted = isByKey
      ? members.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
      : members;
    const batch = batchOfRows(
      metricTable,
      sorted.map(({ epoch, key, sequence, step, value }) => ({
        timestamp: timeOf(sequence),
        metricKey: key,
        metricName: key,
        namespace: null,
        value,
        step,
        epoch,
        description: null,
        metadata: null,
      })),
    );
    const sequences = Float64Array.from(sorted, ({ sequence }) => sequence);
    const whole = {
      rowCount: batch.rowCount,
      columns: new Map([
        ...batch.columns,
        [SEQUENCE_COLUMN, { kind: 'number' as const, values: sequences }],
      ]),
    };
    const plain = encodeBatch(metricTable, whole);
    const bytes = isPacked ? await packSegment(plain) : plain;
    const identity = { runId: 'run_a', table: 'metrics', writerId: 'merge', batchNumber };
    const { manifest } = describeSegment({
      table: metricTable,
      identity,
      batch: whole,
      bytes,
      encoding: isPacked ? 'packed' : 'arrow',
    });
    const firstSequence = Math.min(...sequences);
    return {
      manifest: { ...manifest, firstSequence, lastSequence: Math.max(...sequences) },
      bytes,
    };
  });
  const stored = await Promise.all(made);
  return stored.toSorted((a, b) => a.manifest.firstSequence - b.manifest.firstSequence);
}

/** A store that has these segments, of which a filter takes all. */
function storeOf(segments: readonly Stored[]): Store {
  return intercept(createMemoryStore(), async (call, [wanted], work) => {
    if (call === 'listSegments') return segments.map(({ manifest }) => manifest);
    if (call !== 'readSegments') return work();
    return (wanted as readonly SegmentManifest[]).map((manifest) => ({
      kind: 'bytes',
      bytes: segments.find((one) => one.manifest === manifest)?.bytes,
    }));
  });
}

/** What was recorded of a key, without anything that the code under test uses. */
function accountOf(rows: readonly Numbered[], key: string) {
  const own = rows.filter((one) => one.key === key);
  const count = (name: 'step' | 'epoch'): number => own.filter((one) => one[name] !== null).length;
  const axis = count('step') >= count('epoch') ? 'step' : 'epoch';
  const last = new Map<number, Numbered>();
  for (const one of own) {
    const place = one[axis];
    if (place !== null) last.set(place, one);
  }
  const placed = [...last].toSorted(([a], [b]) => a - b).map(([, one]) => one);
  return {
    key,
    x: axis,
    steps: placed.map(({ step }) => step ?? Number.NaN),
    epochs: placed.map(({ epoch }) => epoch ?? Number.NaN),
    timesMs: placed.map(({ sequence }) => timeOf(sequence)),
    values: placed.map(({ value }) => value),
  };
}

test('series are what was recorded, however the rows lie in segments', async () => {
  await fc.assert(
    fc.asyncProperty(recording, fc.nat(120), async ({ isByKey, isPacked, rows }, position) => {
      const numbered = rows.map((one, sequence) => ({ ...one, sequence: 3 * sequence }));
      const store = storeOf(await storedAs(numbered, isPacked, isByKey));
      const read = await readSeries({ store, runId: 'run_a' });
      expect(read.damage).toEqual([]);
      // In the order in which they were recorded, first of all.
      for (const { key, timesMs } of read.series)
        expect([...timesMs]).toEqual(
          numbered.filter((one) => one.key === key).map(({ sequence }) => timeOf(sequence)),
        );
      const series = placeSeries(read.series);
      const keys = [...new Set(rows.map(({ key }) => key))].toSorted();
      expect([...series.keys()]).toEqual(keys);
      for (const key of keys) {
        const found = series.get(key);
        const plain = Object.entries(found ?? {}).map(([name, value]) => [
          name,
          typeof value === 'string' ? value : [...value],
        ]);
        expect(Object.fromEntries(plain)).toEqual(accountOf(numbered, key));
      }
      // From a position on: what came since, and no row twice, however segments were merged meanwhile.
      const since = await readSeries({ store, runId: 'run_a' }, { sequenceMin: position });
      const newer = numbered.filter(({ sequence }) => sequence >= position);
      expect(since.rowCount).toBe(newer.length);
      expect(since.lastSequence).toBe(newer.at(-1)?.sequence ?? position - 1);
      expect(since.series.map(({ key }) => key)).toEqual([...new Set(newer.map(({ key }) => key))]);
      for (const { key, steps, timesMs, values } of since.series) {
        const own = newer.filter((one) => one.key === key);
        expect([...values]).toEqual(own.map(({ value }) => value));
        expect([...timesMs]).toEqual(own.map(({ sequence }) => timeOf(sequence)));
        if (steps !== null) expect([...steps]).toEqual(own.map(({ step }) => step ?? Number.NaN));
        else expect(own.every(({ step }) => step === null)).toBe(true);
      }
      // The other way to the same, which has every row in one table.
      const columns = await readMetricColumns({ store, runId: 'run_a' });
      const mixed = columns.keys.map((key, index) => {
        const own = [...columns.keyIndex.keys()].filter((at) => columns.keyIndex[at] === index);
        const column = (values: Float64Array) => Float64Array.from(own, (at) => values[at] ?? 0);
        const { epochs, steps, timesMs, values } = columns;
        return {
          key,
          values: column(values),
          steps: column(steps),
          epochs: column(epochs),
          timesMs: column(timesMs),
        };
      });
      expect(series).toEqual(placeSeries(mixed));
      const some = await readSeries(
        { store, runId: 'run_a' },
        { metricKeys: ['b', 'é', 'never/logged'] },
      );
      expect(some.series.map(({ key }) => key).toSorted()).toEqual(
        keys.filter((key) => key === 'b' || key === 'é'),
      );
    }),
    runs(30),
  );
});

test('of a damaged segment nothing is taken, and the others are', async () => {
  const numbered = Array.from({ length: 90 }, (_, sequence) => ({
    key: sequence % 2 === 0 ? 'b' : 'é',
    value: sequence,
    step: sequence,
    epoch: null,
    segment: Math.floor(sequence / 30),
    sequence,
  }));
  const segments = await storedAs(numbered, false, false);
  const [first, second, third] = segments;
  if (first === undefined || second === undefined || third === undefined)
    throw new Error('there are three');
  const flipped = second.bytes.slice();
  flipped[flipped.length >> 1] = (flipped[flipped.length >> 1] ?? 0) ^ 1;
  // Bytes that are whole, and not what the manifest says of them.
  const other = { ...third.manifest, rowCount: 31 };
  const lying = { ...other, checksum: segmentChecksum(other, third.bytes) };
  const store = storeOf([first, { ...second, bytes: flipped }, { ...third, manifest: lying }]);
  const read = await readSeries({ store, runId: 'run_a' });
  expect(read.damage.map(({ identity, reason }) => [identity.batchNumber, reason])).toEqual([
    [1, 'its checksum does not match'],
    [2, 'it has 30 rows instead of 31'],
  ]);
  const series = placeSeries(read.series);
  expect([...(series.get('b')?.values ?? [])]).toEqual(Array.from({ length: 15 }, (_, i) => 2 * i));
});
