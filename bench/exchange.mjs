// Importing large files in Node, against the plainest loop over the same file: reading it and counting its lines or records.
//
//   npm run bench -- exchange            everything
//   npm run bench -- exchange --only=csv
//   npm run bench -- exchange --only=drop     files of 50 MB dropped on the page in Chromium
//
// Each way runs in a process of its own, in turn, so that one's memory does not count for another; `maxRSS` is of that process. Inside
// the figures of an import: everything from the call of `importRuns` to the last acknowledgement of the store. The store of the first is
// SQLite in a folder; that of the second keeps runs and lets go of segments, which leaves reading, parsing and encoding.
import { spawnSync } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, open, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { makeCsv } from './exchange/csv.mjs';
import { benchDrops } from './exchange/drop.mjs';
import { tensorBoardPart } from './exchange/tensorboard.mjs';
import { median, report } from './harness.mjs';

const BYTES = Number(process.env.QUARK_BENCH_MB ?? 200) * 1_000_000;
const ROUNDS = Number(process.env.QUARK_BENCH_ROUNDS ?? 5);
const NEWLINE = 0x0a;

/** A part has a file that it makes and ways to go over it; a new one is a file in exchange/ and a line here. */
const PARTS = {
  csv: {
    file: 'metrics.csv',
    make: makeCsv,
    count: countLines,
    each: eachLine,
    plain: splitLines,
    unit: 'lines',
    labels: {
      count: 'reading it and counting its lines byte by byte',
      each: 'reading it by lines and counting them (readline)',
      plain: 'a loop over lines that makes numbers (readline, split, Number)',
    },
  },
  tensorboard: tensorBoardPart,
};

const folder = fileURLToPath(new URL('../build/', import.meta.url));
const [mode, asked, input] = process.argv.slice(2);
if (mode === '--child') await child(asked, input);
else await main();

async function main() {
  const only = process.argv
    .find((argument) => argument.startsWith('--only='))
    ?.slice('--only='.length)
    .split(',');
  await mkdir(folder, { recursive: true });
  const root = await mkdtemp(join(folder, 'bench-exchange-'));
  try {
    for (const [name, { file, make, unit, labels }] of Object.entries(PARTS)) {
      if (only !== undefined && !only.includes(name)) continue;
      const target = join(root, file);
      const count = await make(target, BYTES);
      const megabytes = (await stat(target)).size / 1e6;
      const ways = ['count', 'each', 'plain', 'import-parse', 'import-sqlite'];
      const results = Object.fromEntries(ways.map((way) => [way, []]));
      for (let round = 0; round < ROUNDS; round++)
        for (const way of ways) results[way].push(run(`${name}:${way}`, target, root));
      const ms = (way) => median(results[way].map((result) => result.ms));
      const memory = (way) => Math.max(...results[way].map((result) => result.maxRssMb));
      const ratio = (way, base) =>
        median(results[way].map((result, i) => result.ms / results[base][i].ms));
      await report(`exchange-${name}`, [
        { what: `file, ${count} ${unit}`, value: megabytes, unit: 'MB' },
        { what: labels.count, value: ms('count'), unit: 'ms' },
        { what: labels.each, value: ms('each'), unit: 'ms' },
        { what: labels.plain, value: ms('plain'), unit: 'ms' },
        { what: 'importRuns, segments let go', value: ms('import-parse'), unit: 'ms' },
        { what: '  ratio to counting', value: ratio('import-parse', 'count'), unit: 'x' },
        {
          what: '  ratio to reading by lines, or with checksums',
          value: ratio('import-parse', 'each'),
          unit: 'x',
        },
        { what: '  ratio to the loop', value: ratio('import-parse', 'plain'), unit: 'x' },
        { what: 'importRuns into SQLite', value: ms('import-sqlite'), unit: 'ms' },
        {
          what: '  ratio to counting',
          value: ratio('import-sqlite', 'count'),
          unit: 'x',
          target: 'at most 2',
        },
        {
          what: '  ratio to reading by lines, or with checksums',
          value: ratio('import-sqlite', 'each'),
          unit: 'x',
        },
        {
          what: '  ratio to the loop',
          value: ratio('import-sqlite', 'plain'),
          unit: 'x',
          target: 'at most 2',
        },
        { what: 'largest resident memory: counting', value: memory('count'), unit: 'MB' },
        {
          what: 'largest resident memory: importRuns, segments let go',
          value: memory('import-parse'),
          unit: 'MB',
        },
        {
          what: 'largest resident memory: importRuns into SQLite',
          value: memory('import-sqlite'),
          unit: 'MB',
          target: 'under 300',
        },
      ]);
    }
    if (only === undefined || only.includes('drop'))
      await benchDrops(PARTS, root, Math.min(ROUNDS, 5));
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

function run(way, path, root) {
  const { status, stdout } = spawnSync(
    process.execPath,
    [fileURLToPath(import.meta.url), '--child', way, path],
    {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, QUARK_BENCH_STORE: join(root, 'store') },
    },
  );
  if (status !== 0) throw new Error(`${way} ended with ${status}`);
  return JSON.parse(stdout.trim().split('\n').at(-1));
}

async function child(way, path) {
  const [name, what] = way.split(':');
  const before = performance.now();
  let result;
  if (what === 'count') result = await PARTS[name].count(path);
  else if (what === 'each') result = await PARTS[name].each(path);
  else if (what === 'plain') result = await PARTS[name].plain(path);
  else result = await importInto(path, what === 'import-sqlite');
  const ms = performance.now() - before;
  console.log(JSON.stringify({ ms, result, maxRssMb: process.resourceUsage().maxRSS / 1024 }));
}

async function importInto(path, isKept) {
  const { importRuns } = await import('../dist/exchange.js');
  const { createMemoryStore, openStorage } = await import('../dist/index.js');
  const { openInputFiles } = await import('../dist/node.js');
  const directory = process.env.QUARK_BENCH_STORE;
  let store;
  if (isKept) store = await openStorage(directory);
  else {
    const inner = createMemoryStore();
    store = new Proxy(inner, {
      get(target, key) {
        const value = Reflect.get(target, key, target);
        if (key === 'appendSegments') return async () => {};
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }
  const files = await openInputFiles([path]);
  const { runs, problems } = await importRuns(files, store);
  await store.close();
  if (isKept) await rm(directory, { recursive: true });
  if (problems.length > 0) throw new Error(JSON.stringify(problems[0]));
  return runs[0].rowCount;
}

/** The plainest loop: every byte looked at once. */
async function countLines(path) {
  const file = await open(path);
  const piece = new Uint8Array(1 << 20);
  let lines = 0;
  for (;;) {
    const { bytesRead } = await file.read(piece, 0, piece.length, null);
    if (bytesRead === 0) break;
    for (let i = 0; i < bytesRead; i++) if (piece[i] === NEWLINE) lines++;
  }
  await file.close();
  return lines;
}

/** The plainest loop that has the lines in hand. */
async function eachLine(path) {
  let lines = 0;
  // oxlint-disable-next-line no-unused-vars -- a line is what is made
  for await (const line of createInterface({ input: createReadStream(path) })) lines++;
  return lines;
}

/** What people write. */
async function splitLines(path) {
  let sum = 0;
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity }))
    for (const cell of line.split(',')) if (cell !== '') sum += Number(cell) || 0;
  return sum;
}
