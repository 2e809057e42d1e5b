/**
 * What a service looks at before it keeps a segment that came from elsewhere: that its bytes are a table of this schema,
 * and that its manifest says of them what is true. Readers skip segments by their manifests and believe them.
 */
import { segmentName } from '../records/shapes/manifest.ts';
import { MAX_SEGMENT_BYTES } from '../store/limits.ts';
import { isQuarkError, messageOf, SessionStoreError, show } from '../base/errors.ts';
import { metricTable } from '../records/metric.ts';
import { TABLES } from '../records/tables.ts';
import type { Column } from '../schema/column.ts';
import type { TableDefinition } from '../schema/table.ts';
import { CURRENT_SCHEMA_VERSION, schemaVersionOf } from '../schema/version.ts';
import type { NewSegment } from '../store/store.ts';
import { concatBatches } from './batch-ops.ts';
import { checkListedKeys, checkNames } from './check-names.ts';
import { segmentChecksum } from './checksum.ts';
import { decodeBatches } from './decode.ts';
import { SEQUENCE_COLUMN } from './encode.ts';
import { keysOf, MAX_LISTED_KEYS, rangeOf } from './manifest.ts';
import { unpackSegment } from '../codecs/packed/unpack.ts';
import type { RowBatch, Vector } from '../codecs/arrow/vectors.ts';

/** Rows of one segment: eight times what merging makes. */
export const MAX_CHECKED_ROWS: number = 1 << 20;
/**
 * Messages in the stream of a segment: Quark writes one batch with its dictionaries, other writers some more. Names in its
 * dictionaries: Quark writes at most 131,072 rows into a segment, so that four columns in which all names differ have no more.
 */
const READ_LIMITS = { messages: 4_096, names: 1 << 19 };
/** Larger segments are checked in steps, so that others have a turn between them. */
const SMALL = { rows: 1 << 16, bytes: 1 << 20 };
/** Ranges of batches that one merged segment may stand for. */
const MAX_SOURCES = 16_384;
const MAX_INSTANT_MS = 8.64e15;

type Manifest = NewSegment['manifest'] & {
  readonly firstSequence?: number;
  readonly lastSequence?: number;
};

type CheckedSegment = { readonly manifest: Manifest; readonly bytes: Uint8Array<ArrayBuffer> };

/**
 * Checks a segment as a whole. Unpacks at most 64 MiB, and nothing of it stays.
 *
 * @throws {QuarkError} `invalid_input` naming a column, the name in it and its rule, for a name outside of the grammar
 * @throws {SessionStoreError} `rejected` with `field` and `rule`; `too_large`; `version` when it was written by a newer
 *   Quark than this one can read
 */
export async function checkSegmentContent(segment: CheckedSegment): Promise<void> {
  const steps = segmentChecks(segment);
  while ((await steps.next()).done !== true);
}

/** The same in steps: a large segment takes a second, and each of its steps a part of it. */
export async function* segmentChecks(
  segment: CheckedSegment,
): AsyncGenerator<undefined, undefined> {
  const { manifest, bytes } = segment;
  const isSmall = manifest.rowCount <= SMALL.rows && bytes.byteLength <= SMALL.bytes;
  const table = checkManifest(manifest);
  if (segmentChecksum(manifest, bytes) !== manifest.checksum)
    throw misfit(manifest, 'checksum', manifest.checksum, 'the checksum of its bytes');
  let batch: RowBatch;
  try {
    const arrow =
      manifest.encoding === 'packed' ? await unpackSegment(bytes, MAX_SEGMENT_BYTES) : bytes;
    if (!isSmall) yield;
    const batches = decodeBatches(table, arrow, manifest.schemaVersion, READ_LIMITS);
    const rowCount = batches.reduce((sum, { rowCount: rows }) => sum + rows, 0);
    if (rowCount !== manifest.rowCount)
      throw misfit(manifest, 'rowCount', manifest.rowCount, `the rows in its bytes, ${rowCount}`);
    if (!isSmall) yield;
    batch = concatBatches(batches);
    for (const name of table.segmentColumns) {
      if (!isSmall) yield;
      checkColumn(manifest, table, name, batch);
    }
    if (!isSmall) yield;
    checkNames(table, batch);
  } catch (error) {
    const isDamage =
      isQuarkError(error, 'segment_damaged') ||
      error instanceof RangeError ||
      error instanceof SyntaxError;
    if (!isDamage) throw error;
    const reason = isQuarkError(error) ? String(error.details['reason']) : messageOf(error);
    throw misfit(manifest, 'bytes', reason, `readable as ${table.table}`, error);
  }
  if (!isSmall) yield;
  checkSequences(manifest, batch);
  // What an older form says of itself was true of the older form.
  if (manifest.schemaVersion >= schemaVersionOf(table.table)) checkFacts(manifest, table, batch);
  return undefined;
}

