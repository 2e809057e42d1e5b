// The whole way of a metric in Node: `log`, flush, SQLite, merge, read back. Against what a user would write by hand
// with the same driver: one row a point, one transaction.
//
//   npm run bench -- record
//
// Inside the figures: everything from the call of `log` to the acknowledgement of the store. Samples are float64 with
// noise in every bit of the mantissa, 20 metrics taking turns, steps counting up, time stamps from the clock.
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'libsql';
import { MetricsLogger, openRun, openStorage, startRun } from '../dist/index.js';
import { interleaved, report } from './harness.mjs';

const POINTS = 1_000_000;
const KEYS = Array.from({ length: 20 }, (_, i) => `group${i % 4}/metric_${i}`);
const build = fileURLToPath(new URL('../build/', import.meta.url));
await mkdir(build, { recursive: true });
const root = await mkdtemp(join(build, 'bench-record-'));
let counter = 0;
const fresh = () => join(root, `${counter++}`);
const values = new Float64Array(POINTS);
for (let i = 0, s = 5; i < POINTS; i++) {
  s ^= s << 13;
  s ^= s >>> 17;
  s ^= s << 5;
  values[i] = 2 * Math.exp(-i / POINTS) + ((s >>> 0) / 4294967296) * Math.SQRT1_2 * 0.1;
}

const PARTS = { log: logCost, sqlite: recording, read: reading };

// Each part in a process of its own: what one leaves in the heap and in the compiler would weigh on the next.
const part = process.argv.find((argument) => Object.hasOwn(PARTS, argument));
try {
  if (part === undefined) {
    for (const name of Object.keys(PARTS)) {
      const file = fileURLToPath(import.meta.url);
      const { status } = spawnSync(process.execPath, [...process.execArgv, file, name], {
        stdio: 'inherit',
      });
      if (status !== 0) process.exitCode = status ?? 1;
    }
  } else {
    await PARTS[part]();
  }
} finally {
  await rm(root, { recursive: true, force: true });
}

/** One `log` against one push, in loops of a million that never flush in between. */
async function logCost() {
  const calls = 1_000_000;
  const session = await startRun({ project: 'bench', storage: 'memory:' });
  const metrics = new MetricsLogger(session, {
    batchSize: calls * 2,
    maxBufferedRows: calls * 3,
    flushIntervalMs: 3_600_000,
  });
  const timestamp = Date.now();
  const cases = {
    push: () => {
      const rows = [];
      const before = performance.now();
      for (let i = 0; i < calls; i++) rows.push({ key: KEYS[i % 20], value: values[i], step: i });
      return performance.now() - before;
    },
    log: async () => {
      const before = performance.now();
      for (let i = 0; i < calls; i++) metrics.log(KEYS[i % 20], values[i], { step: i });
      const ms = performance.now() - before;
      await session.flush();
      return ms;
    },
    logAtTime: async () => {
      const before = performance.now();
      for (let i = 0; i < calls; i++) metrics.log(KEYS[i % 20], values[i], { step: i, timestamp });
      const ms = performance.now() - before;
      await session.flush();
      return ms;
    },
  };
  const ms = await interleaved(cases, 9);
  const ns = (name) => (ms[name] / calls) * 1e6;
  await session.endRun();
  await session.close();
  await report('record-log', [
    { what: 'push of a three-field object to an array', value: ns('push'), unit: 'ns' },
    {
      what: 'metrics.log(key, value, { step })',
      value: ns('log'),
      unit: 'ns',
      target: 'under 1000',
    },
    { what: 'ratio to the push', value: ms.log / ms.push, unit: 'x', target: 'at most 5' },
    {
      what: 'metrics.log with a time stamp given (no clock read)',
      value: ns('logAtTime'),
      unit: 'ns',
    },
  ]);
}

