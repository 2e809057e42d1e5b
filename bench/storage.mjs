// Appending segments to the SQLite store, against one row a point with the same driver in one transaction.
//
//   node bench/storage.mjs [--points 1000000] [--rounds 7]
//
// Measured: `appendSegments` alone, one call (one transaction) a segment, segments of 28 bytes a point, made before the
// clock starts. Not measured: making the segments. The rows are what a user would write: metric, value, step and time,
// one INSERT each, in one transaction for all points, in WAL mode as the store.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import Database from 'libsql';
import { bundle } from '../test/support/bundle.mjs';
import { runOf, segmentOf } from './made-segments.mjs';

const BYTES_A_POINT = 28;
const { values: options } = parseArgs({
  options: {
    points: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '7' },
  },
});
const points = Number(options.points);
const rounds = Number(options.rounds);

// On the disk of the repository: temporary folders are often in memory.
const build = fileURLToPath(new URL('../build/', import.meta.url));
await mkdir(build, { recursive: true });
const root = await mkdtemp(join(build, 'bench-storage-'));
const { openFileStorage } = await import(
  await bundle('src/store/sql/node/file-storage.ts', { folder: join(root, 'code') })
);

const timed = async (work) => {
  const start = performance.now();
  await work();
  return performance.now() - start;
};

const RUN = runOf('run_1');

/** Appends all points in segments of `rowCount`; returns milliseconds. */
async function appendAll(folder, rowCount, query = '') {
  const store = await openFileStorage(`file:${encodeURI(folder)}${query}`);
  await store.createRun(RUN);
  const bytes = crypto.getRandomValues(new Uint8Array(BYTES_A_POINT * 1000));
  const whole = new Uint8Array(BYTES_A_POINT * rowCount);
  for (let at = 0; at < whole.length; at += bytes.length)
    whole.set(bytes.subarray(0, whole.length - at), at);
  const spent = await timed(async () => {
    for (let i = 0; i < points / rowCount; i++)
      await store.appendSegments([segmentOf(RUN.id, i, rowCount, whole)]);
  });
  await store.close();
  return spent;
}

/** Inserts all points as rows; returns milliseconds. */
async function insertAll(folder) {
  await mkdir(folder, { recursive: true });
  const database = new Database(join(folder, 'rows.db'));
  database.exec('PRAGMA journal_mode = WAL');
  database.exec('PRAGMA synchronous = NORMAL');
  database.exec('CREATE TABLE points (metric TEXT, value REAL, step INTEGER, time_ms REAL)');
  const insert = database.prepare('INSERT INTO points VALUES (?, ?, ?, ?)');
  const spent = await timed(async () => {
    database.exec('BEGIN');
    for (let i = 0; i < points; i++) insert.run(['train/loss', i * 0.001, i, 1.7e12 + i]);
    database.exec('COMMIT');
  });
  database.close();
  return spent;
}

const CASES = {
  'one row a point, one transaction': insertAll,
  'segments of 1,000 points': (folder) => appendAll(folder, 1000),
  'segments of 10,000 points': (folder) => appendAll(folder, 10_000),
  'segments of 1,000 points, synchronous=full': (folder) =>
    appendAll(folder, 1000, '?synchronous=full'),
  'segments of 10,000 points, synchronous=full': (folder) =>
    appendAll(folder, 10_000, '?synchronous=full'),
};

const spent = Object.fromEntries(Object.keys(CASES).map((name) => [name, []]));
try {
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of Object.entries(CASES)) {
      const folder = await mkdtemp(join(root, 'store-'));
      spent[name].push(await run(folder));
      await rm(folder, { recursive: true, force: true });
    }
  }
} finally {
  await rm(root, { recursive: true, force: true });
}

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
const rows = median(spent['one row a point, one transaction']);
const results = Object.entries(spent).map(([name, values]) => {
  const medianMs = median(values);
  return {
    name,
    medianMs,
    minMs: Math.min(...values),
    pointsPerSecond: (points / medianMs) * 1000,
    ratio: rows / medianMs,
  };
});
console.log(`${points} points, median of ${rounds} interleaved rounds`);
for (const { name, medianMs, pointsPerSecond, ratio } of results) {
  const figures = `${medianMs.toFixed(0).padStart(7)} ms ${(pointsPerSecond / 1e6).toFixed(2).padStart(7)} M points/s`;
  console.log(`${name.padEnd(46)} ${figures} ${ratio.toFixed(1).padStart(6)} x rows`);
}
const folder = new URL('results/', import.meta.url);
await mkdir(folder, { recursive: true });
await writeFile(
  new URL('storage.json', folder),
  `${JSON.stringify({ points, rounds, bytesAPoint: BYTES_A_POINT, node: process.version, results }, null, 2)}\n`,
);
