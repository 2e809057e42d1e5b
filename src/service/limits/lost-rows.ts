/**
 * Whether an exchange of segments loses rows. A key that writes may merge, and may put a table there as a whole; rows that were there
 * are in what comes instead, cell by cell, or somebody who may remove them has to ask.
 */
import { Breather } from '../../base/breather.ts';
import { SessionStoreError } from '../../base/errors.ts';
import type { RowBatch, Vector } from '../../codecs/arrow/vectors.ts';
import { alertTable } from '../../records/alert.ts';
import { healthScoreTable } from '../../records/health-score.ts';
import { phaseTable } from '../../records/phase.ts';
import { segmentName } from '../../records/shapes/manifest.ts';
import { TABLES } from '../../records/tables.ts';
import type { TableDefinition } from '../../schema/table.ts';
import { concatBatches } from '../../segment/batch-ops.ts';
import { SEQUENCE_COLUMN } from '../../segment/encode.ts';
import { openSegment, type OpenedSegment } from '../../segment/open-segment.ts';
import { batchesOf, coalesceRanges, rangesWithout } from '../../store/batch-ranges.ts';
import type {
  MergedSegment,
  NewSegment,
  SegmentManifest,
  SegmentReference,
  Store,
} from '../../store/store.ts';

/** Tables that are computed from others: an analysis replaces its earlier results. */
const DERIVED: ReadonlySet<string> = new Set(
  [alertTable, healthScoreTable, phaseTable].map(({ table }) => table),
);

/** Which table of which run an exchange is about, and where memory for its rows is reserved. */
export type ExchangedTable = {
  readonly store: Store;
  readonly runId: string;
  readonly table: string;
  readonly takeRoom?: ((bytes: number) => void) | undefined;
};

/**
 * Checks that a merge has every row of the segments that it removes, with its sequence number, and stands for their batches.
 *
 * @throws {SessionStoreError} `rejected` (403) where it has not, and where a segment cannot be read
 */
export async function checkMergeLosesNothing(
  exchange: ExchangedTable,
  remove: readonly SegmentReference[],
  add: readonly MergedSegment[],
): Promise<void> {
  const names = new Set(remove.map(segmentName));
  const before = (await listAll(exchange)).filter((one) => names.has(segmentName(one)));
  // The store refuses the exchange: somebody else has merged.
  if (before.length < names.size) return;
  for (const isApart of [false, true]) {
    const there = before.filter(({ superseded = false }) => superseded === isApart);
    const instead = add.filter(({ manifest }) => (manifest.superseded ?? false) === isApart);
    const gone = rangesWithout(
      batchesIn(there),
      batchesIn(instead.map(({ manifest }) => manifest)),
    );
    const dropped = droppedIn(there) - droppedIn(instead.map(({ manifest }) => manifest));
    if (gone.length > 0 || dropped !== 0 || !(await hasSameRows(exchange, there, instead)))
      throw losesRows(exchange);
  }
}

/**
 * Checks that the rows of a table are among those that replace it, unless they were computed from others.
 *
 * @throws {SessionStoreError} `rejected` (403) where they are not, and where a segment cannot be read
 */
export async function checkTableLosesNothing(
  exchange: ExchangedTable,
  add: readonly NewSegment[],
): Promise<void> {
  if (DERIVED.has(exchange.table)) return;
  const there = await listAll(exchange);
  const sums = new Map(add.map(({ manifest }) => [segmentName(manifest), manifest.checksum]));
  // The same bytes under the same name need not be opened.
  const other = there.filter((one) => sums.get(segmentName(one)) !== one.checksum);
  if (other.length === 0) return;
  const same = new Set(there.filter((one) => !other.includes(one)).map(segmentName));
  const counts = new Map<string, number>();
  const added = await openAdded(
    exchange,
    add.filter(({ manifest }) => !same.has(segmentName(manifest))),
  );
  await eachRow(added, (text) => counts.set(text, (counts.get(text) ?? 0) + 1));
  await eachRow(await openStored(exchange, other), (text) => {
    const count = counts.get(text) ?? 0;
    if (count === 0) throw losesRows(exchange);
    counts.set(text, count - 1);
  });
}

function listAll({ runId, store, table }: ExchangedTable): Promise<readonly SegmentManifest[]> {
  return store.listSegments({ runId, table, superseded: true, empty: true });
}

function batchesIn(manifests: readonly NewSegment['manifest'][]) {
  return coalesceRanges(manifests.flatMap(batchesOf));
}

function droppedIn(manifests: readonly NewSegment['manifest'][]): number {
  return manifests.reduce((sum, { droppedRows = 0 }) => sum + droppedRows, 0);
}