async function recording() {
  const bytes = {};
  const record = (flushRows) => async () => {
    const directory = fresh();
    const session = await startRun({ project: 'bench', storageDir: directory });
    const metrics = new MetricsLogger(session, { batchSize: flushRows });
    const before = performance.now();
    for (let i = 0; i < POINTS;) {
      const end = Math.min(POINTS, i + flushRows);
      for (; i < end; i++)
        metrics.log(KEYS[i % 20], values[i], { step: (i / 20) | 0, epoch: (i / 100_000) | 0 });
      await session.flush();
    }
    const ms = performance.now() - before;
    const ended = performance.now();
    await session.endRun();
    bytes[`merge${flushRows}`] = performance.now() - ended;
    await session.close();
    bytes[flushRows] = (await stat(join(directory, '.quark', 'quark.db'))).size;
    await rm(directory, { recursive: true });
    return ms;
  };
  const rows = async () => {
    const directory = fresh();
    await mkdir(directory);
    const db = rowDatabase(join(directory, 'rows.db'));
    const before = performance.now();
    insertRows(db, POINTS);
    const ms = performance.now() - before;
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    db.close();
    bytes.rows = (await stat(join(directory, 'rows.db'))).size;
    await rm(directory, { recursive: true });
    return ms;
  };
  const ms = await interleaved({ rows, flush1000: record(1000), flush10000: record(10_000) }, 7);
  const rate = (name) => POINTS / ms[name] / 1000;
  await report('record-sqlite', [
    { what: 'one row a point, one transaction', value: rate('rows'), unit: 'M points/s' },
    { what: 'log + flush every 1,000', value: rate('flush1000'), unit: 'M points/s' },
    { what: '  ratio to rows', value: ms.rows / ms.flush1000, unit: 'x', target: 'at least 6' },
    { what: 'log + flush every 10,000', value: rate('flush10000'), unit: 'M points/s' },
    { what: '  ratio to rows', value: ms.rows / ms.flush10000, unit: 'x', target: 'at least 10' },
    {
      what: 'bytes a point on disk after the run (flush 1,000)',
      value: bytes[1000] / POINTS,
      unit: 'B',
      target: 'at most 14',
    },
    {
      what: 'bytes a point on disk after the run (flush 10,000)',
      value: bytes[10_000] / POINTS,
      unit: 'B',
      target: 'at most 14',
    },
    { what: 'bytes a point as rows', value: bytes.rows / POINTS, unit: 'B' },
    { what: 'endRun with merging (flush 1,000)', value: bytes.merge1000, unit: 'ms' },
  ]);
}

/** 20 metrics of a million points each; one of them is read. */
async function reading() {
  const total = POINTS * KEYS.length;
  const directory = fresh();
  const session = await startRun({ project: 'bench', storageDir: directory });
  const metrics = new MetricsLogger(session, { batchSize: 50_000 });
  for (let i = 0; i < total;) {
    const end = Math.min(total, i + 50_000);
    for (; i < end; i++) metrics.log(KEYS[i % 20], values[i % POINTS], { step: (i / 20) | 0 });
    await session.flush();
  }
  await session.endRun();
  await session.close();
  const rowDirectory = fresh();
  await mkdir(rowDirectory);
  const db = rowDatabase(join(rowDirectory, 'rows.db'));
  insertRows(db, total);
  db.exec('CREATE INDEX by_key ON points (key, step)');
  const select = db.prepare('SELECT key, value, step, epoch, time FROM points WHERE key = ?');
  const store = await openStorage(directory);
  const reader = await openRun(store, session.runId);
  const ms = await interleaved(
    {
      columns: async () => {
        const columns = await reader.readMetricColumns({ metricKey: KEYS[7] });
        if (columns.rowCount !== POINTS) throw new Error(`read ${columns.rowCount} points`);
      },
      select: () => {
        if (select.all(KEYS[7]).length !== POINTS) throw new Error('rows are missing');
      },
    },
    7,
  );
  await store.close();
  db.close();
  await report('record-read', [
    {
      what: 'SELECT of 1,000,000 points of one metric of 20 into objects (indexed)',
      value: ms.select,
      unit: 'ms',
    },
    { what: 'the same as columns', value: ms.columns, unit: 'ms' },
    { what: '  ratio', value: ms.select / ms.columns, unit: 'x', target: 'at least 10' },
  ]);
}

function rowDatabase(path) {
  const db = new Database(path);
  db.exec('PRAGMA journal_mode = WAL');
  db.exec('PRAGMA synchronous = NORMAL');
  db.exec(
    'CREATE TABLE points (key TEXT NOT NULL, value REAL NOT NULL, step INTEGER, epoch INTEGER, time INTEGER NOT NULL)',
  );
  return db;
}

function insertRows(db, count) {
  const insert = db.prepare(
    'INSERT INTO points (key, value, step, epoch, time) VALUES (?, ?, ?, ?, ?)',
  );
  db.exec('BEGIN');
  for (let i = 0; i < count; i++)
    insert.run(KEYS[i % 20], values[i % POINTS], (i / 20) | 0, (i / 100_000) | 0, Date.now());
  db.exec('COMMIT');
}
