// Metrics from SQLite to columns: one of many, all as series, all as columns in the order of recording; two runs compared.
//
//   npm run bench -- reading                        10 metrics of 1,000,000 points
//   npm run bench -- reading --before=DIR           another checkout with a build, measured in turn with this one
//   npm run bench -- reading --points=1e6 --metrics=20 --rounds=5 --only=one,series
//   npm run bench -- reading --folder=DIR           records there once, and reads the same next time
//
// Each reading of each side and round has a process of its own, in turn: the first call of it, then the least and the median of five
// more, by the clock, in processor time of the calling thread and of the process, and the most memory that the process had beyond its
// result. The limit is what it takes to allocate and fill the columns of the result, and nothing else; copying, what a copy of as many
// bytes takes between memory that was touched before.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { recordRows, threadMs } from './growth/recorded.mjs';
import { median, save } from './harness.mjs';

const WAYS = {
  one: 'one metric as a series',
  onecolumns: 'one metric as columns',
  series: 'all as series',
  columns: 'all as columns',
  compare: 'two runs compared, columns in memory',
};
/** What memory alone takes. */
const LIMITS = {
  limit: 'columns of all series allocated and filled',
  copying: 'as many bytes copied, memory that was touched before',
};
/** Float64 columns of a result; and 4 bytes for the metric of a row. */
const BYTES_A_ROW = { one: 24, onecolumns: 44, series: 24, columns: 44, compare: 0 };

const { values: options } = parseArgs({
  options: {
    before: { type: 'string' },
    folder: { type: 'string' },
    metrics: { type: 'string', default: '10' },
    only: { type: 'string', default: Object.keys(WAYS).join(',') },
    points: { type: 'string', default: '1e6' },
    rounds: { type: 'string', default: '3' },
    calls: { type: 'string', default: '5' },
    child: { type: 'string' },
    root: { type: 'string' },
    run: { type: 'string' },
  },
});
const metrics = Number(options.metrics);
const rows = Number(options.points) * metrics;
const KEY = 'group3/metric_7';

if (options.child === undefined) await main();
else await child(options.child);

async function child(way) {
  const urlOf = (name) => pathToFileURL(join(options.root, 'dist', name)).href;
  const sdk = await import(urlOf('index.js'));
  const store = way in LIMITS ? undefined : await sdk.openStorage(options.folder);
  const run = store === undefined ? undefined : await sdk.openRun(store, options.run);
  const work = await {
    one: () => () => run.readSeries({ metricKeys: [KEY] }),
    onecolumns: () => () => run.readMetricColumns({ metricKey: KEY }),
    series: () => () => run.readSeries(),
    columns: () => () => run.readMetricColumns(),
    compare: async () => {
      const { compareColumns, loadRunColumns } = await import(urlOf('analysis.js'));
      const columns = await loadRunColumns(run);
      return () => compareColumns(columns, changed(columns));
    },
    limit: () => () => filled(rows),
    copying: () => copying(rows),
  }[way]();
  globalThis.gc?.();
  const start = process.memoryUsage().rss;
  const calls = [];
  for (let i = 0; i <= Number(options.calls); i++) {
    const before = { ms: performance.now(), thread: threadMs(), all: process.cpuUsage() };
    await work();
    const { system, user } = process.cpuUsage(before.all);
    calls.push({
      clock: performance.now() - before.ms,
      thread: threadMs() - before.thread,
      process: (system + user) / 1000,
      peak: i === 0 ? (process.resourceUsage().maxRSS * 1024 - start) / 1e6 : 0,
    });
  }
  const [first, ...others] = calls;
  const figures = { 'first call, clock (ms)': first.clock };
  for (const what of ['clock', 'thread', 'process']) {
    const list = others.map((one) => one[what]);
    figures[`${what}, median (ms)`] = median(list);
    figures[`${what}, least (ms)`] = Math.min(...list);
  }
  const share = way === 'one' || way === 'onecolumns' ? 1 / metrics : 1;
  const result = ((BYTES_A_ROW[way] ?? 0) * rows * share) / 1e6;
  figures['first call, memory beyond the result (MB)'] = first.peak - result;
  console.log(JSON.stringify(figures));
  await store?.close();
}

