/** The record of an imported run: made before its first row, completed after its last. */
import { toLabel } from '../../../base/names.ts';
import { createId } from '../../../base/ids.ts';
import { canonicalJson, type JsonObject } from '../../../base/json.ts';
import { sha256OfText } from '../../../base/sha256.ts';
import { parseRun } from '../../../read/runs.ts';
import { joinSummaries } from '../../../records/metric-summaries.ts';
import { runRecord } from '../../../records/run.ts';
import { schemaVersionOf } from '../../../schema/version.ts';
import { changeRun, documentOf } from '../../../session/run-lifecycle.ts';
import type { Store } from '../../../store/store.ts';
import type { ImportedRun } from './importer.ts';
import type { InputFile } from '../../../codecs/input.ts';
import type { WrittenRun } from './run-writer.ts';

/** A run that is to be imported. */
export type NewImportedRun = {
  readonly runId: string;
  readonly project: string;
  readonly startedAtMs: number;
  readonly described: ImportedRun;
  readonly format: string;
  readonly files: readonly InputFile[];
  readonly tags: readonly string[];
};

const MAX_LISTED_FILES = 100;
const MAX_NAME_CHARS = 1000;

/** A run to write to. */
export type OpenedRun = {
  /** Whether all of it is in the store already. */
  readonly isComplete: boolean;
  /** When it started, as an import before may have written it. */
  readonly startedAtMs: number;
};

/** The record of a run, made unless it is in the store. */
export async function openRunFor(store: Store, run: NewImportedRun): Promise<OpenedRun> {
  const found = await findOpened(store, run.runId);
  if (found !== undefined) return found;
  const nowMs = Date.now();
  const project = await store.ensureProject({
    id: createId('prj', nowMs),
    name: run.project,
    createdAtMs: nowMs,
  });
  const startedAt = new Date(run.startedAtMs).toISOString();
  const record = runRecord.create({
    id: run.runId,
    projectId: project.id,
    projectName: project.name,
    status: 'interrupted',
    parentRunId: null,
    lineageRootRunId: run.runId,
    resumeCount: 0,
    runPath: `${store.location.storeRoot}/runs/${run.runId}`,
    name: toLabel(run.described.name) ?? null,
    gitCommit: null,
    strictMode: false,
    tags: uniqueTags(run.described.tags ?? [], run.tags),
    config: {},
    environment: {
      import: {
        format: run.format,
        name: run.described.name.slice(0, MAX_NAME_CHARS),
        identity: run.described.identity.slice(0, MAX_NAME_CHARS),
        files: run.files.slice(0, MAX_LISTED_FILES).map(({ path }) => path.slice(-MAX_NAME_CHARS)),
        is_complete: false,
      },
    },
    startedAt,
    endedAt: startedAt,
    updatedAt: new Date(nowMs).toISOString(),
    schemaVersion: schemaVersionOf('runs'),
  });
  try {
    await store.createRun({
      id: record.id,
      projectId: record.projectId,
      projectName: record.projectName,
      status: record.status,
      startedAtMs: run.startedAtMs,
      tags: record.tags,
      document: documentOf(record),
    });
  } catch (error) {
    // Another import of the same files was faster. Both write the same batches, and each is kept once.
    const other = await findOpened(store, run.runId);
    if (other === undefined) throw error;
    return other;
  }
  return { isComplete: false, startedAtMs: run.startedAtMs };
}

async function findOpened(store: Store, runId: string): Promise<OpenedRun | undefined> {
  const found = await store.findRun(runId);
  if (found === undefined) return undefined;
  const { environment, startedAt } = parseRun(found);
  return { isComplete: isComplete(environment), startedAtMs: Date.parse(startedAt) };
}

/** Completes the record once every row is in the store. */
export async function finishRun(
  store: Store,
  runId: string,
  written: WrittenRun,
  tags: readonly string[],
): Promise<void> {
  await changeRun(store, runId, Date.now(), (run) => ({
    status: written.status,
    statusReason: written.statusReason,
    config: written.config,
    configHash: sha256OfText(canonicalJson(written.config)),
    configRevision: null,
    metricSummaries: joinSummaries(run.metricSummaries, written.metricSummaries),
    environment: {
      ...written.environment,
      import: {
        ...(run.environment['import'] as JsonObject),
        metric_names: written.listedNames,
        row_count: written.rowCount,
        is_complete: true,
      },
    },
    tags: uniqueTags(run.tags, written.tags, tags),
    ...(written.firstTimeMs === null || written.firstTimeMs >= Date.parse(run.startedAt)
      ? {}
      : { startedAt: new Date(written.firstTimeMs).toISOString() }),
    // The start on record is when the file was written, where the format says none: later than everything in it.
    ...(written.lastTimeMs === null ? {} : { endedAt: new Date(written.lastTimeMs).toISOString() }),
  }));
}

function isComplete(environment: JsonObject): boolean {
  const about = environment['import'];
  return typeof about === 'object' && about !== null && Reflect.get(about, 'is_complete') === true;
}

function uniqueTags(...lists: readonly (readonly string[])[]): string[] {
  return [...new Set(lists.flat().flatMap((tag) => toLabel(tag) ?? []))];
}
