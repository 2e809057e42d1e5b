/** The length of a segment follows from its columns and rows: what is longer makes work that nobody asked for. */
import { tableFromIPC, tableToIPC } from 'apache-arrow';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { TABLES } from '../../../src/records/tables.ts';
import { metricTable } from '../../../src/records/metric.ts';
import { readArrow } from '../../../src/segment/arrow-reader.ts';
import {
  batchMessage,
  dictionaryMessage,
  schemaMessage,
} from '../../../src/segment/arrow-format.ts';
import { batchOfRows } from '../../../src/segment/batch-ops.ts';
import { checkSegmentContent } from '../../../src/segment/check-segment.ts';
import { segmentChecksum } from '../../../src/segment/checksum.ts';
import {
  concat,
  encodeBatch,
  END_OF_STREAM,
  planColumn,
  pushRows,
} from '../../../src/segment/encode.ts';
import type { Plan } from '../../../src/segment/encode.ts';
import { createSegment } from '../../../src/segment/manifest.ts';
import type { Vector } from '../../../src/segment/vectors.ts';
import { anyBatch } from '../../support/batches.ts';
import { runs } from '../../support/property.ts';

const COLUMNS: readonly Vector[] = [
  { kind: 'number', values: Float64Array.of(1, Number.NaN, 3) },
  { kind: 'f64', values: Float64Array.of(1, 2, 3), isNull: Uint8Array.of(0, 1, 0) },
  { kind: 'key', dictionary: ['a', 'b'], indices: Int32Array.of(0, 1, -1) },
  { kind: 'text', values: ['one', null, 'three'] },
  { kind: 'bool', values: Uint8Array.of(0, 1, 2) },
  { kind: 'f64_list', values: [Float64Array.of(1, 2), null, Float64Array.of(3)] },
  { kind: 'text_list', values: [['x'], null, ['y', 'z']] },
];

function plansOf(column: Vector): Plan[] {
  const plan = planColumn('c', column, 3, 0, undefined);
  return plan === undefined ? [] : [plan];
}

function streamOf(plans: readonly Plan[], rowCount = 3): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = [
    schemaMessage(
      plans.map(({ field }) => field),
      [],
    ),
  ];
  pushRows(parts, plans, rowCount);
  parts.push(END_OF_STREAM);
  return concat(parts);
}

function longer(buffer: Uint8Array, byteLength: number): Uint8Array {
  const bytes = new Uint8Array(byteLength);
  bytes.set(buffer);
  return bytes;
}

describe.each([...TABLES.values()].map((table) => [table.table, table] as const))(
  'segments of %s',
  (_name, table) => {
    test('are read as Quark and as another implementation of Arrow writes them', () => {
      fc.assert(
        fc.property(anyBatch(table), (batch) => {
          const bytes = encodeBatch(table, batch);
          expect(readArrow(bytes)[0]?.rowCount).toBe(batch.rowCount);
          const other = tableFromIPC(bytes);
          for (const rows of [other, other.slice(1)]) {
            const read = readArrow(tableToIPC(rows, 'stream'));
            expect(read.reduce((sum, { rowCount }) => sum + rowCount, 0)).toBe(rows.numRows);
          }
        }),
        runs(20),
      );
    });
  },
);

describe.each(COLUMNS.map((column) => [column.kind, column] as const))(
  'a column of %s',
  (_kind, column) => {
    const plans = plansOf(column);
    const buffers = plans[0]?.buffers ?? [];

    test('may be padded as Arrow pads', () => {
      for (const [i, buffer] of buffers.entries()) {
        if (buffer.byteLength === 0) continue;
        const padded = plans.map((plan) => ({
          ...plan,
          buffers: plan.buffers.with(i, longer(buffer, 64)),
        }));
        expect(readArrow(streamOf(padded))).toHaveLength(1);
      }
    });

    test('may not be longer than its rows need', () => {
      for (const [i, buffer] of buffers.entries()) {
        const padded = plans.map((plan) => ({
          ...plan,
          buffers: plan.buffers.with(i, longer(buffer, 128)),
        }));
        expect(() => readArrow(streamOf(padded)), `buffer ${i}`).toThrow(
          /a buffer is longer than its rows need|list has more or fewer/,
        );
      }
    });
  },
);

