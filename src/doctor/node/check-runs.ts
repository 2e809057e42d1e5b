/** Runs, their tags, their tables and their leases. */
import { isQuarkError, messageOf } from '../../base/errors.ts';
import { parseRun } from '../../read/runs.ts';
import type { StoredRun } from '../../records/shapes/run.ts';
import {
  isTextList,
  jsonCell,
  numberCell,
  sql,
  textCell,
  type SqlRow,
  type SqlWork,
} from '../../store/sql/sql-database.ts';
import { areFactsWrong } from '../../store/sql/sql-facts.ts';
import type { Report } from './finding.ts';
import type { Patient } from './patient.ts';

/** Tables of a deleted run are in a space of this beginning: see sql-deletion.ts. */
const DELETED = '~';

/** Runs that are read at a time. */
const PAGE = 500;

type SpaceRun = StoredRun & { readonly space: string };

/** Checks runs and what belongs to them; `nowMs` judges leases. */
export async function checkRuns(patient: Patient, nowMs: number, report: Report): Promise<void> {
  const tags = await patient.read(readTags);
  for (let after: SpaceRun | undefined, isMore = true; isMore;) {
    const rows = await patient.read(() => readRuns(after));
    isMore = rows.length === PAGE;
    for (const row of rows) {
      const run = checkRow(row, report);
      after = run ?? after;
      if (run !== undefined) {
        checkTags(run, tags.get(nameOf(run.space, run.id)) ?? [], report);
        await checkFacts(patient, run, report);
      } else if (row === rows.at(-1)) isMore = false;
    }
  }
  await checkOwners(patient, report);
  await checkLeases(patient, nowMs, report);
}

function checkRow(row: SqlRow, report: Report): SpaceRun | undefined {
  const where = shownName(textCell(row, 0), textCell(row, 1));
  const advice =
    'The rows of the run can be read. Restore a backup, or have the client send the run again ("quark sync --again").';
  let run: SpaceRun;
  try {
    run = {
      space: textCell(row, 0),
      id: textCell(row, 1),
      projectId: textCell(row, 2),
      projectName: textCell(row, 3),
      status: textCell(row, 4),
      startedAtMs: numberCell(row, 5),
      tags: jsonCell(row, 6, isTextList),
      document: textCell(row, 7),
      revision: numberCell(row, 8),
    };
  } catch (error) {
    if (!isQuarkError(error)) throw error;
    report({ severity: 'error', code: 'run_damaged', where, message: error.message, advice });
    return undefined;
  }
  try {
    const record = parseRun(run);
    const differing = (['id', 'projectId', 'projectName', 'status'] as const).filter(
      (field) => record[field] !== run[field],
    );
    if (record.tags.join('\n') !== run.tags.join('\n'))
      report({
        severity: 'error',
        code: 'run_differs',
        where,
        message: 'The tags in the record of the run are not those that it is found by.',
        advice,
      });
    for (const field of differing)
      report({
        severity: 'error',
        code: 'run_differs',
        where,
        message: `The record of the run says ${field} "${record[field]}", and its row "${run[field]}".`,
        advice,
      });
  } catch (error) {
    report({
      severity: 'error',
      code: 'run_damaged',
      where,
      message: `The record of the run cannot be read: ${messageOf(error)}`,
      advice,
    });
  }
  return run;
}

function checkTags(run: SpaceRun, found: readonly string[], report: Report): void {
  const wanted = [...new Set(run.tags)].sort();
  if (wanted.join('\n') === [...found].sort().join('\n')) return;
  report({
    severity: 'error',
    code: 'tags_differ',
    where: shownName(run.space, run.id),
    message: 'The table of tags does not have the tags of the run, so searching by a tag is wrong.',
    advice: '--repair writes them again from the run.',
    repair: 'rebuild_tags',
    target: [run.space, run.id],
  });
}

