/** The length of a segment follows from its columns and rows: what is longer makes work that nobody asked for. */
import { tableFromIPC, tableToIPC } from 'apache-arrow';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { metricTable } from '../../../src/records/metric.ts';
import { TABLES } from '../../../src/records/tables.ts';
import { readArrow } from '../../../src/codecs/arrow/arrow-reader.ts';
import {
  batchMessage,
  dictionaryMessage,
  schemaMessage,
} from '../../../src/codecs/arrow/arrow-format.ts';
import { checkSegmentContent, segmentChecks } from '../../../src/segment/check-segment.ts';
import { segmentChecksum } from '../../../src/segment/checksum.ts';
import { concat, encodeBatch, END_OF_STREAM, planColumn } from '../../../src/segment/encode.ts';
import type { Plan } from '../../../src/segment/encode.ts';
import { createSegment } from '../../../src/segment/manifest.ts';
import type { Vector } from '../../../src/codecs/arrow/vectors.ts';
import type { NewSegment } from '../../../src/store/store.ts';
import { anyBatch } from '../../support/batches.ts';
import { longer, packedBombs, streamOf } from '../../support/packed-bomb.ts';
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
  const plan = planColumn(column, {
    name: 'c',
    rowCount: 3,
    dictionaryId: 0,
    metadata: undefined,
  });
  return plan === undefined ? [] : [plan];
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
    expect(() => readArrow(stream, undefined, { messages: 20, names: 1_000 })).toThrow(
      /more than 20 messages/,
    );
  });

  test('with more names in its dictionaries than any writer makes is damage, before one of them is read', () => {
    const stream = streamOf(
      plansOf({ kind: 'key', dictionary: ['a', 'b'], indices: Int32Array.of(0, 1, 0) }),
    );
    expect(readArrow(stream, undefined, { messages: 20, names: 2 })).toHaveLength(1);
    expect(() => readArrow(stream, undefined, { messages: 20, names: 1 })).toThrow(
      /more than 1 names/,
    );
  });
});

test('a packed segment of one row that unpacks to 63 MiB is refused at the door', async () => {
  for (const bomb of packedBombs('run_1', 1)) {
    expect(bomb.bytes.byteLength).toBeLessThan(8192);
    await expect(checkSegmentContent(bomb)).rejects.toThrow(/longer than its rows need/);
  }
  expect.assertions(2);
});

describe('a segment with names', () => {
  const named = (names: number, rows: number): NewSegment => {
    const dictionary = Array.from({ length: names }, (_, i) => `m${i}`);
    const columns: [string, Vector][] = [
      ['timestamp', { kind: 'number', values: new Float64Array(rows).fill(1_700_000_000_000) }],
      [
        'metric_key',
        { kind: 'key', dictionary, indices: Int32Array.from({ length: rows }, (_, i) => i) },
      ],
      ['value', { kind: 'f64', values: new Float64Array(rows), isNull: null }],
      ['step', { kind: 'number', values: new Float64Array(rows) }],
    ];
    const identity = { runId: 'run_1', table: 'metrics', writerId: 'w', batchNumber: 0 };
    return createSegment(metricTable, identity, { rowCount: rows, columns: new Map(columns) });
  };

  test('of which there are more than rows in what Quark writes is refused', async () => {
    await expect(checkSegmentContent(named(600_000, 1))).rejects.toThrow(/more than 524288 names/);
    const largest = named(131_072, 131_072);
    await expect(checkSegmentContent(largest)).resolves.toBeUndefined();
  });

  test('is checked in steps where it is large, with the same result', async () => {
    const stepsOf = async (segment: NewSegment): Promise<number> => {
      let steps = 0;
      for await (const step of segmentChecks(segment)) steps += step === undefined ? 1 : 0;
      return steps;
    };
    expect(await stepsOf(named(100, 100))).toBe(0);
    expect(await stepsOf(named(70_000, 70_000))).toBeGreaterThan(5);
    const wrong = named(70_000, 70_000);
    const manifest = { ...wrong.manifest, stepMax: 5 };
    const lie = {
      ...wrong,
      manifest: { ...manifest, checksum: segmentChecksum(manifest, wrong.bytes) },
    };
    await expect(stepsOf(lie)).rejects.toThrow(/stepMax/);
  });
});
