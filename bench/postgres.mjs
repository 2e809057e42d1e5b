// Appending segments to PostgreSQL, directly: the same calls as bench/storage.mjs makes on SQLite.
//
//   node bench/postgres.mjs [--points 1000000] [--rounds 5]
//
// Measured: `appendSegments` alone, segments of 28 bytes a point, made before the clock starts: one call (one
// transaction) a segment, ten segments a call, and runs side by side; and lists of the segments of a table, which are short
// reads. The same through PgBouncer in transaction mode, where it is installed: there no statement is prepared. The server is that of `DATABASE_URL`, or the one the
// tests bring, on the disk of the repository, with every commit waiting for that disk; beside it the same on SQLite, and
// what somebody would write by hand: the same bytes as one row, a statement each, each its own transaction.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { bundle } from '../test/support/bundle.mjs';
import { runOf, segmentOf } from './made-segments.mjs';
import { startPooler, startPostgres } from './service/processes.mjs';

const BYTES_A_POINT = 28;
const ROWS = 1000;
const { values: options } = parseArgs({
  options: {
    points: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '5' },
  },
});
const points = Number(options.points);
const rounds = Number(options.rounds);
const segments = points / ROWS;

const build = fileURLToPath(new URL('../build/', import.meta.url));
await mkdir(build, { recursive: true });
const root = await mkdtemp(join(build, 'bench-postgres-'));
const load = async (entry, name) => import(await bundle(entry, { folder: join(root, name) }));
const { openFileStorage } = await load('src/store/sql/node/file-storage.ts', 'file');
const { openPostgresStorage } = await load('src/store/sql/node/postgres-storage.ts', 'postgres');

const server = await startPostgres();
if (server === undefined) process.exit(1);

const bytes = crypto.getRandomValues(new Uint8Array(BYTES_A_POINT * ROWS));
const timed = async (work) => {
  const start = performance.now();
  await work();
  return performance.now() - start;
};

/** Appends all segments to one run, or shared out among several at the same time; returns milliseconds. */
async function appendAll(store, together, runs) {
  const prefix = crypto.randomUUID();
  const ids = Array.from({ length: runs }, (_, i) => `${prefix}-${i}`);
  for (const id of ids) await store.createRun(runOf(id));
  const spent = await timed(() =>
    Promise.all(
      ids.map(async (id) => {
        for (let at = 0; at < segments / runs; at += together)
          await store.appendSegments(
            Array.from({ length: together }, (_, i) => segmentOf(id, at + i, ROWS, bytes)),
          );
      }),
    ),
  );
  return spent;
}

const READS = 500;

/** Asks for the list of a few segments again and again; returns milliseconds. */
async function listAgain(store) {
  const id = crypto.randomUUID();
  await store.createRun(runOf(id));
  await store.appendSegments(Array.from({ length: 5 }, (_, i) => segmentOf(id, i, ROWS, bytes)));
  return timed(async () => {
    for (let i = 0; i < READS; i++) await store.listSegments({ runId: id, table: 'metrics' });
  });
}

async function insertByHand() {
  const client = new pg.Client({ connectionString: server.uri });
  await client.connect();
  await client.query('CREATE TABLE IF NOT EXISTS by_hand (id BIGINT, bytes BYTEA)');
  const spent = await timed(async () => {
    for (let i = 0; i < segments; i++)
      await client.query({
        name: 'insert',
        text: 'INSERT INTO by_hand VALUES ($1, $2)',
        values: [i, bytes],
      });
  });
  await client.query('DROP TABLE by_hand');
  await client.end();
  return spent;
}

const sqlite = await openFileStorage(join(root, 'sqlite'));
const postgres = await openPostgresStorage(server.uri);
const pooler = await startPooler(server);
const pooled = pooler && (await openPostgresStorage(pooler.uri));
const CASES = {
  'by hand, one row a segment': insertByHand,
  'PostgreSQL, a segment a call': () => appendAll(postgres, 1, 1),
  'PostgreSQL, 10 segments a call': () => appendAll(postgres, 10, 1),
  'PostgreSQL, a segment a call, 10 runs at once': () => appendAll(postgres, 1, 10),
  [`PostgreSQL, ${READS} lists`]: () => listAgain(postgres),
  ...(pooled && {
    'through PgBouncer, a segment a call': () => appendAll(pooled, 1, 1),
    'through PgBouncer, 10 segments a call': () => appendAll(pooled, 10, 1),
    'through PgBouncer, a segment a call, 10 runs at once': () => appendAll(pooled, 1, 10),
    [`through PgBouncer, ${READS} lists`]: () => listAgain(pooled),
  }),
  'SQLite, a segment a call': () => appendAll(sqlite, 1, 1),
  'SQLite, 10 segments a call': () => appendAll(sqlite, 10, 1),
};
const spent = Object.fromEntries(Object.keys(CASES).map((name) => [name, []]));
try {
  for (let round = 0; round < rounds; round++)
    for (const [name, run] of Object.entries(CASES)) spent[name].push(await run());
} finally {
  await sqlite.close();
  await postgres.close();
  await pooled?.close();
  await pooler?.stop();
  await server.stop();
  await rm(root, { recursive: true, force: true });
}

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
const byHand = median(spent['by hand, one row a segment']);
const results = Object.entries(spent).map(([name, values]) => ({
  name,
  medianMs: median(values),
  pointsPerSecond: (points / median(values)) * 1000,
  ratio: byHand / median(values),
}));
console.log(`${points} points in segments of ${ROWS}, median of ${rounds} interleaved rounds`);
for (const { name, medianMs, pointsPerSecond, ratio } of results) {
  const spentMs = `${name.padEnd(52)} ${medianMs.toFixed(0).padStart(7)} ms`;
  if (name.endsWith('lists')) console.log(`${spentMs} ${(medianMs / READS).toFixed(2)} ms each`);
  else {
    const rate = `${(pointsPerSecond / 1e6).toFixed(2).padStart(7)} M points/s`;
    console.log(`${spentMs} ${rate} ${ratio.toFixed(2).padStart(6)} x by hand`);
  }
}
const folder = new URL('results/', import.meta.url);
await mkdir(folder, { recursive: true });
await writeFile(
  new URL('postgres.json', folder),
  `${JSON.stringify({ points, rounds, bytesAPoint: BYTES_A_POINT, node: process.version, results }, null, 2)}\n`,
);
