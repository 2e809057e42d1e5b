/** Bytes whose checksum is right and whose content is not: what a broken or hostile writer may leave. */
import { describe, expect, test } from 'vitest';
import { createMemoryStore, EventLogger, MetricsLogger, openRun, startRun } from 'quark-sdk';
import { eventTable } from '../../../src/records/event.ts';
import { metricTable } from '../../../src/records/metric.ts';
import type { TableDefinition } from '../../../src/schema/table.ts';
import { batchOfRows } from '../../../src/segment/batch-ops.ts';
import { segmentChecksum } from '../../../src/segment/checksum.ts';
import { encodeBatch } from '../../../src/segment/encode.ts';
import { createSegment } from '../../../src/segment/manifest.ts';
import { openSegment } from '../../../src/segment/open-segment.ts';
import { packSegment } from '../../../src/codecs/packed/pack.ts';
import type { RowBatch } from '../../../src/codecs/arrow/vectors.ts';
import type { SegmentEncoding, SegmentManifest } from '../../../src/store/store.ts';

const IDENTITY = { runId: 'run_1', table: 'metrics', writerId: 'wrt_1', batchNumber: 0 };

function manifestOf(
  bytes: Uint8Array<ArrayBuffer>,
  rowCount: number,
  encoding: SegmentEncoding,
): SegmentManifest {
  const batch = batchOfRows(metricTable, [{ timestamp: '2026-01-01', metricKey: 'a', value: 1 }]);
  return {
    ...createSegment(metricTable, IDENTITY, batch).manifest,
    encoding,
    rowCount,
    firstSequence: 0,
    lastSequence: rowCount - 1,
    sizeBytes: bytes.byteLength,
    checksum: segmentChecksum(IDENTITY, bytes),
  };
}

/** A packed segment of this header and body. */
function packedOf(header: unknown, body: Uint8Array = new Uint8Array(8)): Uint8Array<ArrayBuffer> {
  const json = new TextEncoder().encode(JSON.stringify(header));
  const bytes = new Uint8Array(8 + json.length + body.length);
  bytes.set(new TextEncoder().encode('QPK1'));
  new DataView(bytes.buffer).setUint32(4, json.length, true);
  bytes.set(json, 8);
  bytes.set(body, 8 + json.length);
  return bytes;
}

describe('a packed header', () => {
  test.each([
    ['null', null],
    ['text', 'x'],
    ['a piece that is null', { length: 8, deflated: 8, pieces: [null] }],
    ['planes that are null', { length: 8, deflated: 0, pieces: [[8, 4, 0, [null, 0, 0, 0]]] }],
    ['planes that are text', { length: 8, deflated: 0, pieces: [[8, 4, 0, ['5', 0, 0, 0]]] }],
    ['an unknown plane', { length: 8, deflated: 0, pieces: [[8, 4, 0, [-3, 0, 0, 0]]] }],
    ['a plane beyond a byte', { length: 8, deflated: 0, pieces: [[8, 4, 0, [256, 0, 0, 0]]] }],
    ['a stream no DEFLATE makes', { length: 1 << 28, deflated: 1 << 28, pieces: [[1 << 28]] }],
  ])('with %s is damage', async (_name, header) => {
    const bytes = packedOf(header);
    const manifest = manifestOf(bytes, 2, 'packed');
    expect(await openSegment(metricTable, manifest, { kind: 'bytes', bytes })).toMatchObject({
      kind: 'damaged',
      report: { identity: IDENTITY },
    });
  });
});

test.each(['arrow', 'packed'] as const)(
  '%s bytes with any byte changed and the checksum made right open or are damage',
  async (encoding) => {
    const rows = Array.from({ length: 64 }, (_, step) => ({
      timestamp: '2026-01-01',
      metricKey: step % 2 === 0 ? 'a' : 'b/c',
      value: step,
      step,
      epoch: null,
      description: step === 3 ? 'three' : null,
      metadata: null,
    }));
    const plain = encodeBatch(metricTable, batchOfRows(metricTable, rows));
    const good = encoding === 'arrow' ? plain : await packSegment(plain);
    let opened = 0;
    for (let at = 0; at < good.length; at++) {
      for (const change of [0xff, 0x80, 0x01]) {
        const bytes = good.slice();
        bytes[at] = (bytes[at] ?? 0) ^ change;
        const manifest = manifestOf(bytes, 64, encoding);
        const result = await openSegment(metricTable, manifest, { kind: 'bytes', bytes });
        if (result.kind === 'opened') opened++;
      }
    }
    expect(opened).toBeGreaterThan(0);
  },
);

test('rows that are no records are reported, and the others read', async () => {
  const store = createMemoryStore();
  const session = await startRun({ project: 'p', storage: store });
  const { runId } = session;
  const metrics = new MetricsLogger(session);
  metrics.log('a', 1, { step: 0 });
  await metrics.close();
  const events = new EventLogger(session);
  events.log('fine');
  await events.close();
  const append = async (table: TableDefinition, batchNumber: number, batch: RowBatch) => {
    const identity = { runId, table: table.table, writerId: 'wrt_bad', batchNumber };
    await store.appendSegments([createSegment(table, identity, batch)]);
  };
  const metric = { timestamp: '2026-01-01', metricKey: 'not a name', value: 2, step: 1 };
  await append(metricTable, 0, batchOfRows(metricTable, [metric]));
  const noJson = batchOfRows(metricTable, [{ ...metric, metadata: {} }]);
  const columns = new Map(noJson.columns).set('metadata', { kind: 'text', values: ['{"a":'] });
  await append(metricTable, 1, { ...noJson, columns });
  const event = { timestamp: '2026-01-01', eventType: 'odd', severity: 'info', payload: {} };
  const noDate = batchOfRows(eventTable, [event]);
  const late = new Map(noDate.columns).set('timestamp', {
    kind: 'number',
    values: Float64Array.of(9e15),
  });
  await append(eventTable, 0, { ...noDate, columns: late });

  const reader = await openRun(store, runId);
  expect((await reader.readMetrics()).map((record) => record.metricKey)).toEqual([
    'a',
    'not a name',
  ]);
  expect((await reader.readEvents()).map((record) => record.eventType)).toEqual([
    'run_started',
    'fine',
  ]);
  expect(reader.damage.map(({ identity }) => [identity.table, identity.batchNumber])).toEqual([
    ['metrics', 1],
    ['events', 0],
  ]);
  await session.close();
});

test('texts come back as they were, with what looks like a byte order mark', async () => {
  const store = createMemoryStore();
  const session = await startRun({ project: 'p', storage: store });
  const metrics = new MetricsLogger(session);
  metrics.log('a', 1, { step: 0, description: '\uFEFFa mark' });
  expect((await metrics.read())[0]?.description).toBe('\uFEFFa mark');
  await session.close();
});
