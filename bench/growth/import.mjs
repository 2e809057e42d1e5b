// A CSV file of ten columns imported into SQLite: the size of the store, and reading one of its metrics in a fresh process.
import { spawnSync } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeCsv } from '../exchange/csv.mjs';

export const title = 'a CSV file of so many bytes imported into SQLite';
export const sizes = [1e6, 1e7, 5e7, 2e8];

export async function measure(bytes, { entry, folder, urlOf }) {
  const path = join(folder, 'metrics.csv');
  await makeCsv(path, bytes);
  const { importRuns } = await entry('exchange.js');
  const { openStorage } = await entry('index.js');
  const { openInputFiles } = await entry('node.js');
  const directory = join(folder, 'runs');
  const store = await openStorage(directory);
  const before = performance.now();
  const { runs } = await importRuns(await openInputFiles([path]), store);
  const ms = performance.now() - before;
  await store.close();
  const [run] = runs;
  const { size } = await stat(join(directory, '.quark', 'quark.db'));
  const reader = fileURLToPath(new URL('read-one.mjs', import.meta.url));
  const { status, stdout } = spawnSync(
    process.execPath,
    ['--expose-gc', reader, urlOf('index.js'), directory, run.runId, Object.keys(run.metrics)[0]],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] },
  );
  if (status !== 0) throw new Error(`reading ended with ${status}`);
  return {
    'import (ms)': ms,
    'bytes a point in the database': size / run.rowCount,
    ...JSON.parse(stdout),
  };
}
