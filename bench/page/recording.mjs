// What the page is measured over: a store that is recorded once, and the server over it.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runnerImport } from 'vite';

/** Rows of a flush: as many as a training of this many metrics would leave in a few seconds. */
const ROWS_PER_FLUSH = 50_000;

/** The id of the long run in a folder, which is recorded there unless it is there already. */
export async function recordedIn(folder, sizes, dist, root) {
  const noted = join(folder, 'bench-page.txt');
  if (existsSync(noted)) return readFile(noted, 'utf8');
  const before = performance.now();
  const runId = await record(folder, sizes, dist, root);
  await writeFile(noted, runId);
  console.log(`recorded in ${((performance.now() - before) / 1000).toFixed(0)} s`);
  return runId;
}

async function record(folder, { metrics: metricCount, points, runs }, dist, root) {
  const { MetricsLogger, openStorage, startRun } = await import(`${dist}index.js`);
  // Records alone, as the tests of lists make them: a minute instead of half an hour.
  const { module } = await runnerImport(`${root}test/support/made-runs.ts`, {
    configFile: false,
    logLevel: 'error',
  });
  const store = await openStorage(`file:${folder}`);
  await module.makeRuns(store, runs);
  await store.close();
  const start = (name) =>
    startRun({ project: 'bench', name, storageDir: folder, handleSignals: false });
  const session = await start('long');
  const metrics = new MetricsLogger(session, { batchSize: ROWS_PER_FLUSH });
  const keys = Array.from({ length: metricCount }, (_, at) => `group${at % 20}/metric_${at}`);
  let noise = 1;
  for (let step = 0, rows = 0; step < points; step++) {
    for (let at = 0; at < metricCount; at++) {
      noise = (noise * 48_271) % 2_147_483_647;
      metrics.log(keys[at], Math.sin(step / 5000 + at) + noise / 2_147_483_647, { step });
    }
    rows += metricCount;
    if (rows < ROWS_PER_FLUSH) continue;
    rows = 0;
    await session.flush();
  }
  await metrics.close();
  await session.endRun('completed');
  await session.close();
  return session.runId;
}

/** `quark dashboard` of a build over the folder. */
export async function serve(folder, dist) {
  const args = [`${dist}cli.js`, 'dashboard', `--storage-dir=${folder}`, '--port=0', '--json'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const url = await new Promise((resolve, reject) => {
    let text = '';
    child.stdout.on('data', (bytes) => {
      text += bytes;
      const found = /"(http:[^"]+)"/.exec(text);
      if (found !== null) resolve(found[1]);
    });
    child.once('exit', (code) => reject(new Error(`quark dashboard ended (${code})`)));
  });
  return { url, stop: () => child.kill('SIGTERM') };
}
