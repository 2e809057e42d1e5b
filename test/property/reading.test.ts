/** Rows of any segments as columns: however their sequence numbers lie, what is packed, filtered, missing or damaged. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { packSegment } from '../../src/codecs/packed/pack.ts';
import type { RowBatch } from '../../src/codecs/arrow/vectors.ts';
import { readColumns } from '../../src/read/columns.ts';
import { checkPosition, type PositionFilter } from '../../src/read/filters.ts';
import { matchRows, type RowFilter } from '../../src/read/match-rows.ts';
import { batchDiagnosticTable } from '../../src/records/batch-diagnostic.ts';
import { metricTable } from '../../src/records/metric.ts';
import { batchOfRows } from '../../src/segment/batch-ops.ts';
import { encodeBatch, SEQUENCE_COLUMN } from '../../src/segment/encode.ts';
import { describeSegment } from '../../src/segment/manifest.ts';
import { openSegment } from '../../src/segment/open-segment.ts';
import type { SegmentManifest, SegmentRead, SegmentSource } from '../../src/store/store.ts';
import { runs } from '../support/property.ts';

const TABLES = {
  metrics: {
    table: metricTable,
    texts: ['metricKey', 'description'],
    numbers: ['value', 'step', 'epoch', 'timestamp'],
    jsons: ['metadata'],
    lists: [],
  },
  batches: {
    table: batchDiagnosticTable,
    texts: [],
    numbers: ['loss', 'step', 'timestamp', 'sequenceLengths'],
    jsons: ['classCounts'],
    lists: ['sampleIds'],
  },
} as const;

type Case = {
  readonly of: keyof typeof TABLES;
  /** For each row its segment, or none: a gap. */
  readonly segments: readonly number[];
  readonly isShuffled: boolean;
  readonly isDoubled: boolean;
  readonly isPacked: readonly boolean[];
  readonly damaged: readonly number[];
  /** What a manifest says too much or too little of its last sequence number. */
  readonly lie: number;
  readonly filter: PositionFilter;
  readonly key: string | undefined;
};

const cases: fc.Arbitrary<Case> = fc.record({
  of: fc.constantFrom('metrics', 'batches'),
  segments: fc.oneof(
    fc.array(fc.integer({ min: -1, max: 3 }), { maxLength: 60 }),
    fc.array(fc.constantFrom(0, 1, 2), { maxLength: 400 }),
    // Windows of merges, one after the other.
    fc
      .integer({ min: 1, max: 400 })
      .map((count) => Array.from({ length: count }, (_, i) => (i % 3) + 3 * Math.floor(i / 90))),
  ),
  isShuffled: fc.boolean(),
  isDoubled: fc.integer({ min: 0, max: 4 }).map((one) => one === 0),
  isPacked: fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
  damaged: fc.oneof(fc.constant([]), fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 2 })),
  lie: fc.constantFrom(0, 0, 0, -3, 5, -1000),
  filter: fc.constantFrom<PositionFilter>(
    {},
    {},
    { sequenceMin: 40 },
    { stepMin: 7, stepMax: 90 },
    { epoch: 1 },
    { limit: 25 },
  ),
  key: fc.constantFrom(undefined, undefined, 'a', 'group/b', 'none'),
});

test('rows come in the order of their sequence numbers, with the values of their segments', async () => {
  await fc.assert(
    fc.asyncProperty(cases, async (one) => {
      const { jsons, lists, numbers, table, texts } = TABLES[one.of];
      const made = await madeSegments(one);
      const rows: RowFilter = {
        position: checkPosition(one.filter, []),
        ...(one.of === 'metrics' && one.key !== undefined
          ? { conditions: { metricKey: one.key } }
          : {}),
      };
      const read = await readColumns({ store: sourceOf(made), runId: 'run' }, table, {
        rows,
        texts,
        numbers,
        jsons,
        lists,
      });
      const expected = await reference(one, made, rows);
      expect(read.rowCount).toBe(expected.length);
      expect(read.damage.length).toBe(made.filter(({ isDamaged }) => isDamaged).length);
      expect(Array.from(read.sequences)).toEqual(expected.map(({ sequence }) => sequence));
      for (const [row, { batch, at }] of expected.entries()) {
        const cell = (name: string): unknown =>
          valueOf(batch, table.storedNames.get(name) ?? name, at);
        for (const name of texts) {
          const { index, values } = read.texts[name];
          expect(values[index[row] ?? -1] ?? null).toBe(cell(name));
        }
        const found: Readonly<Record<string, Float64Array>> = read.numbers;
        for (const name of numbers) expect(found[name]?.[row]).toBe(cell(name) ?? Number.NaN);
        const words: Readonly<Record<string, readonly (string | null)[]>> = read.jsons;
        for (const name of jsons) expect(words[name]?.[row]).toBe(cell(name));
        const items: Readonly<Record<string, readonly (readonly string[] | null)[]>> = read.lists;
        for (const name of lists) expect(items[name]?.[row]).toEqual(cell(name));
      }
    }),
    runs(300),
  );
});