async function checkFacts(patient: Patient, run: SpaceRun, report: Report): Promise<void> {
  if (!(await patient.read(() => areFactsWrong(run.space, run.id)))) return;
  report({
    severity: 'error',
    code: 'facts_differ',
    where: shownName(run.space, run.id),
    message:
      'The table of what runs are found by does not have the values of the run, so searching by conditions is wrong.',
    advice: '--repair writes them again from the run.',
    repair: 'rebuild_facts',
    target: [run.space, run.id],
  });
}

/** Tables, tags and facts of runs that are not there. */
async function checkOwners(patient: Patient, report: Report): Promise<void> {
  for (const [table, severity] of [
    ['streams', 'warning'],
    ['run_tags', 'note'],
    ['run_facts', 'note'],
  ] as const) {
    const rows = await patient.read(function* (): SqlWork<readonly SqlRow[]> {
      return yield sql(
        `SELECT DISTINCT text(owned.space), text(owned.run_id) FROM ${table} AS owned
         LEFT JOIN runs ON runs.space = owned.space AND runs.id = owned.run_id
         LEFT JOIN deleted_runs ON '${DELETED}' || deleted_runs.space = owned.space AND deleted_runs.id = owned.run_id
         WHERE runs.id IS NULL AND deleted_runs.id IS NULL LIMIT 200`,
      );
    });
    for (const row of rows)
      report({
        severity,
        code: 'run_missing',
        where: shownName(textCell(row, 0), textCell(row, 1)),
        message: `There are rows in ${table} of a run that is not there.`,
        advice: 'Restore a backup if the run should be there. Recording it again finds its rows.',
      });
  }
}

async function checkLeases(patient: Patient, nowMs: number, report: Report): Promise<void> {
  const [lapsed, unowned] = await patient.read(function* () {
    const old = yield sql(
      'SELECT text(space), text(run_id), text(holder) FROM leases WHERE expires_at_ms <= ? LIMIT 200',
      nowMs,
    );
    const open = yield sql(
      `SELECT text(runs.space), text(runs.id) FROM runs
       LEFT JOIN leases ON leases.space = runs.space AND leases.run_id = runs.id AND leases.expires_at_ms > ?
       WHERE runs.status = 'running' AND leases.run_id IS NULL LIMIT 200`,
      nowMs,
    );
    return [old, open] as const;
  });
  for (const row of lapsed)
    report({
      severity: 'note',
      code: 'lease_lapsed',
      where: shownName(textCell(row, 0), textCell(row, 1)),
      message: `The lease of ${textCell(row, 2)} has lapsed.`,
      advice: 'The next lease of the space removes it; so does --repair.',
      repair: 'remove_lapsed_leases',
    });
  for (const row of unowned)
    report({
      severity: 'note',
      code: 'run_abandoned',
      where: shownName(textCell(row, 0), textCell(row, 1)),
      message:
        'The run says that it is running, and nobody has a lease on it: its session ended without ending it.',
      advice: 'It is shown as interrupted. Resume it, or leave it.',
    });
}

function* readRuns(after: SpaceRun | undefined): SqlWork<readonly SqlRow[]> {
  // Expressions, so that the values are those of the table and not those of an index.
  return yield sql(
    `SELECT text(space), text(id), text(project_id), text(project_name), text(status), started_at_ms, text(tags),
       text(document), revision FROM runs
     WHERE space || '' > ? OR (space || '' = ? AND id || '' > ?) ORDER BY space || '', id || '' LIMIT ${PAGE}`,
    after?.space ?? '',
    after?.space ?? '',
    after?.id ?? '',
  );
}

function* readTags(): SqlWork<ReadonlyMap<string, readonly string[]>> {
  const rows = yield sql('SELECT text(space), text(run_id), text(tag) FROM run_tags');
  const found = new Map<string, string[]>();
  for (const row of rows) {
    const name = nameOf(textCell(row, 0), textCell(row, 1));
    const list = found.get(name);
    if (list === undefined) found.set(name, [textCell(row, 2)]);
    else list.push(textCell(row, 2));
  }
  return found;
}

function nameOf(space: string, runId: string): string {
  return `${space}\n${runId}`;
}

/** A run in a finding: its id, after the space where it has a name. */
export function shownName(space: string, runId: string): string {
  return space === '' ? runId : `${space}: ${runId}`;
}
