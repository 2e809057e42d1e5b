// The persistence service, with clients in another process.
//
//   npm run bench -- service [--only=ingest,live,list,curve] [--seconds=60] [--points=1000000] [--rounds=5]
//
// ingest: the same segments written to a store directly and over HTTP to a service over such a store, and as JSON, one
//         request for 100 points, to the same process and the same store.
// live:   200 runs at once, each logging 50 metrics at 10 steps a second; each sends once a second what it has.
// list:   10,000 runs, asked for by tag and status.
// curve:  the first curve of a metric of 1,000,000 points on the page, from the first request for its run to the frame it is in.
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { median, report } from './harness.mjs';
import { startPostgres, startService, workplace } from './service/processes.mjs';
import { runCurve } from './service/curve.mjs';
import { runLive } from './service/live.mjs';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: 'ingest,live,list,curve' },
    seconds: { type: 'string', default: '60' },
    points: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '5' },
  },
});
const dist = fileURLToPath(new URL('../dist/', import.meta.url));
const wanted = new Set(options.only.split(','));
const points = Number(options.points);
const rounds = Number(options.rounds);
const POINTS_PER_SEGMENT = 10_000;
/** About what an outbox puts into one request. */
const SEGMENTS_PER_REQUEST = 20;
const POINTS_PER_JSON = 100;
/** The slow way writes a part; the rate is what counts. */
const JSON_SHARE = 20;

const { root, program, parts, remove } = await workplace();
const rows = [];
const add = (what, value, unit, target) => rows.push({ what, value, unit, target });
const load = () => loadavg()[0];

const timed = async (work) => {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
};

async function appendAll(store, runId) {
  const segments = Array.from({ length: points / POINTS_PER_SEGMENT }, (_, i) =>
    parts.segmentOfBatch(runId, i, POINTS_PER_SEGMENT, 50),
  );
  return timed(async () => {
    for (let at = 0; at < segments.length; at += SEGMENTS_PER_REQUEST)
      await store.appendSegments(segments.slice(at, at + SEGMENTS_PER_REQUEST));
  });
}

async function sendJson(uri, runId) {
  const bodies = Array.from({ length: points / POINTS_PER_JSON / JSON_SHARE }, (_, i) =>
    parts.pointsFrom(i * 2, POINTS_PER_JSON, 50),
  );
  return timed(async () => {
    for (const body of bodies) {
      const init = { method: 'POST', body: JSON.stringify(body) };
      const answer = await fetch(`${uri}points/${runId}`, init);
      if (!answer.ok) throw new Error(await answer.text());
      await answer.arrayBuffer();
    }
  });
}

/** Rates in points a second, one round of each after the other; each into a run of its own. */
async function ingest(name, storage, openDirect) {
  const service = await startService(program, { storage: storage('service') });
  const http = await parts.openHttpStorage(service.uri, { timeoutMs: 60_000 });
  const direct = await openDirect(storage('direct'));
  const spent = { direct: [], http: [], json: [] };
  for (let round = -1; round < rounds; round++) {
    // Both ways may lead into one database: the runs are different ones.
    const directId = `run_${name}_direct_${round + 1}`;
    const runId = `run_${name}_http_${round + 1}`;
    await parts.addRun(direct, directId);
    await parts.addRun(http, runId);
    const times = {
      direct: await appendAll(direct, directId),
      http: await appendAll(http, runId),
      json: (await sendJson(service.uri, runId)) * JSON_SHARE,
    };
    if (round < 0) continue;
    for (const [way, ms] of Object.entries(times)) spent[way].push(ms);
  }
  await http.close();
  await direct.close();
  await service.stop();
  const rate = (way) => points / median(spent[way]) / 1000;
  const ratios = (a, b) => median(spent[a].map((ms, i) => spent[b][i] / ms));
  add(`${name}: directly`, rate('direct'), 'M points/s');
  add(`${name}: over HTTP`, rate('http'), 'M points/s');
  add(`${name}: JSON, a request for 100 points`, rate('json') * 1000, 'k points/s');
  add(`${name}: over HTTP to directly`, ratios('http', 'direct'), 'x', 'at least 0.5');
  add(`${name}: over HTTP to JSON`, ratios('http', 'json'), 'x', 'at least 20');
}

async function list() {
  const directory = await mkdtemp(join(root, 'list-'));
  const store = await parts.openFileStorage(directory);
  for (let i = 0; i < 10_000; i++)
    await parts.addRun(store, `run_${i}`, {
      startedAtMs: 1_700_000_000_000 + i * 1000,
      status: ['completed', 'failed', 'running', 'interrupted'][i % 4],
      tags: [`group-${i % 10}`, `one-${i % 100}`, 'all'],
    });
  await store.close();
  const service = await startService(program, { storage: directory });
  const http = await parts.openHttpStorage(service.uri);
  const cases = {
    'one tag and a status, 100 of them': { tags: ['one-1'], statuses: ['failed'] },
    'a tag and a status, 500 of them': { tags: ['group-1'], statuses: ['failed'] },
    'a tag of all, a status, the first 100': { tags: ['all'], statuses: ['failed'], limit: 100 },
  };
  for (const [name, filter] of Object.entries(cases)) {
    const times = [];
    let found = 0;
    for (let round = -2; round < 4 * rounds; round++) {
      const ms = await timed(async () => {
        found = (await http.listRuns(filter)).length;
      });
      if (round >= 0) times.push(ms);
    }
    add(`10,000 runs: ${name} (found ${found})`, median(times), 'ms', 'under 100');
  }
  await http.close();
  await service.stop();
  await rm(directory, { recursive: true, force: true });
}

const folders = [];
const folder = async (name) => {
  const made = await mkdtemp(join(root, `${name}-`));
  folders.push(made);
  return made;
};

try {
  add('load of the machine at the start', load(), '');
  if (wanted.has('ingest')) {
    const [a, b] = [await folder('direct'), await folder('service')];
    await ingest('SQLite', (which) => (which === 'direct' ? a : b), parts.openFileStorage);
    const postgres = await startPostgres();
    if (postgres !== undefined) {
      await ingest(
        'PostgreSQL',
        () => postgres.uri,
        (uri) => parts.openPostgresStorage(uri),
      );
      await postgres.stop();
    }
  }
  if (wanted.has('list')) await list();
  if (wanted.has('live'))
    for (const row of await runLive({
      program,
      parts,
      storage: await folder('live'),
      seconds: Number(options.seconds),
    }))
      rows.push(row);
  if (wanted.has('curve'))
    for (const row of await runCurve({ dist, folder, points: 1_000_000, rounds })) rows.push(row);
  add('load of the machine at the end', load(), '');
  await report('service', rows);
} finally {
  await remove();
}