async function hasSameRows(
  exchange: ExchangedTable,
  there: readonly SegmentManifest[],
  instead: readonly MergedSegment[],
): Promise<boolean> {
  const countOf = (manifests: readonly { readonly rowCount: number }[]): number =>
    manifests.reduce((sum, { rowCount }) => sum + rowCount, 0);
  if (countOf(there) !== countOf(instead.map(({ manifest }) => manifest))) return false;
  const before = rowsOf(await openStored(exchange, there));
  const after = rowsOf(await openAdded(exchange, instead));
  const breather = new Breather();
  for (let i = 0; i < before.order.length; i++) {
    if ((i & 1023) === 0) await breather.breathe();
    const [old, now] = [before.order[i] ?? 0, after.order[i] ?? 0];
    if (before.sequences[old] !== after.sequences[now] || before.text(old) !== after.text(now))
      return false;
  }
  return true;
}

/** Rows in the order of their sequence numbers. */
function rowsOf(opened: readonly OpenedSegment[]) {
  const sequences = Float64Array.from(opened.flatMap((one) => Array.from(one.sequences)));
  const order = Uint32Array.from(sequences.keys());
  order.sort((a, b) => (sequences[a] ?? 0) - (sequences[b] ?? 0));
  return { sequences, order, text: rowTexts(concatBatches(opened.map(({ batch }) => batch))) };
}

async function eachRow(
  opened: readonly OpenedSegment[],
  visit: (text: string) => void,
): Promise<void> {
  const breather = new Breather();
  for (const { batch } of opened) {
    const textOf = rowTexts(batch);
    for (let row = 0; row < batch.rowCount; row++) {
      if ((row & 1023) === 0) await breather.breathe();
      visit(textOf(row));
    }
  }
}

async function openStored(
  exchange: ExchangedTable,
  manifests: readonly SegmentManifest[],
): Promise<readonly OpenedSegment[]> {
  const opened: OpenedSegment[] = [];
  for (const manifest of manifests) {
    if (manifest.rowCount === 0) continue;
    // As it is stored, and as rows.
    exchange.takeRoom?.(3 * manifest.sizeBytes);
    const [read] = await exchange.store.readSegments([manifest]);
    const result = await openSegment(tableOf(exchange), manifest, read ?? { kind: 'gone' });
    if (result.kind !== 'opened') throw losesRows(exchange);
    opened.push(result.segment);
  }
  return opened;
}

async function openAdded(
  exchange: ExchangedTable,
  segments: readonly (NewSegment | MergedSegment)[],
): Promise<readonly OpenedSegment[]> {
  const opened: OpenedSegment[] = [];
  for (const { bytes, manifest } of segments) {
    if (manifest.rowCount === 0) continue;
    exchange.takeRoom?.(2 * manifest.sizeBytes);
    const placed = { firstSequence: 0, lastSequence: 0, ...manifest };
    const result = await openSegment(tableOf(exchange), placed, { kind: 'bytes', bytes });
    if (result.kind !== 'opened') throw losesRows(exchange);
    opened.push(result.segment);
  }
  return opened;
}

function tableOf(exchange: ExchangedTable): TableDefinition {
  const table = TABLES.get(exchange.table);
  if (table === undefined) throw losesRows(exchange);
  return table;
}

/** All cells of a row that are not null, as one text; the run and the sequence number are left out. */
function rowTexts({ columns }: RowBatch): (row: number) => string {
  const cells = [...columns]
    .filter(([name]) => name !== SEQUENCE_COLUMN && name !== 'run_id')
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, vector]) => [name, cellTexts(vector)] as const);
  return (row) => {
    let text = '';
    for (const [name, textOf] of cells) {
      const cell = textOf(row);
      if (cell !== null) text += `${name}=${cell};`;
    }
    return text;
  };
}

function cellTexts(vector: Vector): (row: number) => string | null {
  switch (vector.kind) {
    case 'number':
      return (row) => (Number.isNaN(vector.values[row]) ? null : numberText(vector.values[row]));
    case 'f64':
      return (row) => (vector.isNull?.[row] === 1 ? null : numberText(vector.values[row]));
    case 'bool':
      return (row) => (vector.values[row] === 2 ? null : String(vector.values[row]));
    case 'key':
      return (row) => quoted(vector.dictionary[vector.indices[row] ?? -1]);
    case 'text':
      return (row) => quoted(vector.values[row]);
    case 'f64_list':
      return (row) => {
        const list = vector.values[row] ?? null;
        return list === null ? null : `[${Array.from(list, numberText).join(',')}]`;
      };
    case 'text_list':
      return (row) => quoted(vector.values[row]);
  }
}

/** As JSON, so that no value reads as the end of another. */
function quoted(value: string | readonly string[] | null | undefined): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value);
}

function numberText(value = 0): string {
  return Object.is(value, -0) ? '-0' : String(value);
}

/** `rejected`: what sends it goes on with everything else. */
function losesRows({ runId, table }: ExchangedTable): SessionStoreError {
  return new SessionStoreError(
    'rejected',
    `Rows of the ${table} of run ${runId} would be lost, which needs a key of scope "admin". Nothing was changed. A merge has every row that was there.`,
    { details: { runId, table, needed: 'admin', httpStatus: 403 } },
  );
}
