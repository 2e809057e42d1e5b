/** Runs in a store, with made-up rows of every table that keep the rules of their declarations. */
import fc from 'fast-check';
import { withKeyParts } from '../../src/read/table-batches.ts';
import { openRun, type RunReader } from '../../src/read/run-reader.ts';
import { runRecord, type RunRecord } from '../../src/records/run.ts';
import { tableBatches } from '../../src/read/table-batches.ts';
import { TABLES } from '../../src/records/tables.ts';
import type { Column } from '../../src/schema/column.ts';
import type { TableDefinition } from '../../src/schema/table.ts';
import { concatBatches } from '../../src/segment/batch-ops.ts';
import { createSegment } from '../../src/segment/manifest.ts';
import type { RowBatch, Vector } from '../../src/codecs/arrow/vectors.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { Store } from '../../src/store/store.ts';
import { valuesOf } from './batches.ts';

const NAN_BITS = [0x7ff8000000000000n, 0x7ff0000000000001n, 0xfff8dead0000beefn];

/** Numbers with the bits that get lost most easily. */
const hardNumbers: fc.Arbitrary<number> = fc.oneof(
  fc.double(),
  fc.constantFrom(Number.NaN, Infinity, -Infinity, -0, 0, 5e-324, 0.5),
);

/** Sets some NaNs to payloads of their own; arithmetic would lose them, so they are put in as bits. */
function withPayloads(values: Float64Array): Float64Array {
  const bits = new BigUint64Array(values.buffer, values.byteOffset, values.length);
  for (let i = 0; i < values.length; i++)
    if (Number.isNaN(values[i])) bits[i] = NAN_BITS[i % NAN_BITS.length] ?? 0n;
  return values;
}

/** The bits of numbers, for comparison. */
function bitsOf(values: Float64Array): bigint[] {
  return [...new BigUint64Array(values.slice().buffer)];
}

const anyText = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.constantFrom('', 'a,b', '"quoted"', 'line\nend', 'naïve ☃ 𝄞'),
);
const anyKey = fc.constantFrom('loss', 'train/loss', 'val/acc', 'a/b/c', 'x.y-z_1');
const anyName = fc.stringMatching(/^[a-z][a-z0-9_.-]{0,7}(?:\/[a-z0-9]{1,4})?$/);

/** Any text; for a column of names, any that its grammar allows. */
function textOf({ checkName }: Column<unknown>): fc.Arbitrary<string> {
  if (checkName === undefined) return anyText;
  return fc.oneof(anyText, anyName, fc.stringMatching(/^[0-9a-f]{64}$/)).filter((text) => {
    try {
      checkName('name', text);
      return true;
    } catch {
      return false;
    }
  });
}

const anyObject = fc
  .dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
  .map((value) => JSON.stringify(value));

/** A valid batch of a table. */
export function validBatch(table: TableDefinition, maxRows = 40): fc.Arbitrary<RowBatch> {
  return fc.integer({ min: 1, max: maxRows }).chain((rowCount) => {
    const entries = table.segmentColumns.flatMap((name) => {
      const column = table.columns[name];
      // Of metrics, the parts of the key follow from it.
      const isPart = table.table === 'metrics' && (name === 'namespace' || name === 'metricName');
      if (column === undefined || isPart) return [];
      const stored = table.storedNames.get(name) ?? name;
      return [validVector(name, column, rowCount).map((vector) => [stored, vector] as const)];
    });
    return fc.tuple(...entries).map((pairs) => {
      const batch: RowBatch = { rowCount, columns: new Map(pairs) };
      return table.table === 'metrics' ? withKeyParts(batch) : batch;
    });
  });
}

