/** Runs with a record, an end, and values of a metric. */
import { metricTable } from '../../src/records/metric.ts';
import { runRecord } from '../../src/records/run.ts';
import type { RunStatus } from '../../src/records/literals.ts';
import { CURRENT_SCHEMA_VERSION } from '../../src/schema/version.ts';
import { batchOfRows } from '../../src/segment/batch-ops.ts';
import { createSegment } from '../../src/segment/manifest.ts';
import type { Store, StoredRun } from '../../src/store/store.ts';

export type RetainedRun = {
  readonly id: string;
  readonly project?: string;
  /** Default: the name of the project. */
  readonly projectId?: string;
  readonly status?: RunStatus;
  /** When it ended, or changed last. */
  readonly endedAtMs: number;
  readonly tags?: readonly string[];
  readonly metric?: string;
  readonly values?: readonly number[];
};

/** The run as a store takes it. */
export function endedRun(run: RetainedRun): Omit<StoredRun, 'revision'> {
  const {
    endedAtMs,
    id,
    project = 'p',
    projectId = project,
    status = 'completed',
    tags = [],
  } = run;
  const ended = new Date(endedAtMs).toISOString();
  const record = runRecord.create({
    id,
    projectId,
    projectName: project,
    status,
    parentRunId: null,
    lineageRootRunId: id,
    resumeCount: 0,
    runPath: '',
    gitCommit: null,
    strictMode: false,
    tags,
    config: {},
    environment: {},
    startedAt: ended,
    endedAt: status === 'running' ? null : ended,
    updatedAt: ended,
    schemaVersion: CURRENT_SCHEMA_VERSION,
  });
  return {
    id,
    projectId,
    projectName: project,
    status,
    startedAtMs: endedAtMs,
    tags,
    document: JSON.stringify(record.toDict()),
  };
}

export async function addRun(store: Store, run: RetainedRun): Promise<void> {
  const { id, metric = 'val/loss', values = [] } = run;
  await store.createRun(endedRun(run));
  if (values.length > 0) await store.appendSegments([valuesSegment(id, metric, values)]);
}

function valuesSegment(runId: string, metricKey: string, values: readonly number[]) {
  const [namespace, metricName] = metricKey.split('/');
  const rows = values.map((value, step) => ({
    timestamp: 1_700_000_000_000 + step,
    metricKey,
    namespace,
    metricName,
    value,
    step,
    epoch: null,
  }));
  return createSegment(
    metricTable,
    { runId, table: 'metrics', writerId: 'w', batchNumber: 0 },
    batchOfRows(metricTable, rows),
  );
}
