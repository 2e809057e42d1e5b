/** Runs as the list shows them, for tests. */
import type { RunStatus, RunSummary } from 'quark-sdk';
import { runRecord } from '../../../src/records/run.ts';

type Part = {
  readonly projectName?: string;
  readonly tags?: readonly string[];
  readonly startedAt?: string;
  readonly endedAt?: string;
  readonly status?: RunStatus;
  readonly effectiveStatus?: RunStatus;
  readonly isLive?: boolean;
};

/** A run that is what `part` says and otherwise plain. */
export function summaryOf(id: string, part: Part = {}): RunSummary {
  const startedAt = part.startedAt ?? '2026-01-01T00:00:00.000Z';
  const status = part.status ?? 'running';
  const run = runRecord.wrap({
    id,
    projectId: 'p',
    projectName: part.projectName ?? 'digits',
    status,
    parentRunId: null,
    lineageRootRunId: id,
    resumeCount: 0,
    runPath: `/runs/${id}`,
    gitCommit: null,
    strictMode: false,
    tags: part.tags ?? [],
    config: {},
    environment: {},
    startedAt,
    endedAt: part.endedAt ?? null,
    updatedAt: part.endedAt ?? startedAt,
    schemaVersion: 1,
    name: null,
    description: null,
    notes: null,
    groups: [],
    jobType: null,
    configHash: null,
    configRevision: null,
    metadata: {},
    summary: {},
    metricSummaries: {},
    statusReason: null,
    findings: {},
  });
  return {
    run,
    isLive: part.isLive ?? false,
    effectiveStatus: part.effectiveStatus ?? status,
    problem: null,
  };
}

/** One of each status, newest first. */
export const RUNS: readonly RunSummary[] = [
  summaryOf('a', { isLive: true, startedAt: '2026-01-01T00:50:00.000Z' }),
  summaryOf('b', {
    projectName: 'speech',
    tags: ['base'],
    effectiveStatus: 'interrupted',
    startedAt: '2026-01-01T00:40:00.000Z',
  }),
  summaryOf('c', {
    status: 'completed',
    tags: ['base', 'adam'],
    startedAt: '2026-01-01T00:30:00.000Z',
    endedAt: '2026-01-01T00:31:00.000Z',
  }),
  summaryOf('d', {
    status: 'failed',
    startedAt: '2026-01-01T00:10:00.000Z',
    endedAt: '2026-01-01T00:30:00.000Z',
  }),
];
