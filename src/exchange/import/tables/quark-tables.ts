/** Tables that we exported ourselves, one a file: the files of a run belong together. */
import type { JsonObject } from '../../../base/json.ts';
import { isQuarkError, messageOf } from '../../../base/errors.ts';
import { metricTable } from '../../../records/metric.ts';
import { runRecord, type RunRecord } from '../../../records/run.ts';
import { TABLES } from '../../../records/tables.ts';
import type { TableDefinition } from '../../../schema/table.ts';
import { CURRENT_SCHEMA_VERSION } from '../../../schema/version.ts';
import { cutBatch } from '../../../segment/cut-batch.ts';
import { withKeyParts } from '../../../read/table-batches.ts';
import type { RowBatch } from '../../../codecs/arrow/vectors.ts';
import { checkImportedBatch } from './check-batch.ts';
import { fileName, folderOf, type InputFile } from '../../../codecs/input.ts';
import type { ImportContext, TableSink } from '../sink/importer.ts';
import { runNameOf } from '../sink/run-names.ts';

/** What a file says of itself. */
export type QuarkTableFacts = {
  readonly table: TableDefinition;
  readonly run: RunRecord | undefined;
};

/** Reads the facts of a file's metadata. @throws {Error} when there is no such table */
export function quarkTableFacts(metadata: ReadonlyMap<string, string>): QuarkTableFacts {
  const name = metadata.get('quark:table') ?? '';
  const table = TABLES.get(name);
  if (table === undefined) throw new Error(`There is no table "${name.slice(0, 100)}".`);
  const version = Number(metadata.get('quark:schema_version'));
  if (version > CURRENT_SCHEMA_VERSION)
    throw new Error(`It is of schema version ${version}, which this Quark does not know yet.`);
  return { table, run: runOf(metadata.get('quark:run')) };
}

/** Rows of a table on their way into a run. */
export async function importQuarkTable(
  file: InputFile,
  context: ImportContext,
  { table, run }: QuarkTableFacts,
  batches: AsyncIterable<RowBatch> | Iterable<RowBatch>,
): Promise<void> {
  const sink = await context.tables({
    identity: run?.id ?? file.path,
    name: run?.id ?? runNameOf(file.path),
    project: run?.projectName,
    startedAtMs: run === undefined ? undefined : Date.parse(run.startedAt),
    tags: run?.tags,
  });
  if (sink === undefined) return;
  if (run !== undefined) describe(sink, run);
  let row = 0;
  for await (const whole of batches)
    for (const batch of cutBatch(whole)) {
      const checked = checkImportedBatch(
        table,
        table === metricTable ? withKeyParts(batch) : batch,
      );
      if (checked.leftOut > 0)
        context.problem({
          file: file.path,
          place: `rows ${row + 1} to ${row + batch.rowCount}`,
          reason: `${checked.leftOut} of them are left out. The first: ${checked.reason}.`,
        });
      row += batch.rowCount;
      if (checked.batch.rowCount > 0) sink.rows(table, checked.batch);
      if (sink.isFull) await sink.flush();
    }
}

/** Files of tables in the same folder; any other file by itself. */
export function groupTables(
  files: readonly InputFile[],
  isTable: (name: string) => boolean,
): (readonly InputFile[])[] {
  const groups: InputFile[][] = [];
  const byFolder = new Map<string, InputFile[]>();
  for (const file of files) {
    const name = fileName(file.path).replace(/\.[^.]*$/, '');
    const folder = folderOf(file.path);
    const known = byFolder.get(folder);
    if (!isTable(name)) groups.push([file]);
    else if (known !== undefined) known.push(file);
    else {
      const group = [file];
      byFolder.set(folder, group);
      groups.push(group);
    }
  }
  return groups;
}

/** Reads each file of a group; what one of them cannot do is a problem of its own. */
export async function eachFile(
  files: readonly InputFile[],
  context: ImportContext,
  read: (file: InputFile) => Promise<void>,
): Promise<void> {
  for (const file of files) {
    try {
      await read(file);
    } catch (error) {
      if (isQuarkError(error, 'aborted') || isQuarkError(error, 'store_failed')) throw error;
      context.problem({ file: file.path, place: null, reason: messageOf(error) });
    }
  }
}

function describe(sink: TableSink, run: RunRecord): void {
  sink.config(run.config);
  const { import: _import, ...environment } = run.environment as JsonObject & { import?: unknown };
  sink.environment({
    ...environment,
    quark_run: { id: run.id, git_commit: run.gitCommit, parent_run_id: run.parentRunId },
  });
  sink.status(run.status === 'running' ? 'interrupted' : run.status);
}

/** The run record in a file's metadata; a file may be without. */
function runOf(text: string | undefined): RunRecord | undefined {
  if (text === undefined) return undefined;
  try {
    const dict: unknown = JSON.parse(text);
    return typeof dict === 'object' && dict !== null
      ? runRecord.fromDict(dict as { readonly [key: string]: unknown })
      : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a file of this name, without what is behind its dot, is one of several of a run. */
export function isTableName(name: string): boolean {
  return TABLES.has(name);
}
