/** Many runs at once, as records without rows: for lists. */
import type { Store } from 'quark-sdk';
import { runRecord } from '../../src/records/run.ts';
import { storedForm } from '../../src/session/run-lifecycle.ts';

/** Projects of made runs. */
export const MADE_PROJECTS = ['digits', 'speech'] as const;
/** When the first made run was started; each other one an hour later. */
export const MADE_AT_MS: number = Date.parse('2026-01-01T00:00:00Z');

/**
 * Adds runs `run_00000`, ... to a store: of two projects, with a configuration (`lr` of 4 values, `seed` of 8, `epochs` of one), three
 * tags, groups, and summaries of a loss, an accuracy and a metric of the machine. The loss of run n is `lossOf(n)`.
 */
export async function makeRuns(store: Store, count: number): Promise<readonly string[]> {
  const ids: string[] = [];
  const projects = await Promise.all(
    MADE_PROJECTS.map((name) => store.ensureProject({ id: `prj_${name}`, name, createdAtMs: 1 })),
  );
  for (let at = 0; at < count; at += 1) {
    const project = projects[at % 2];
    if (project === undefined) break;
    const id = `run_${String(at).padStart(5, '0')}`;
    const startedAtMs = MADE_AT_MS + at * 3_600_000;
    const status = at % 50 === 7 ? 'failed' : 'completed';
    const record = runRecord.create({
      id,
      projectId: project.id,
      projectName: project.name,
      status,
      parentRunId: null,
      lineageRootRunId: id,
      resumeCount: 0,
      runPath: '',
      gitCommit: null,
      strictMode: false,
      tags: [...(at % 4 === 0 ? ['baseline'] : []), `workers=${at % 3}`],
      config: { lr: 10 ** -(1 + (at % 4)), seed: at % 8, epochs: 10 },
      environment: { hostname: `gpu-${at % 5}` },
      startedAt: new Date(startedAtMs).toISOString(),
      endedAt: new Date(startedAtMs + 60_000 + at).toISOString(),
      updatedAt: new Date(startedAtMs + 60_000 + at).toISOString(),
      schemaVersion: 1,
      name: at % 10 === 9 ? null : `sweep over learning rates and seeds, number ${at}`,
      groups: [`sweep-${at % 6}`],
      statusReason: status === 'failed' ? 'CUDA out of memory' : null,
      findings: { alerts: at % 3, health: 40 + (at % 60) },
      metricSummaries: {
        'train/loss': summaryOf(lossOf(at), at),
        'val/accuracy': summaryOf(1 - lossOf(at) / 2, at),
        'system/ram/used_bytes': summaryOf(1e9 + at, at),
      },
    });
    await store.createRun(storedForm(record));
    ids.push(id);
  }
  return ids;
}

/** The last loss of a made run: each value once among 10,007 runs. */
export function lossOf(at: number): number {
  return (((at * 7919) % 10_007) + 1) / 10_008;
}

function summaryOf(last: number, at: number): Record<string, number> {
  return {
    last,
    last_at_ms: MADE_AT_MS + at,
    last_step: 1000,
    min: last / 2,
    max: last * 2,
    best: last / 2,
    best_step: 900 + (at % 100),
  };
}
