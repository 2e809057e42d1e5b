/** Documents of projects, which are notes beside the tables: headers name their bodies, and both go with their project. */
import { messageOf } from '../../base/errors.ts';
import { timeOfId } from '../../base/ids.ts';
import { checkStoredDocument, documentBytes } from '../../records/shapes/document.ts';
import { DOCUMENT_NOTES } from '../../store/documents.ts';
import {
  documentNotes,
  parseHeader,
  readDocumentNote,
  type DocumentNote,
} from '../../store/document-notes.ts';
import {
  AFTER_ASCII,
  numberCell,
  sql,
  sqlOne,
  textCell,
  type SqlRow,
  type SqlWork,
} from '../../store/sql/sql-database.ts';
import { countBytes } from '../../store/sql/sql-usage.ts';
import { shownName } from './check-runs.ts';
import type { Report } from './finding.ts';
import type { Patient } from './patient.ts';

/** A writer puts the body first, and names it a moment later. */
const GRACE_MS = 3_600_000;

type Found = { readonly space: string; readonly name: string; readonly note: DocumentNote };

/** Reads each document, and finds bodies that no header names and documents of no project. */
export async function checkDocuments(
  patient: Patient,
  nowMs: number,
  report: Report,
): Promise<void> {
  const rows = await patient.read(function* (): SqlWork<readonly SqlRow[]> {
    return yield sql(
      'SELECT text(space), text(name) FROM notes WHERE name >= ? AND name < ? ORDER BY space, name',
      DOCUMENT_NOTES,
      DOCUMENT_NOTES + AFTER_ASCII,
    );
  });
  for (const row of rows) {
    const [space, name] = [textCell(row, 0), textCell(row, 1)];
    const note = readDocumentNote(name);
    if (note === undefined) continue;
    const found = { space, name, note };
    if (await patient.read(() => isLeftover(found, nowMs))) reportLeftover(found, report);
    else if (note.part === 'header') await checkHeader(patient, found, report);
  }
}

async function checkHeader(patient: Patient, found: Found, report: Report): Promise<void> {
  let reason = await whatIsWrong(patient, found);
  // It may have been changed between the two reads.
  if (reason !== undefined) reason = await whatIsWrong(patient, found);
  if (reason === undefined) return;
  const { id, kind, owner } = found.note;
  const whose = owner === undefined ? '' : `, private of ${owner}`;
  report({
    severity: 'error',
    code: 'document_damaged',
    where: `${shownName(found.space, `${kind} ${id}`)}${whose}`,
    message: `The document cannot be read: ${reason}`,
    advice:
      'Restore a backup beside the store ("quark restore") and save the document again, or delete it.',
  });
}

/** Undefined: nothing, or the document is gone. */
async function whatIsWrong(patient: Patient, { name, space }: Found): Promise<string | undefined> {
  const header = await patient.read(() => readNote(space, name));
  if (header === undefined) return undefined;
  try {
    const { bodyName, document } = parseHeader(header);
    const body = await patient.read(() => readNote(space, bodyName));
    if (body === undefined) return 'its body is missing.';
    checkStoredDocument({ ...document, body });
    const bytes = documentBytes(body);
    if (bytes === document.sizeBytes) return undefined;
    return `its body has ${bytes} bytes, and was written with ${document.sizeBytes}.`;
  } catch (error) {
    return messageOf(error);
  }
}

function reportLeftover({ name, note, space }: Found, report: Report): void {
  report({
    severity: 'note',
    code: 'document_leftover',
    where: shownName(space, `${note.kind} ${note.id}`),
    message: 'A part of a document was left by a writer that ended, or by a project that is gone.',
    advice: '--repair removes it. Nothing shows it any more.',
    repair: 'remove_document_leftover',
    target: [space, name],
  });
}

/** Whether a note belongs to no project, or is a body that its header does not name. */
function* isLeftover({ name, note, space }: Found, nowMs: number): SqlWork<boolean> {
  const { id, kind, owner, part, projectId } = note;
  const projects = yield sqlOne(
    'SELECT 1 FROM projects WHERE space = ? AND id = ? FOR SHARE',
    space,
    projectId,
  );
  if (projects.length === 0) return true;
  if (part === 'header') return false;
  const writtenAtMs = timeOfId(name.slice(name.lastIndexOf('/') + 1)) ?? 0;
  if (writtenAtMs > nowMs - GRACE_MS) return false;
  const header = yield* readNote(
    space,
    `${documentNotes('header', projectId, owner)}${kind}/${id}`,
  );
  // What a header says that cannot be read is not known.
  return header === undefined || (isReadable(header) && parseHeader(header).bodyName !== name);
}

function isReadable(header: string): boolean {
  try {
    parseHeader(header);
    return true;
  } catch {
    return false;
  }
}

function* readNote(space: string, name: string): SqlWork<string | undefined> {
  const [row] = yield sqlOne(
    'SELECT text(body) FROM notes WHERE space = ? AND name = ?',
    space,
    name,
  );
  return row === undefined ? undefined : textCell(row, 0);
}

/** Removes what {@link checkDocuments} has found to be left over, if it is so now. */
export function* removeDocumentLeftover(
  space: string,
  name: string,
  nowMs: number,
): SqlWork<boolean> {
  const note = readDocumentNote(name);
  if (note === undefined || !(yield* isLeftover({ space, name, note }, nowMs))) return false;
  const projects = yield sqlOne(
    'SELECT 1 FROM projects WHERE space = ? AND id = ?',
    space,
    note.projectId,
  );
  const [row] = yield sql(
    'DELETE FROM notes WHERE space = ? AND name = ? RETURNING octet_length(body)',
    space,
    name,
  );
  if (row !== undefined && projects.length > 0)
    yield countBytes(space, note.projectId, -numberCell(row, 0));
  return true;
}