describe('a stream', () => {
  const plans = plansOf({ kind: 'f64', values: Float64Array.of(1, 2, 3), isNull: null });
  const schema = schemaMessage(
    plans.map(({ field }) => field),
    [],
  );
  const values = new Uint8Array(Float64Array.of(1, 2, 3).buffer);

  test.each([
    [
      'a gap before a buffer',
      [[3, 0]],
      [
        [0, 0],
        [64, 24],
      ],
      88,
      /gap/,
    ],
    [
      'bytes behind its last buffer',
      [[3, 0]],
      [
        [0, 0],
        [0, 24],
      ],
      88,
      /follow the last buffer/,
    ],
    [
      'more nodes than fields',
      [
        [3, 0],
        [3, 0],
      ],
      [
        [0, 0],
        [0, 24],
      ],
      24,
      /more columns/,
    ],
    [
      'more buffers than fields',
      [[3, 0]],
      [
        [0, 0],
        [0, 24],
        [24, 24],
      ],
      48,
      /more columns/,
    ],
    [
      'buffers that overlap',
      [[3, 1]],
      [
        [0, 8],
        [0, 24],
      ],
      24,
      /overlap/,
    ],
  ] as const)('with %s is damage', (_name, nodes, list, length, reason) => {
    const body = longer(values, length);
    const message = batchMessage(
      3,
      nodes.map(([a, b]) => [a, b]),
      list.map(([a, b]) => [a, b]),
      length,
    );
    expect(() => readArrow(concat([schema, message, body, END_OF_STREAM]))).toThrow(reason);
  });

  test('with bytes behind its end is damage', () => {
    const good = streamOf(plans);
    expect(readArrow(good)).toHaveLength(1);
    expect(() => readArrow(concat([good, new Uint8Array(8)]))).toThrow(/follow the end/);
    expect(() => readArrow(concat([good, good]))).toThrow(/follow the end/);
    expect(() => readArrow(longer(good, good.length + 3))).toThrow(/follow the end/);
  });

  test('with a list that has items of no row is damage', () => {
    const [plan] = plansOf({ kind: 'f64_list', values: [Float64Array.of(1), null, null] });
    if (plan === undefined) throw new Error('there is a plan');
    const items = longer(new Uint8Array(8), 8 * 1_000);
    const hostile = {
      ...plan,
      nodes: [plan.nodes[0] ?? [3, 0], [1_000, 0]],
      buffers: plan.buffers.with(3, items),
    } satisfies Plan;
    expect(() => readArrow(streamOf([hostile]))).toThrow(/more or fewer items/);
  });

  test('with more messages than are looked at is damage', () => {
    const dictionary = dictionaryMessage(
      7,
      0,
      [[0, 0]],
      [
        [0, 0],
        [0, 0],
        [0, 0],
      ],
      0,
    );
    const stream = concat([schema, ...Array.from({ length: 20 }, () => dictionary), END_OF_STREAM]);
    expect(readArrow(stream)).toHaveLength(0);
    expect(() => readArrow(stream, undefined, 20)).toThrow(/more than 20 messages/);
  });
});

/** A packed segment whose one row is followed by 63 MiB of zeros: 541 bytes or so. */
function packedBomb(): { bytes: Uint8Array<ArrayBuffer>; rows: ReturnType<typeof batchOfRows> } {
  const rows = batchOfRows(metricTable, [{ timestamp: '2026-01-01', metricKey: 'a', value: 0 }]);
  const plans: Plan[] = [];
  for (const [name, column] of rows.columns) {
    const plan = planColumn(name, column, 1, plans.length, undefined);
    if (plan !== undefined) plans.push(plan);
  }
  // The zeros are the end of the last column's buffer.
  const last = plans.at(-1);
  if (last === undefined) throw new Error('there are columns');
  const length = 63 << 20;
  const padded = {
    ...last,
    buffers: last.buffers.with(
      last.buffers.length - 1,
      longer(last.buffers.at(-1) ?? new Uint8Array(), length),
    ),
  };
  const stream = streamOf([...plans.slice(0, -1), padded], 1);
  const zeros = length - 4096;
  const literal = stream.subarray(0, stream.length - zeros);
  // The literal bytes as one stored block of DEFLATE; what follows is a constant plane.
  const deflated = new Uint8Array(5 + literal.length);
  deflated.set([
    1,
    literal.length & 255,
    literal.length >>> 8,
    ~literal.length & 255,
    (~literal.length >>> 8) & 255,
  ]);
  deflated.set(literal, 5);
  const header = new TextEncoder().encode(
    JSON.stringify({
      length: stream.length,
      deflated: literal.length,
      pieces: [[literal.length], [zeros, 4, 0, [0, 0, 0, 0]]],
    }),
  );
  const bytes = new Uint8Array(8 + header.length + deflated.length);
  bytes.set(new TextEncoder().encode('QPK1'));
  new DataView(bytes.buffer).setUint32(4, header.length, true);
  bytes.set(header, 8);
  bytes.set(deflated, 8 + header.length);
  return { bytes, rows };
}

test('a packed segment of one row that unpacks to 63 MiB is refused at the door', async () => {
  const { bytes, rows } = packedBomb();
  expect(bytes.byteLength).toBeLessThan(8192);
  const identity = { runId: 'run_1', table: 'metrics', writerId: 'wrt_1', batchNumber: 0 };
  const { manifest } = createSegment(metricTable, identity, rows);
  await expect(
    checkSegmentContent({
      manifest: {
        ...manifest,
        encoding: 'packed',
        sizeBytes: bytes.byteLength,
        checksum: segmentChecksum(identity, bytes),
      },
      bytes,
    }),
  ).rejects.toThrow(/longer than its rows need/);
});