type Made = {
  readonly manifest: SegmentManifest;
  readonly read: SegmentRead;
  readonly isDamaged: boolean;
};

async function madeSegments(one: Case): Promise<readonly Made[]> {
  const { table } = TABLES[one.of];
  const made: Made[] = [];
  for (let segment = 0; segment <= Math.max(-1, ...one.segments); segment++) {
    const numbers = one.segments.flatMap((of, sequence) => (of === segment ? [sequence] : []));
    const [first] = numbers;
    if (first === undefined) continue;
    if (one.isDoubled) numbers.push(first, numbers.at(-1) ?? first);
    if (one.isShuffled) numbers.reverse();
    const { rowCount, columns } = batchOfRows(table, numbers.map(rowOf));
    const batch = {
      rowCount,
      columns: new Map(columns).set(SEQUENCE_COLUMN, {
        kind: 'number',
        values: Float64Array.from(numbers),
      }),
    };
    const isPacked = one.isPacked[segment % 3] === true;
    const plain = encodeBatch(table, batch);
    const bytes = isPacked ? await packSegment(plain) : plain;
    const identity = { runId: 'run', table: table.table, writerId: 'w', batchNumber: segment };
    const { manifest } = describeSegment({
      table,
      identity,
      batch,
      bytes,
      encoding: isPacked ? 'packed' : 'arrow',
    });
    const isDamaged = one.damaged.includes(segment);
    const stored = isDamaged ? bytes.map((byte, i) => (i === 40 ? byte ^ 4 : byte)) : bytes;
    made.push({
      manifest: {
        ...manifest,
        firstSequence: Math.min(...numbers),
        lastSequence: Math.max(0, Math.max(...numbers) + one.lie),
      },
      read: { kind: 'bytes', bytes: stored },
      isDamaged,
    });
  }
  return made.sort((a, b) => a.manifest.firstSequence - b.manifest.firstSequence);
}

function rowOf(sequence: number): object {
  return {
    timestamp: 1_700_000_000_000 + sequence * 7,
    metricKey: ['a', 'group/b', 'group/c'][sequence % 3],
    value: sequence % 11 === 5 ? Number.NaN : Math.sin(sequence),
    step: sequence % 7 === 3 ? null : sequence >> 1,
    epoch: sequence % 5 === 0 ? null : sequence >> 5,
    description: sequence % 13 === 0 ? `row ${sequence}` : null,
    metadata: sequence % 13 === 1 ? { row: sequence } : null,
    loss: sequence / 3,
    sequenceLengths: sequence % 4 === 0 ? [sequence, sequence + 1] : null,
    classCounts: sequence % 3 === 0 ? { cat: sequence } : null,
    sampleIds: sequence % 6 === 0 ? [`s${sequence}`, 's'] : null,
  };
}

function sourceOf(made: readonly Made[]): SegmentSource {
  return {
    listSegments: async () => made.map(({ manifest }) => manifest),
    readSegments: async (wanted) =>
      wanted.map(
        ({ batchNumber }) =>
          made.find(({ manifest }) => manifest.batchNumber === batchNumber)?.read ?? {
            kind: 'gone',
          },
      ),
  };
}

/** Each segment opened by itself, its rows filtered, and all of them sorted by sequence number. */
async function reference(one: Case, made: readonly Made[], filter: RowFilter) {
  const { table } = TABLES[one.of];
  const rows: { readonly sequence: number; readonly batch: RowBatch; readonly at: number }[] = [];
  for (const { manifest, read } of made) {
    const opened = await openSegment(table, manifest, read);
    if (opened.kind !== 'opened') continue;
    const { batch, sequences } = opened.segment;
    const matching = matchRows(table, opened.segment, filter);
    for (const at of matching ?? sequences.keys())
      rows.push({ sequence: sequences[at] ?? Number.NaN, batch, at });
  }
  const sorted = rows.toSorted((a, b) => a.sequence - b.sequence);
  return sorted.slice(Math.max(0, sorted.length - filter.position.limit));
}

function valueOf({ columns }: RowBatch, stored: string, row: number): unknown {
  const vector = columns.get(stored);
  switch (vector?.kind) {
    case 'number':
      return vector.values[row];
    case 'f64':
      return vector.isNull?.[row] === 1 ? Number.NaN : vector.values[row];
    case 'key':
      return vector.dictionary[vector.indices[row] ?? -1] ?? null;
    case 'f64_list':
      return vector.values[row]?.at(-1) ?? Number.NaN;
    case 'text':
    case 'text_list':
      return vector.values[row] ?? null;
    default:
      return null;
  }
}