function validVector(
  name: string,
  column: Column<unknown>,
  rowCount: number,
): fc.Arbitrary<Vector> {
  const rows = <T>(item: fc.Arbitrary<T>): fc.Arbitrary<(T | null)[]> =>
    fc.array(column.isNullable ? fc.option(item, { nil: null, freq: 3 }) : item, {
      minLength: rowCount,
      maxLength: rowCount,
    });
  const allowed = (value: unknown): boolean => {
    try {
      column.parse(name, value);
      return true;
    } catch {
      return false;
    }
  };
  switch (column.kind) {
    case 'count':
      return rows(fc.oneof(fc.nat(1000), fc.maxSafeNat())).map(numbers);
    case 'instant':
      return rows(fc.integer({ min: -1e12, max: 4e12 })).map(numbers);
    case 'f64':
      return rows(hardNumbers.map((value) => (allowed(value) ? value : 0.25))).map((values) => ({
        kind: 'f64',
        values: withPayloads(Float64Array.from(values, (v) => v ?? 0)),
        isNull: values.includes(null) ? Uint8Array.from(values, (v) => (v === null ? 1 : 0)) : null,
      }));
    case 'key': {
      const words =
        column.literals === undefined
          ? fc.uniqueArray(name === 'metricKey' ? anyKey : textOf(column), {
              minLength: 1,
              maxLength: 9,
            })
          : fc.constant([...column.literals]);
      return words.chain((dictionary) =>
        rows(fc.nat(dictionary.length - 1)).map((values) => ({
          kind: 'key',
          dictionary,
          indices: Int32Array.from(values, (v) => v ?? -1),
        })),
      );
    }
    case 'text':
      return rows(textOf(column)).map((values) => ({ kind: 'text', values }));
    case 'json':
      return rows(anyObject).map((values) => ({ kind: 'text', values }));
    case 'bool':
      return rows(fc.boolean()).map((values) => ({
        kind: 'bool',
        values: Uint8Array.from(values, (v) => (v === null ? 2 : Number(v))),
      }));
    case 'f64_list': {
      const item = hardNumbers.map((value) => (allowed([value]) ? value : 3));
      return rows(fc.array(item, { maxLength: 5 })).map((values) => ({
        kind: 'f64_list',
        values: values.map((v) => (v === null ? null : Float64Array.from(v))),
      }));
    }
    case 'text_list':
      return rows(fc.array(textOf(column), { maxLength: 4 })).map((values) => ({
        kind: 'text_list',
        values,
      }));
  }
}

function numbers(values: readonly (number | null)[]): Vector {
  return { kind: 'number', values: Float64Array.from(values, (v) => v ?? Number.NaN) };
}

/** A run record with something in every field. */
export function runWith(change: Partial<RunRecord> = {}): RunRecord {
  return runRecord.create({
    id: 'run_one',
    projectId: 'prj_one',
    projectName: 'digits',
    status: 'completed',
    parentRunId: null,
    lineageRootRunId: 'run_one',
    resumeCount: 1,
    runPath: 'somewhere/runs/run_one',
    gitCommit: 'abc123',
    strictMode: false,
    tags: ['a', 'b'],
    config: { lr: 0.1, nested: { list: [1, 'two', null] } },
    environment: { node: '20' },
    startedAt: '2026-01-02T03:04:05.678Z',
    endedAt: '2026-01-02T04:04:05.678Z',
    updatedAt: '2026-01-02T04:04:06.000Z',
    schemaVersion: 1,
    ...change,
  });
}

/** Puts a run with these batches into a store. */
export async function recordRun(
  batches: readonly (readonly [table: string, batches: readonly RowBatch[]])[],
  store: Store = createMemoryStore(),
  run: RunRecord = runWith(),
): Promise<RunReader> {
  await store.ensureProject({
    id: run.projectId,
    name: run.projectName,
    createdAtMs: 1_700_000_000_000,
  });
  await store.createRun({
    id: run.id,
    projectId: run.projectId,
    projectName: run.projectName,
    status: run.status,
    startedAtMs: Date.parse(run.startedAt),
    tags: run.tags,
    document: JSON.stringify(run.toDict()),
  });
  for (const [name, list] of batches) {
    const table = TABLES.get(name);
    if (table === undefined) throw new Error(name);
    for (const [batchNumber, batch] of list.entries())
      await store.appendSegments([
        createSegment(
          table,
          { runId: run.id, table: name, writerId: 'writer', batchNumber },
          batch,
        ),
      ]);
  }
  return openRun(store, run.id);
}

/** Every row of a table. */
export async function allRows(reader: RunReader, table: TableDefinition): Promise<RowBatch> {
  const batches: RowBatch[] = [];
  for await (const batch of tableBatches(reader.store, table, reader.run.id)) batches.push(batch);
  return concatBatches(batches);
}

/** Every value of every column; numbers as bits. */
export function contentOf(
  table: TableDefinition,
  { rowCount, columns }: RowBatch,
): Record<string, unknown> {
  const names = table.segmentColumns.map((name) => table.storedNames.get(name) ?? name);
  return Object.fromEntries(
    [...names, 'sequence'].map((name) => {
      const vector = columns.get(name);
      const values = valuesOf(vector, rowCount);
      if (vector?.kind !== 'f64') return [name, values];
      const bits = bitsOf(vector.values);
      return [name, values.map((value, i) => (value === null ? null : bits[i]))];
    }),
  );
}

/** All bytes of an export. */
export async function bytesOf(
  pieces: AsyncIterable<Uint8Array | string>,
): Promise<Uint8Array<ArrayBuffer>> {
  const all: Uint8Array[] = [];
  let size = 0;
  for await (const piece of pieces) {
    const bytes = typeof piece === 'string' ? new TextEncoder().encode(piece) : piece;
    all.push(bytes);
    size += bytes.length;
  }
  const out = new Uint8Array(size);
  let at = 0;
  for (const piece of all) {
    out.set(piece, at);
    at += piece.length;
  }
  return out;
}