function checkManifest(manifest: Manifest): TableDefinition {
  const table = TABLES.get(manifest.table);
  if (table === undefined)
    throw misfit(manifest, 'table', manifest.table, `one of ${[...TABLES.keys()].join(', ')}`);
  if (manifest.schemaVersion > CURRENT_SCHEMA_VERSION)
    throw new SessionStoreError(
      'version',
      `Segment ${segmentName(manifest)} has schema version ${manifest.schemaVersion}; this service knows versions up to ${CURRENT_SCHEMA_VERSION}. Update quark-sdk on the service; the client can keep it until then.`,
      {
        details: {
          field: 'schemaVersion',
          value: manifest.schemaVersion,
          known: CURRENT_SCHEMA_VERSION,
        },
      },
    );
  if (manifest.rowCount > MAX_CHECKED_ROWS)
    throw new SessionStoreError(
      'too_large',
      `Segment ${segmentName(manifest)} says it has ${manifest.rowCount} rows; a segment may have ${MAX_CHECKED_ROWS}.`,
      {
        details: {
          field: 'rowCount',
          value: manifest.rowCount,
          rule: `at most ${MAX_CHECKED_ROWS}`,
        },
      },
    );
  if (manifest.keys !== null && manifest.keys.length > MAX_LISTED_KEYS)
    throw misfit(
      manifest,
      'keys',
      manifest.keys.length,
      `null, or at most ${MAX_LISTED_KEYS} keys`,
    );
  checkListedKeys(table, manifest.keys);
  if (manifest.sources.length > MAX_SOURCES)
    throw misfit(manifest, 'sources', manifest.sources.length, `at most ${MAX_SOURCES} ranges`);
  return table;
}

/** Every cell is what its column is declared to hold. */
function checkColumn(
  manifest: Manifest,
  table: TableDefinition,
  name: string,
  batch: RowBatch,
): void {
  const column = table.columns[name];
  const stored = table.storedNames.get(name) ?? name;
  const vector = batch.columns.get(stored);
  // Readers make the parts of a metric key; segments hold the key alone.
  if (column === undefined || (vector === undefined && isDerived(table, name))) return;
  const wrong = vector === undefined ? missing(column) : wrongCell(column, vector, batch.rowCount);
  if (wrong !== undefined) throw misfit(manifest, stored, ...wrong);
}

function isDerived(table: TableDefinition, name: string): boolean {
  return table === metricTable && (name === 'namespace' || name === 'metricName');
}

type Wrong = readonly [value: unknown, rule: string];

function missing({ isNullable }: Column<unknown>): Wrong | undefined {
  return isNullable ? undefined : [null, 'there in every row'];
}

