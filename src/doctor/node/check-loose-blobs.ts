/** Looks for bytes of blobs beside the database that no row of it knows: they take up room, and nobody can read them. */
import { inGroups } from '../../base/in-groups.ts';
import { looseBlobs } from '../../store/sql/sql-blob-sweep.ts';
import type { Report } from './finding.ts';
import type { Patient } from './patient.ts';

/** Files that are compared with rows at a time. */
const FILES_AT_ONCE = 200;

/** Compares the files of blobs with the rows of the database. A bucket is not listed: other databases may use it, too. */
export async function checkLooseBlobs(patient: Patient, report: Report): Promise<void> {
  const files = patient.blobFiles?.();
  if (files === undefined) return;
  let count = 0;
  let bytes = 0;
  let example = '';
  for await (const some of inGroups(files, FILES_AT_ONCE))
    for (const { key, sizeBytes } of await patient.read(() => looseBlobs(some))) {
      count += 1;
      bytes += sizeBytes;
      example = key;
    }
  if (count === 0) return;
  report({
    severity: 'note',
    code: 'blobs_loose',
    where: patient.name,
    message: `${count} files of blobs with ${bytes} bytes have no row in the database, such as ${example}.`,
    advice: '"quark gc" or a service removes them, 7 days after they were written.',
  });
}
