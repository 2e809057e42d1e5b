// Runs to be found: a store with as many as are asked for, of which the first are recorded and the others copied in SQL.
import Database from 'libsql';
import { join } from 'node:path';

const METRICS = 8;
/** Recorded one by one; more are copies of these with other ids, results and times. */
const RECORDED = 10_000;

function documentOf(i) {
  const summaries = Object.fromEntries(
    Array.from({ length: METRICS }, (_, m) => {
      const value = ((i * 7919 + m * 104_729) % 10_007) / 10_007;
      const summary = { last: value, last_at_ms: i, last_step: i, min: value / 2, max: 2 * value };
      return [`part${m}/loss`, { ...summary, best: value / 2, best_step: i >> 1 }];
    }),
  );
  return JSON.stringify({
    id: `run_${i}`,
    name: `run number ${i}`,
    groups: [`sweep_${i % 100}`],
    config: {
      optimizer: { name: i % 3 === 0 ? 'adam' : 'sgd', lr: 1 / (1 + (i % 1000)), decay: 0 },
      layers: [64, 32, 16],
      seed: i,
      data: { name: 'digits', size: 60_000, shuffled: true },
    },
    environment: { platform: 'x'.repeat(400) },
    metric_summaries: summaries,
  });
}

/** Opens a store and fills it. `copies` is called with SQL for runs beyond those that are recorded. */
export async function filledStore({ build, uri, runs, execute }) {
  const store = await build.openStorage(uri);
  const project = { id: 'prj_find', name: 'find', createdAtMs: 1 };
  const { id: projectId, name: projectName } = await store.ensureProject(project);
  const recorded = Math.min(runs, RECORDED);
  const began = performance.now();
  for (let i = 0; i < recorded; i++)
    await store.createRun({
      id: `run_${i}`,
      projectId,
      projectName,
      status: i % 50 === 0 ? 'failed' : 'completed',
      startedAtMs: 1_700_000_000_000 + 100 * i,
      tags: [`workers=${i % 16}`],
      document: documentOf(i),
    });
  const createdMs = performance.now() - began;
  await build.findRuns(store, { name: 'nobody' });
  for (let copy = 1; copy * RECORDED < runs; copy++) {
    await execute(
      `INSERT INTO runs (space, id, project_id, project_name, status, started_at_ms, tags, document, revision, indexed_revision, change_order)
       SELECT space, id || '_${copy}', project_id, project_name, status, started_at_ms + ${copy}, tags, document, revision, indexed_revision, change_order
       FROM runs WHERE id NOT LIKE 'run\\_%\\_%'`,
    );
    await execute(
      `INSERT INTO run_facts (space, run_id, path, fact, kind, number, body)
       SELECT space, run_id || '_${copy}', path, fact, kind,
         CASE WHEN kind = 0 AND path LIKE 'metrics.%' THEN number * (1 + ${copy} * 0.001) ELSE number END, body
       FROM run_facts WHERE run_id NOT LIKE 'run\\_%\\_%'`,
    );
  }
  if (execute !== undefined) await execute('VACUUM ANALYZE');
  return { store, createdMs, recorded };
}

/** How long the first search takes in a folder that an earlier Quark has written, which knew no facts. */
export async function indexedMs({ build, store, folder }) {
  const database = new Database(join(folder, '.quark', 'quark.db'));
  database.exec('DELETE FROM run_facts; UPDATE runs SET indexed_revision = NULL');
  database.close();
  const began = performance.now();
  await build.findRuns(store, { name: 'nobody' });
  return performance.now() - began;
}
