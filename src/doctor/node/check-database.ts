/** Whether the database itself is whole: SQLite's own check, and cells of a type that no reader expects. */
import { isQuarkError, messageOf } from '../../base/errors.ts';
import { sqliteProblems } from '../../store/sql/node/sqlite-check.ts';
import { numberCell, sql, textCell, type SqlWork } from '../../store/sql/sql-database.ts';
import { SQL_LAYOUT_VERSION, SQL_TABLES } from '../../store/sql/sql-layout.ts';
import type { DoctorFinding, Report } from './finding.ts';
import type { Patient } from './patient.ts';

const COPY_ADVICE =
  'End what uses the store, copy the folder aside, then restore a backup ("quark restore"), or recover what is readable with the sqlite3 shell (".recover").';
/** Problems of an index: it and its table differ. */
const OF_INDEX = /missing from index|wrong # of entries in index|non-unique entry in index/;
/** Tables whose rows are checked otherwise, so that their indexes may follow them. */
const CHECKED_TABLES =
  /index (?:sqlite_autoindex_)?(?:streams|segments|runs|run_tags|blobs|blob_spaces|leases|merge_queue)(?:_|$)/;

/** Whether the checks of content can go on: what follows reads cells of the types that the layout declares. */
export async function checkDatabase(patient: Patient, report: Report): Promise<boolean> {
  if (!checkLayout(patient, report)) return false;
  if (!patient.isSqlite) return true;
  try {
    const problems = await patient.read(sqliteProblems);
    for (const problem of problems) {
      const isIndex = OF_INDEX.test(problem);
      report({
        severity: 'error',
        code: isIndex ? 'index_damaged' : 'database_damaged',
        where: patient.name,
        message: `SQLite says: ${problem}.`,
        advice: COPY_ADVICE,
        ...(isIndex && CHECKED_TABLES.test(problem) ? { repair: 'rebuild_indexes' as const } : {}),
      });
    }
    return await checkCells(patient, report);
  } catch (error) {
    report({
      severity: 'error',
      code: 'database_damaged',
      where: patient.name,
      message: `The database cannot be checked: ${messageOf(error)}`,
      advice: COPY_ADVICE,
    });
    if (!isQuarkError(error)) throw error;
    return false;
  }
}

/**
 * An index that differs from its table is built again only where nothing else is wrong: then the rows are those that were written.
 * Otherwise the row may be the one that is damaged, and an index that follows it would hide what can be found now.
 */
export function judgeIndexes(findings: readonly DoctorFinding[]): readonly DoctorFinding[] {
  const isAlone = findings.every(
    ({ code, repair, severity }) =>
      severity !== 'error' || (code === 'index_damaged' && repair !== undefined),
  );
  return findings.map((finding) => {
    if (finding.code !== 'index_damaged') return finding;
    if (isAlone) return { ...finding, advice: '--repair builds the index again from its table.' };
    const { repair: _, ...rest } = finding;
    return rest;
  });
}

function checkLayout({ layout, name }: Patient, report: Report): boolean {
  if (layout === SQL_LAYOUT_VERSION) return true;
  const isNewer = layout > SQL_LAYOUT_VERSION;
  report({
    severity: 'warning',
    code: isNewer ? 'layout_newer' : 'layout_older',
    where: name,
    message: `The database has layout ${layout}; this release knows ${SQL_LAYOUT_VERSION}.`,
    advice: isNewer
      ? 'Update quark-sdk here: an older release cannot open it.'
      : 'Make a backup, then open it with this release, which migrates it; or examine it with the release that wrote it.',
  });
  return false;
}

/** Types that a column may have in a cell, by the type that it is declared with. */
const CELL_TYPES: Readonly<Record<string, string>> = {
  BIGINT: "'integer', 'null'",
  INTEGER: "'integer', 'null'",
  'DOUBLE PRECISION': "'real', 'integer', 'null'",
  TEXT: "'text', 'null'",
  BLOB: "'blob', 'null'",
};

async function checkCells(patient: Patient, report: Report): Promise<boolean> {
  let isWhole = true;
  for (const table of SQL_TABLES) {
    const wrong = await patient.read(() => findWrongCells(table));
    for (const [column, rows] of wrong) {
      isWhole = false;
      report({
        severity: 'error',
        code: 'cell_damaged',
        where: `${patient.name}, table ${table}`,
        message: `${rows} cells of column ${column} have another type than declared.`,
        advice: COPY_ADVICE,
      });
    }
  }
  return isWhole;
}

function* findWrongCells(
  table: string,
): SqlWork<readonly (readonly [column: string, rows: number])[]> {
  const columns = yield sql(`SELECT text(name), text(type) FROM pragma_table_info('${table}')`);
  const checks = columns.flatMap((row) => {
    const types = CELL_TYPES[textCell(row, 1)];
    return types === undefined ? [] : [[textCell(row, 0), types] as const];
  });
  if (checks.length === 0) return [];
  const sums = checks.map(
    ([name, types]) => `count(CASE WHEN typeof(${name}) NOT IN (${types}) THEN 1 END)`,
  );
  const [counts = []] = yield sql(`SELECT ${sums.join(', ')} FROM ${table}`);
  return checks.flatMap(([name], i) => {
    const rows = numberCell(counts, i);
    return rows > 0 ? [[name, rows] as const] : [];
  });
}
