/**
 * Findings that somebody has acknowledged: what was taken away for good, as by a quarantine, and that no repair brings back. They are
 * notes in the store, and count as notes of the examination as long as they stay as they were.
 */
import { createHash } from 'node:crypto';
import { sql, textCell, type SqlRow, type SqlWork } from '../../store/sql/sql-database.ts';
import type { StoreSpaces } from '../../store/sql/sql-store.ts';
import type { DoctorFinding } from './finding.ts';
import type { Patient } from './patient.ts';

const PREFIX = 'doctor/acknowledged/';
/** What is damaged and can be mended, or costs a reader rows that are there, is never one of them. */
const CODES: ReadonlySet<string> = new Set(['rows_missing', 'artifact_blob_missing']);

/** Notes as acknowledged what can be. */
export async function acknowledge(
  spaces: StoreSpaces,
  findings: readonly DoctorFinding[],
  nowMs: number,
): Promise<void> {
  const done = findings.filter(({ code, severity }) => severity !== 'note' && CODES.has(code));
  const { notes } = spaces.store('');
  for (const finding of done)
    await notes?.write(PREFIX + nameOf(finding), new Date(nowMs).toISOString());
}

/** The findings, where those that were acknowledged are notes that say so. */
export async function withAcknowledged(
  patient: Patient,
  findings: readonly DoctorFinding[],
): Promise<readonly DoctorFinding[]> {
  if (!findings.some(({ code }) => CODES.has(code))) return findings;
  const rows = await patient.read(function* (): SqlWork<readonly SqlRow[]> {
    return yield sql(
      "SELECT text(name), text(body) FROM notes WHERE space = '' AND name >= ? AND name < ?",
      PREFIX,
      `${PREFIX}~`,
    );
  });
  const known = new Map(rows.map((row) => [textCell(row, 0), textCell(row, 1)]));
  return findings.map((finding) => {
    const since = CODES.has(finding.code) ? known.get(PREFIX + nameOf(finding)) : undefined;
    if (since === undefined) return finding;
    const message = `${finding.message} Acknowledged on ${since.slice(0, 10)}.`;
    return { ...finding, severity: 'note', message, advice: 'Nothing is to be done.' };
  });
}

/** The message has the numbers: where more is missing later, that is another finding. */
function nameOf({ code, message, where }: DoctorFinding): string {
  return createHash('sha256')
    .update(JSON.stringify([code, where, message]))
    .digest('hex');
}
