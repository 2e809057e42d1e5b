/** A server that records, for bundlers: what it prints when it runs. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { Builder } from '../bundlers/builders.d.mts';
import type { Consumer } from './consumer.ts';

/**
 * Records a run into the folder it is given, reads it back, and asks a worker; or says what went wrong. Its rows are enough for the thread
 * that merges, whose file is not there.
 */
export const SERVER = `
  import { createKernels, MetricsLogger, openRun, openStorage, startRun } from 'quark-sdk';

  async function main(folder) {
    const session = await startRun({ project: 'bundled', storageDir: folder });
    const metrics = new MetricsLogger(session);
    for (let step = 0; step < 3; step++) metrics.log('train/loss', 1 / (step + 1), { step });
    for (let step = 0; step < 70_000; step++) metrics.log('train/noise', step, { step });
    await session.endRun('completed');
    await session.close();
    const store = await openStorage(folder, { create: false });
    const run = await openRun(store, session.runId);
    const { values } = await run.readMetricColumns({ metricKey: 'train/loss' });
    const noise = await run.readMetricColumns({ metricKey: 'train/noise' });
    const isWhole = noise.rowCount === 70_000 && noise.values.every((value, at) => value === at);
    const segments = await store.listSegments({ runId: session.runId, table: 'metrics' });
    const isMerged = segments.every(({ encoding }) => encoding === 'packed');
    await store.close();
    const pool = await createKernels({ inlineBytes: 0 });
    const { mean } = await pool.tensorStats(new Float32Array(5000).fill(2));
    const { kernel, workerMode } = pool.diagnostics();
    return { values: [...values], isWhole, isMerged, mean, kernel, hasWorker: workerMode !== 'none' };
  }

  main(process.argv[2])
    .catch((error) => ({ code: error.code, message: error.message }))
    .then((said) => console.log(JSON.stringify(said)));
`;

/** What it prints when all goes well. */
export const RECORDED = {
  values: [1, 1 / 2, 1 / 3],
  isWhole: true,
  isMerged: true,
  mean: 2,
  kernel: 'wasm',
  hasWorker: true,
};

/** Builds the server and runs what was built. */
export async function runBundled(
  project: Consumer,
  build: Builder,
  runtime: string = process.execPath,
): Promise<unknown> {
  const out = join(project.root, 'out');
  const file = await build(project.root, out);
  const ended = spawnSync(runtime, [file, join(out, 'data')], {
    cwd: project.root,
    encoding: 'utf8',
    timeout: 60_000,
  });
  if (ended.status !== 0) throw new Error(`It ended with ${ended.status}: ${ended.stderr}`);
  return JSON.parse(ended.stdout);
}
