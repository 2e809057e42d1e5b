/** Opens every blob, and compares what artifacts name with what there is. */
import { createHash } from 'node:crypto';
import { isQuarkError } from '../../base/errors.ts';
import { blobKey, MAX_DATABASE_BLOB_BYTES } from '../../store/sql/sql-blobs.ts';
import {
  bytesCell,
  numberCell,
  sql,
  textCell,
  type SqlRow,
  type SqlWork,
} from '../../store/sql/sql-database.ts';
import { shownName } from './check-runs.ts';
import type { BlobReference } from './check-segments.ts';
import type { Report } from './finding.ts';
import type { Patient } from './patient.ts';

/** Rows of blobs that are read at a time. */
const PAGE = 500;

type BlobRow = {
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly isInline: boolean;
  /** How often it was swept before: part of the name of its bytes outside the database. */
  readonly generation: number;
};

/** What opening all blobs has come to. */
export type BlobCounts = { readonly blobs: number; readonly bytes: number };

/** Opens every blob, and checks those that `references` name. */
export async function checkBlobs(
  patient: Patient,
  references: readonly BlobReference[],
  report: Report,
): Promise<BlobCounts> {
  const namedBy = new Map<string, string[]>();
  for (const { sha256, where } of references) {
    const list = namedBy.get(sha256);
    if (list === undefined) namedBy.set(sha256, [where]);
    else if (!list.includes(where)) list.push(where);
  }
  const spaces = await patient.read(readSpaces);
  const known = new Set<string>();
  let bytes = 0;
  for (let after = '', isMore = true; isMore;) {
    const page = await patient.read(() => listBlobs(after));
    isMore = page.length === PAGE;
    for (const blob of page) {
      after = blob.sha256;
      known.add(blob.sha256);
      bytes += blob.sizeBytes;
      const reason = await damageOf(patient, blob, spaces.get(blob.sha256)?.[0] ?? '');
      if (reason === undefined) continue;
      const names = namedBy.get(blob.sha256) ?? [];
      report({
        severity: 'error',
        code: 'blob_damaged',
        where: `blob ${blob.sha256}`,
        message: `The blob ${reason}.${names.length === 0 ? '' : ` Artifacts of ${names.slice(0, 3).join(', ')} name it.`}`,
        advice: 'Restore its file from a backup, or put the same bytes again: that repairs it.',
      });
    }
  }
  await checkReferences(patient, references, { known, spaces }, report);
  for (const [sha256, [space = '']] of spaces)
    if (!known.has(sha256) && !namedBy.has(sha256))
      report({
        severity: 'warning',
        code: 'blob_row_missing',
        where: shownName(space, `blob ${sha256}`),
        message: 'A space may read a blob that is not there.',
        advice: 'No artifact names it: nothing is to be done.',
      });
  return { blobs: known.size, bytes };
}

type KnownBlobs = {
  readonly known: ReadonlySet<string>;
  readonly spaces: ReadonlyMap<string, readonly string[]>;
};

async function checkReferences(
  patient: Patient,
  references: readonly BlobReference[],
  { known, spaces }: KnownBlobs,
  report: Report,
): Promise<void> {
  const told = new Set<string>();
  for (const { sha256, space, where } of references) {
    const isThere = known.has(sha256) && spaces.get(sha256)?.includes(space) === true;
    if (isThere || told.has(`${space} ${sha256}`)) continue;
    told.add(`${space} ${sha256}`);
    const isAdoptable = known.has(sha256) || (await hasFile(patient, space, sha256));
    report({
      severity: 'error',
      code: 'artifact_blob_missing',
      where,
      message: `An artifact names blob ${sha256}, which ${known.has(sha256) ? 'the space may not read' : 'is not there'}.`,
      advice: isAdoptable
        ? '--repair: its bytes are there, with the right hash, and are taken up again.'
        : 'Restore a backup that has it, or put the same bytes again.',
      ...(isAdoptable ? { repair: 'adopt_blob' as const, target: [space, sha256] } : {}),
    });
  }
}

async function hasFile(patient: Patient, space: string, sha256: string): Promise<boolean> {
  if (patient.location === undefined) return false;
  try {
    const bytes = await patient.blob(space, sha256);
    return bytes !== undefined && hashOf(bytes) === sha256;
  } catch (error) {
    if (isQuarkError(error)) return false;
    throw error;
  }
}

/** What is wrong with the bytes of a blob; undefined when nothing is. */
async function damageOf(
  patient: Patient,
  blob: BlobRow,
  space: string,
): Promise<string | undefined> {
  try {
    const bytes = blob.isInline
      ? await patient.read(() => readInline(blob.sha256))
      : await patient.blob(space, blobKey(blob.sha256, blob.generation));
    // Deleted since its row was read, or lost.
    if (bytes === undefined)
      return (await patient.read(() => isListed(blob.sha256))) ? 'has no bytes' : undefined;
    if (bytes.byteLength !== blob.sizeBytes)
      return `has ${bytes.byteLength} bytes instead of ${blob.sizeBytes}`;
    return hashOf(bytes) === blob.sha256 ? undefined : 'has other bytes than its hash says';
  } catch (error) {
    if (isQuarkError(error)) return `cannot be read: ${error.message}`;
    throw error;
  }
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function* listBlobs(after: string): SqlWork<readonly BlobRow[]> {
  // Expressions, so that the values are those of the table and not those of an index.
  const rows = yield sql(
    `SELECT text(sha256), size_bytes, CASE WHEN bytes IS NULL THEN 0 ELSE 1 END,
       coalesce((SELECT max(generation) FROM blob_puts WHERE blob_puts.sha256 = blobs.sha256), 0) FROM blobs
     WHERE sha256 || '' > ? ORDER BY sha256 || '' LIMIT ${PAGE}`,
    after,
  );
  return rows.map((row) => ({
    sha256: textCell(row, 0),
    sizeBytes: numberCell(row, 1),
    isInline: numberCell(row, 2) === 1 || numberCell(row, 1) <= MAX_DATABASE_BLOB_BYTES,
    generation: numberCell(row, 3),
  }));
}

function* readInline(sha256: string): SqlWork<Uint8Array<ArrayBuffer> | undefined> {
  const [row] = yield sql('SELECT bytes FROM blobs WHERE sha256 = ?', sha256);
  return row === undefined || row[0] === null ? undefined : bytesCell(row, 0);
}

function* isListed(sha256: string): SqlWork<boolean> {
  return (yield sql('SELECT 1 FROM blobs WHERE sha256 = ?', sha256)).length > 0;
}

function* readSpaces(): SqlWork<ReadonlyMap<string, readonly string[]>> {
  const rows: readonly SqlRow[] = yield sql('SELECT text(sha256), text(space) FROM blob_spaces');
  const found = new Map<string, string[]>();
  for (const row of rows) {
    const list = found.get(textCell(row, 0));
    if (list === undefined) found.set(textCell(row, 0), [textCell(row, 1)]);
    else list.push(textCell(row, 1));
  }
  return found;
}
