/** Looks for bytes of blobs beside the database that no row of it knows: they take up room, and nobody can read them. */
import { inGroups } from '../../base/in-groups.ts';
import { looseBlobs, type LooseBlob } from '../../store/sql/sql-blob-sweep.ts';
import type { ListedBlob } from '../../store/sql/sql-blob-store.ts';
import { sqlOne, textCell, type SqlWork } from '../../store/sql/sql-database.ts';
import type { Report } from './finding.ts';
import type { Patient } from './patient.ts';

/** Files that are compared with rows at a time. */
const FILES_AT_ONCE = 200;

/** How long bytes without a row stay, in milliseconds: 7 days. Older builds wrote a row only after the bytes. */
export const LOOSE_GRACE_MS: number = 7 * 24 * 60 * 60 * 1000;

/** Compares the files of blobs in the folder, and the objects of blobs in the bucket, with the rows of the database. */
export async function checkLooseBlobs(
  patient: Patient,
  nowMs: number,
  report: Report,
): Promise<void> {
  const files = patient.blobFiles?.();
  if (files !== undefined) await checkFolder(patient, files, report);
  await checkBucket(patient, nowMs, report);
}

async function checkFolder(
  patient: Patient,
  files: AsyncIterable<ListedBlob>,
  report: Report,
): Promise<void> {
  const loose = await sumOf(patient, files);
  if (loose.count === 0) return;
  report({
    severity: 'note',
    code: 'blobs_loose',
    where: patient.name,
    message: `${loose.count} files of blobs with ${loose.bytes} bytes have no row in the database, such as ${loose.example}.`,
    advice: '"quark gc" or a service removes them, 7 days after they were written.',
  });
}

/** A bucket and a prefix may be those of several databases, and no object says whose it is: removing is for somebody who knows. */
async function checkBucket(
  { bucket, ...patient }: Patient,
  nowMs: number,
  report: Report,
): Promise<void> {
  if (bucket === undefined) return;
  const loose = await sumOf(patient, bucket.blobs(), nowMs - LOOSE_GRACE_MS);
  if (loose.count === 0) return;
  const own = await patient.read(() => databaseName());
  const others: string[] = [];
  for await (const name of bucket.databases()) if (name !== own) others.push(name);
  const isShared = others.length > 0;
  report({
    severity: 'note',
    code: 'objects_loose',
    where: bucket.name,
    message: `${loose.count} objects of blobs with ${loose.bytes} bytes have no row in the database, such as ${loose.example}; ${loose.oldCount} are older than 7 days.`,
    advice: isShared
      ? `They stay: other databases store segments there, too (${others.slice(0, 3).join(', ')}), and may have the rows. Give each database a prefix of its own.`
      : 'Where no other database uses this bucket and prefix, "quark doctor --repair --remove-loose" removes those that are older than 7 days.',
    ...(isShared || loose.oldCount === 0 ? {} : { repair: 'remove_loose_objects' as const }),
  });
}

type Sum = {
  readonly count: number;
  readonly bytes: number;
  readonly oldCount: number;
  readonly example: string;
};

async function sumOf(
  patient: Pick<Patient, 'read'>,
  listed: AsyncIterable<ListedBlob>,
  beforeMs = 0,
): Promise<Sum> {
  const sum = { count: 0, bytes: 0, oldCount: 0, example: '' };
  for await (const { key, modifiedAtMs, sizeBytes } of looseOf(patient, listed)) {
    sum.count += 1;
    sum.bytes += sizeBytes;
    sum.oldCount += modifiedAtMs < beforeMs ? 1 : 0;
    sum.example = key;
  }
  return sum;
}

/** Those of the listed bytes that no row knows. */
export async function* looseOf(
  { read }: Pick<Patient, 'read'>,
  listed: AsyncIterable<ListedBlob>,
): AsyncGenerator<LooseBlob> {
  for await (const some of inGroups(listed, FILES_AT_ONCE))
    yield* await read(() => looseBlobs(some));
}

function* databaseName(): SqlWork<string | undefined> {
  const [row] = yield sqlOne('SELECT text(name) FROM database_names WHERE slot = 1');
  return row === undefined ? undefined : textCell(row, 0);
}
