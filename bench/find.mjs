// What it takes to find runs among 10,000 in a folder: by configuration, results, tags and names. `--database URL` asks
// PostgreSQL, `--postgres` one that is started for it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { findRuns, openStorage } from '../dist/index.js';
import { interleaved, report } from './harness.mjs';
import { startPostgres } from './service/processes.mjs';

const RUNS = 10_000;
const METRICS = 8;
const at = process.argv.indexOf('--database');
const server = process.argv.includes('--postgres') ? await startPostgres() : undefined;
const url = server?.uri ?? (at < 0 ? undefined : process.argv[at + 1]);
const folder = mkdtempSync(join(tmpdir(), 'quark-find-'));

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

const store = await openStorage(url ?? `file:${folder}`);
const project = { id: 'prj_find', name: `find ${process.pid}`, createdAtMs: 1 };
const { id: projectId, name: projectName } = await store.ensureProject(project);
const prefix = `run_${process.pid}_`;
const began = performance.now();
for (let i = 0; i < RUNS; i++)
  await store.createRun({
    id: `${prefix}${i}`,
    projectId,
    projectName,
    status: i % 50 === 0 ? 'failed' : 'completed',
    startedAtMs: 1_700_000_000_000 + i,
    tags: [`workers=${i % 16}`],
    document: documentOf(i),
  });
const created = performance.now() - began;
const find = (query, limit = 50) => findRuns(store, { project: projectName, ...query }, { limit });
await find({ name: 'nobody' });
if (url === undefined) {
  // As a database of an earlier Quark is.
  const database = new Database(join(folder, '.quark', 'quark.db'));
  database.exec('DELETE FROM run_facts; UPDATE runs SET indexed_revision = NULL');
  database.close();
}
const before = performance.now();
await find({ name: 'nobody' });
const indexed = performance.now() - before;

const QUERIES = {
  'config.optimizer.lr <= 0.002, newest 50': { config: { optimizer: { lr: { lte: 0.002 } } } },
  'one seed of 10,000': { config: { seed: 4711 } },
  'lr and best loss and status': {
    config: { optimizer: { lr: { lte: 0.1 }, name: 'adam' } },
    metrics: { 'part0/loss': { best: { lt: 0.01 } } },
    status: 'completed',
  },
  'a group and workers >= 8': { groups: ['sweep_7'], tags: { workers: { gte: 8 } } },
  "name like '%4711%'": { name: { like: '%4711%' } },
  'not (lr < 0.5) or failed': {
    or: [{ not: { config: { optimizer: { lr: { lt: 0.5 } } } } }, { status: 'failed' }],
  },
};
const times = await interleaved(
  Object.fromEntries(Object.entries(QUERIES).map(([name, query]) => [name, () => find(query)])),
  9,
);
await report(`find${url === undefined ? '' : '-postgres'}`, [
  { what: `${RUNS} runs created`, value: created, unit: 'ms' },
  ...(url === undefined
    ? [{ what: 'the facts of an old database, by its first search', value: indexed, unit: 'ms' }]
    : []),
  ...Object.entries(times).map(([what, value]) => ({
    what,
    value,
    unit: 'ms',
    target: 'under 100',
  })),
]);
await store.close();
await server?.stop();
rmSync(folder, { recursive: true, force: true });