function wrongCell(
  { kind, isNullable }: Column<unknown>,
  vector: Vector,
  rowCount: number,
): Wrong | undefined {
  const empty = isNullable ? -1 : firstEmpty(vector, rowCount);
  if (empty >= 0) return [null, `there in every row; it is not in row ${empty}`];
  if (vector.kind === 'number') {
    const isInstant = kind === 'instant';
    const { values } = vector;
    for (let row = 0; row < rowCount; row++) {
      const value = values[row] ?? Number.NaN;
      const fits = isInstant
        ? Math.abs(value) <= MAX_INSTANT_MS
        : value >= 0 && Number.isSafeInteger(value);
      if (!fits && !Number.isNaN(value))
        return [value, isInstant ? 'an instant' : 'a non-negative integer'];
    }
  }
  // Throws a SyntaxError for what is no JSON.
  if (vector.kind === 'text' && kind === 'json')
    for (const text of vector.values) if (text !== null) JSON.parse(text);
  return undefined;
}

/** The first row without a value, or -1. A loop for each kind: one over all kinds takes several times as long. */
function firstEmpty(vector: Vector, rowCount: number): number {
  switch (vector.kind) {
    case 'number': {
      const { values } = vector;
      for (let row = 0; row < rowCount; row++) if (Number.isNaN(values[row])) return row;
      return -1;
    }
    case 'f64':
      return vector.isNull?.indexOf(1) ?? -1;
    case 'key': {
      const { indices } = vector;
      for (let row = 0; row < rowCount; row++) if ((indices[row] ?? -1) < 0) return row;
      return -1;
    }
    case 'bool':
      return vector.values.indexOf(2);
    case 'text':
    case 'f64_list':
    case 'text_list':
      for (let row = 0; row < rowCount; row++)
        if ((vector.values[row] ?? null) === null) return row;
      return -1;
  }
}

/** Sequence numbers in the rows are those that the manifest of a merged segment says. */
function checkSequences(manifest: Manifest, batch: RowBatch): void {
  const { firstSequence, lastSequence } = manifest;
  const column = batch.columns.get(SEQUENCE_COLUMN);
  if (column?.kind === 'number') {
    const wrong = column.values.find((value) => !Number.isSafeInteger(value) || value < 0);
    if (wrong !== undefined) throw misfit(manifest, 'sequence', wrong, 'a non-negative integer');
  }
  // The store numbers the rows of a segment as written.
  if (firstSequence === undefined || lastSequence === undefined) return;
  const [first, last] =
    column?.kind === 'number'
      ? rangeOf(column)
      : [firstSequence, firstSequence + batch.rowCount - 1];
  if (first !== firstSequence) throw misfit(manifest, 'firstSequence', firstSequence, `${first}`);
  if (last !== lastSequence) throw misfit(manifest, 'lastSequence', lastSequence, `${last}`);
}

function checkFacts(manifest: Manifest, table: TableDefinition, batch: RowBatch): void {
  for (const [column, min, max] of [
    ['step', 'stepMin', 'stepMax'],
    ['epoch', 'epochMin', 'epochMax'],
    ['timestamp', 'timeMinMs', 'timeMaxMs'],
  ] as const) {
    const [from, to] = rangeOf(batch.columns.get(column));
    if (manifest[min] !== from)
      throw misfit(manifest, min, manifest[min], `${from}, as in its rows`);
    if (manifest[max] !== to) throw misfit(manifest, max, manifest[max], `${to}, as in its rows`);
  }
  if (manifest.keys === null) return;
  const found = new Set(keysOf(table, batch) ?? []);
  const isSame =
    manifest.keys.length === found.size && manifest.keys.every((key) => found.has(key));
  if (!isSame) throw misfit(manifest, 'keys', manifest.keys, 'the keys of its rows, each once');
}

function misfit(
  manifest: Manifest,
  field: string,
  value: unknown,
  rule: string,
  cause?: unknown,
): SessionStoreError {
  const segment = segmentName(manifest);
  return new SessionStoreError(
    'rejected',
    `Segment ${segment}: ${field} must be ${rule}; got ${show(value)}.`,
    { details: { segment, field, value: show(value), rule }, cause },
  );
}
