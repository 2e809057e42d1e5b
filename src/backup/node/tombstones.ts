/**
 * What was deleted, outside of the snapshots: an older snapshot has the run, so only a list beside it can say that the run is to
 * stay away. The file has one tombstone a line, as JSON; it is written anew with each backup, and merged at a restore.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { SessionStoreError } from '../../base/errors.ts';
import {
  defineShape,
  instantMs,
  literal,
  nullable,
  shapeFromJson,
  shapeToJson,
  text,
  type Shape,
  type ValuesOf,
} from '../../schema/shape.ts';
import { sqliteFailure } from '../../store/sql/node/sqlite-errors.ts';
import {
  numberCell,
  optionalNumberCell,
  sql,
  sqlOne,
  textCell,
  together,
  type SqlRow,
  type SqlWork,
} from '../../store/sql/sql-database.ts';

const fields = {
  /** What was deleted. */
  kind: literal(['run']),
  /** The space that it was in. */
  space: text(),
  id: text(),
  projectName: text(),
  deletedAtMs: instantMs(),
  /** When its bytes are removed: until then it can be undeleted. */
  purgeAtMs: instantMs(),
  /** When its bytes were removed. */
  purgedAtMs: nullable(instantMs()),
  /** Who deleted it. */
  by: nullable(text()),
};

const tombstoneShape: Shape<typeof fields> = defineShape('tombstone', fields);

/** Before this layout a database had no spaces, and nothing was deleted. */
const FIRST_WITH_SPACES = 2;

/** Something that was deleted. */
export type Tombstone = ValuesOf<typeof fields>;

/** The tombstones that a database has; none where its layout knows none. */
export function* readTombstones(): SqlWork<readonly Tombstone[]> {
  const tables = yield sql("SELECT 1 FROM sqlite_master WHERE name = 'deleted_runs'");
  if (tables.length === 0) return [];
  const rows = yield sql(
    `SELECT text(space), text(id), text(project_name), deleted_at_ms, purge_at_ms, purged_at_ms, text(deleted_by)
     FROM deleted_runs`,
  );
  return rows.map((row) => tombstoneOf(row));
}

/**
 * Tombstones without those of runs that a database has: they were undeleted. What was purged stays dead: nobody can have
 * undeleted it, so the database is an older copy.
 */
export function* withoutLive(
  tombstones: readonly Tombstone[],
  layout: number,
): SqlWork<readonly Tombstone[]> {
  if (layout < FIRST_WITH_SPACES) return tombstones;
  const found = yield* together(
    tombstones.map(({ space, id }) =>
      sqlOne('SELECT 1 FROM runs WHERE space = ? AND id = ?', space, id),
    ),
  );
  return tombstones.filter(({ purgedAtMs }, i) => purgedAtMs !== null || found[i]?.length === 0);
}

/** One tombstone for each run, the latest; in order of spaces and ids. */
export function mergeTombstones(...lists: readonly (readonly Tombstone[])[]): readonly Tombstone[] {
  const latest = new Map<string, Tombstone>();
  for (const one of lists.flat()) {
    const name = nameOf(one);
    const known = latest.get(name);
    const isLater =
      known === undefined ||
      one.deletedAtMs > known.deletedAtMs ||
      (one.deletedAtMs === known.deletedAtMs && one.purgedAtMs !== null);
    if (isLater) latest.set(name, one);
  }
  return [...latest].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}

/** The file of tombstones. */
export function tombstoneText(tombstones: readonly Tombstone[]): string {
  return tombstones.map((one) => `${JSON.stringify(shapeToJson(tombstoneShape, one))}\n`).join('');
}

/** Reads the tombstones of a backup; none where it has no such file. @throws {SessionStoreError} as {@link readNamedTombstones} */
export async function readTombstoneFile(path: string): Promise<readonly Tombstone[]> {
  return existsSync(path) ? readNamedTombstones(path) : [];
}

/** Reads a file of tombstones that somebody named. @throws {SessionStoreError} `missing`; `corrupt`, naming the line */
export async function readNamedTombstones(path: string): Promise<readonly Tombstone[]> {
  let content: string;
  try {
    content = await readFile(path, 'utf8');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    if (error.code === 'ENOENT' || error.code === 'EISDIR') throw noTombstones(path);
    throw sqliteFailure(error, path);
  }
  return content.split('\n').flatMap((line, i) => {
    if (line === '') return [];
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      throw damagedLine(path, i + 1, 'it is not JSON');
    }
    const misfit = (field: string, _: unknown, rule: string): Error =>
      damagedLine(path, i + 1, `${field} must be ${rule}`);
    return [shapeFromJson(tombstoneShape, value, misfit)];
  });
}

function tombstoneOf(row: SqlRow): Tombstone {
  return {
    kind: 'run',
    space: textCell(row, 0),
    id: textCell(row, 1),
    projectName: textCell(row, 2),
    deletedAtMs: numberCell(row, 3),
    purgeAtMs: numberCell(row, 4),
    purgedAtMs: optionalNumberCell(row, 5),
    by: row[6] === null ? null : textCell(row, 6),
  };
}

function nameOf({ space, id }: Tombstone): string {
  return `${space}\n${id}`;
}

function noTombstones(path: string): SessionStoreError {
  return new SessionStoreError(
    'missing',
    `There is no file of tombstones at ${path}. Nothing was changed. Without it a deleted run could come back: name the file "tombstones" of a backup, or leave the option out.`,
    { details: { path } },
  );
}

function damagedLine(path: string, line: number, reason: string): SessionStoreError {
  return new SessionStoreError(
    'corrupt',
    `Line ${line} of the tombstones in ${path} is damaged: ${reason}. Nothing was changed. Without it a deleted run could come back: mend the line, or remove it if you know which run it was.`,
    { details: { path, line, reason } },
  );
}
