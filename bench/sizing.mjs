// What a point costs a service: bytes on the way, in the database and once merged, and the processor time of merging. The
// figures of deploy/README.md come from here.
//
//   node bench/sizing.mjs [--flushes 640] [--metrics 20] [--steps 10]
//   DATABASE_URL=postgresql://... node bench/sizing.mjs      the size of the tables of PostgreSQL too
//
// A flush holds so many steps of so many metrics: values like those of a training, which fall and are noisy. Processor
// time is that of this process; a database of its own works beside it.
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { bundle } from '../test/support/bundle.mjs';
import { runOf } from './made-segments.mjs';

const { values: options } = parseArgs({
  options: {
    flushes: { type: 'string', default: '640' },
    metrics: { type: 'string', default: '20' },
    steps: { type: 'string', default: '10' },
  },
});
const flushes = Number(options.flushes);
const metrics = Number(options.metrics);
const steps = Number(options.steps);

// On the disk of the repository: temporary folders are often in memory.
const build = fileURLToPath(new URL('../build/', import.meta.url));
await mkdir(build, { recursive: true });
const root = await mkdtemp(join(build, 'bench-sizing-'));
const load = async (entry) =>
  import(await bundle(entry, { folder: join(root, entry.replaceAll('/', '-')) }));
const { metricTable } = await load('src/records/metric.ts');
const { batchOfRows } = await load('src/segment/batch-ops.ts');
const { createSegment } = await load('src/segment/manifest.ts');
const { Maintenance } = await load('src/service/maintenance/maintenance.ts');
const { openFileSpaces } = await load('src/store/sql/node/file-storage.ts');

const RUN = runOf('run_01hv3k9m2x7p5q8r4t6w0y1z2a');

function segmentOf(batchNumber) {
  const rows = [];
  for (let step = batchNumber * steps; step < (batchNumber + 1) * steps; step++) {
    for (let metric = 0; metric < metrics; metric++) {
      rows.push({
        timestamp: new Date(1.7e12 + step * 997 + Math.random() * 40).toISOString(),
        runId: RUN.id,
        metricKey: `train/metric_${metric}`,
        namespace: 'train',
        metricName: `metric_${metric}`,
        value: Math.exp(-step / 5000) + 0.05 * Math.random() + metric,
        step,
        epoch: Math.floor(step / 500),
        description: null,
        metadata: null,
      });
    }
  }
  const identity = {
    runId: RUN.id,
    table: 'metrics',
    writerId: 'wrt_01hv3k9m2x7p5q8r4t6w0y1z2a',
    batchNumber,
  };
  return createSegment(metricTable, identity, batchOfRows(metricTable, rows));
}

const processorMs = async (work) => {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
};
const points = flushes * steps * metrics;
const segments = Array.from({ length: flushes }, (_, i) => segmentOf(i));
const sum = (list, of) => list.reduce((total, item) => total + of(item), 0);
const show = (name, value, unit) =>
  console.log(`${name.padEnd(58)} ${value.toFixed(value < 10 ? 2 : 0).padStart(10)} ${unit}`);

console.log(`${flushes} flushes of ${steps} steps of ${metrics} metrics: ${points} points\n`);
show(
  'segment as written',
  sum(segments, ({ bytes }) => bytes.byteLength) / points,
  'bytes a point',
);
const bodies = [];
for (let at = 0; at < segments.length; at += 16) {
  const body = Buffer.concat(segments.slice(at, at + 16).map(({ bytes }) => bytes));
  bodies.push(gzipSync(body, { level: 6 }).byteLength);
}
show('16 segments in one body, gzip', sum(bodies, (size) => size) / points, 'bytes a point');

async function measure(name, spaces, sizeOf) {
  const store = spaces.store('bench');
  await store.createRun(RUN);
  await store.renewLease(RUN.id, 'bench', 1e9);
  const appendMs = await processorMs(async () => {
    for (const segment of segments) await store.appendSegments([segment]);
  });
  show(
    `${name}: append, one segment a call, processor time`,
    (appendMs * 1e6) / points,
    'ns a point',
  );
  if (sizeOf !== undefined)
    show(
      `${name}: unmerged`,
      (await sizeOf()) / flushes,
      'bytes a segment, with its rows and indexes',
    );
  const merges = [];
  const maintenance = new Maintenance(spaces, {
    onReport: (report) => void merges.push(report),
  });
  const mergeMs = await processorMs(async () => {
    for (let taken = 1; taken > 0;) taken = await maintenance.runOnce();
  });
  const failed = merges.filter((report) => report.kind === 'failed');
  if (failed.length > 0) throw failed[0].error;
  show(`${name}: merging, processor time`, (mergeMs * 1e6) / points, 'ns a point');
  show(`${name}: merging, processor time`, mergeMs / flushes, 'ms a segment');
  const merged = await store.listSegments({ runId: RUN.id, table: 'metrics' });
  show(
    `${name}: merged segments`,
    merged.length,
    `of ${(points / merged.length).toFixed(0)} points`,
  );
  show(`${name}: merged`, sum(merged, ({ sizeBytes }) => sizeBytes) / points, 'bytes a point');
  show(
    `${name}: merged`,
    sum(merged, ({ sizeBytes }) => sizeBytes) / merged.length,
    'bytes a segment',
  );
  await spaces.close();
}

try {
  console.log();
  await measure('SQLite', await openFileSpaces(join(root, 'store')));
  const uri = process.env.DATABASE_URL;
  if (uri !== undefined && uri !== '') {
    const { openPostgresSpaces } = await load('src/store/sql/node/postgres-storage.ts');
    const { default: pg } = await import('pg');
    const admin = new pg.Client({ connectionString: uri });
    await admin.connect();
    const schema = `quark_sizing_${process.pid}`;
    await admin.query(`CREATE SCHEMA ${schema}`);
    const own = new URL(uri);
    own.searchParams.set('options', `-c search_path=${schema}`);
    const sizeOf = async () => {
      const { rows } = await admin.query(
        `SELECT sum(pg_total_relation_size(format('%I.%I', schemaname, tablename)::regclass))::float8 AS bytes
         FROM pg_tables WHERE schemaname = $1 AND tablename IN ('segments', 'segment_bytes')`,
        [schema],
      );
      return Number(rows[0].bytes);
    };
    console.log();
    try {
      await measure('PostgreSQL', await openPostgresSpaces(own.href), sizeOf);
    } finally {
      await admin.query(`DROP SCHEMA ${schema} CASCADE`);
      await admin.end();
    }
  }
} finally {
  await rm(root, { recursive: true, force: true });
}