/** The columns of a series result, allocated and filled from one that is in the processor's cache. */
function filled(count) {
  const source = new Float64Array(131_072).fill(1.5);
  return Array.from({ length: 3 * metrics }, () => {
    const column = new Float64Array(count / metrics);
    for (let at = 0; at < column.length; at += source.length)
      column.set(source.subarray(0, column.length - at), at);
    return column;
  });
}

/** Copies as many bytes as the columns of a series result have. */
function copying(count) {
  const source = new Float64Array(3 * count).fill(1.5);
  const target = new Float64Array(3 * count).fill(2.5);
  return () => target.set(source);
}

/** The same run with other values, and some rows missing. */
function changed(columns) {
  const all = [...columns.metrics].map(([key, series]) => [
    key,
    { ...series, values: series.values.map((value) => value * 1.01) },
  ]);
  return { ...columns, metrics: new Map(all) };
}

async function main() {
  const here = resolve(fileURLToPath(new URL('..', import.meta.url)));
  const sides = {};
  if (options.before !== undefined) sides.before = resolve(options.before);
  sides.now = here;
  await mkdir(join(here, 'build'), { recursive: true });
  const folder =
    options.folder === undefined
      ? await mkdtemp(join(here, 'build', 'bench-reading-'))
      : resolve(options.folder);
  const list = [];
  try {
    const run = await recorded(folder, Object.values(sides)[0]);
    for (const way of options.only.split(',')) {
      const found = Object.fromEntries(Object.keys(sides).map((side) => [side, []]));
      for (let round = 0; round < Number(options.rounds); round++)
        for (const [side, root] of Object.entries(sides))
          found[side].push(measured(way, root, folder, run));
      print(way, found, list);
    }
    for (const way of Object.keys(LIMITS))
      print(way, { limit: [measured(way, here, folder, run)] }, list);
  } finally {
    if (options.folder === undefined) await rm(folder, { recursive: true, force: true });
  }
  await save('reading', list);
}

async function recorded(folder, root) {
  const note = join(folder, `run-${metrics}-${rows}.txt`);
  if (existsSync(note)) return readFile(note, 'utf8');
  const sdk = await import(pathToFileURL(join(root, 'dist', 'index.js')).href);
  const store = await sdk.openStorage(folder);
  const session = await sdk.startRun({ project: 'bench', storage: store, handleSignals: false });
  await recordRows(session, sdk, { rows, keys: metrics });
  await session.endRun();
  await session.close();
  await store.close();
  await writeFile(note, session.runId);
  return session.runId;
}

function measured(way, root, folder, run) {
  const all = { child: way, root, folder, run, metrics, points: options.points };
  const { status, stdout } = spawnSync(
    process.execPath,
    [
      '--expose-gc',
      fileURLToPath(import.meta.url),
      `--calls=${options.calls}`,
      ...Object.entries(all).map(([name, value]) => `--${name}=${value}`),
    ],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] },
  );
  if (status !== 0) throw new Error(`${way} ended with ${status}`);
  return JSON.parse(stdout.trim().split('\n').at(-1));
}

function print(way, found, list) {
  console.log(`\n${WAYS[way] ?? LIMITS[way]} (load ${loadavg()[0].toFixed(1)})`);
  const sides = Object.keys(found);
  console.log(`  ${''.padEnd(44)}${sides.map((side) => side.padStart(10)).join('')}`);
  for (const what of Object.keys(found[sides[0]][0])) {
    const values = sides.map((side) => {
      const all = found[side].map((one) => one[what]);
      return what.includes('least') ? Math.min(...all) : median(all);
    });
    const ratio = values.length > 1 ? `   ${(values[0] / values[1]).toFixed(2)} times` : '';
    console.log(
      `  ${what.padEnd(44)}${values.map((one) => one.toFixed(1).padStart(10)).join('')}${ratio}`,
    );
    for (const [i, side] of sides.entries()) list.push({ way, side, what, value: values[i] });
  }
}
