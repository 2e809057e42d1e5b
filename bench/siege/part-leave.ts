/** Part 1: clients that leave, and what they leave behind. */
import { setTimeout as sleep } from 'node:timers/promises';
import { random as randomFrom } from '../../test/support/tensors.ts';
import { encodeUpload } from '../../src/wire/upload.ts';
import { UPLOAD_MEDIA_TYPE } from '../../src/wire/protocol.ts';
import { Helper } from './children.ts';
import type { LeavingCounts } from './leaving.ts';
import { criterion, ms, statusText, type Criterion, type Report, type Siege } from './report.ts';
import { everyRoute } from './routes.ts';
import {
  addArtifact,
  addRows,
  makeScene,
  noise,
  RUN_ID,
  sha256Of,
  type SiegeUser,
} from './scene.ts';
import { metricSegment } from './segments.ts';
import { ask, ServiceUnderSiege, type Held } from './service.ts';

/** What one siege of leaving clients is made of. */
export type LeaveSizes = {
  readonly requests: number;
  /** Requests that leave early before anything is measured. */
  readonly warmUpRequests: number;
  readonly users: number;
  readonly rows: number;
  readonly blobBytes: number;
  readonly largeUploads: number;
  readonly largeBytes: number;
  /** Connections of 2,000 requests, beside the others. */
  readonly floods: number;
  readonly atOnce: number;
};

const SHORT: LeaveSizes = {
  requests: 20_000,
  warmUpRequests: 0,
  users: 20,
  rows: 100_000,
  blobBytes: 4 << 20,
  largeUploads: 24,
  largeBytes: 60 << 20,
  floods: 5,
  atOnce: 48,
};
const LONG_REQUESTS = 100_000;
/** Requests of the long form before the measured ones: memory is compared with what the service has after them. */
const LONG_WARM_UP_REQUESTS = 20_000;
/** Budgets and handles are back within this. */
const BACK_MS = 1_000;
const SETTLE_LIMIT_MS = 15_000;
/** Connections of the probes and of the database may be open or not at the moment of the count. */
const SPARE_HANDLES = 8;
/** The heap and the allocator keep some of what they once had. */
const SPARE_MIB = 96;
const PROBE_EVERY_MS = 500;
/** A service that says that it is ready answers others within this time. */
const LIE_MS = 5_000;

type Probe = {
  readonly atMs: number;
  readonly ready: number;
  readonly rows: number;
  /** Why there were no rows. */
  readonly refusal: string;
};

/** The users of this part, each with a run and a payload. */
export async function makeLeaveScene(
  storage: string,
  sizes: LeaveSizes,
  seed: number,
): Promise<{ users: readonly SiegeUser[]; sha256: string }> {
  const random = randomFrom(seed);
  return makeScene(storage, async (scene) => {
    const blob = noise(random, sizes.blobBytes);
    const users: SiegeUser[] = [];
    for (let i = 0; i < sizes.users; i++) {
      const name = `u${i}`;
      const store = await scene.store(name);
      await addRows(store, RUN_ID, sizes.rows);
      await addArtifact(store, RUN_ID, blob);
      users.push({ name, key: await scene.key(name) });
    }
    return { users, sha256: sha256Of(blob) };
  });
}

/** Asks every route once, to the end, so that what is loaded once is loaded. */
async function warmUp(
  service: ServiceUnderSiege,
  users: readonly SiegeUser[],
  sha256: string,
): Promise<void> {
  const authorization = `Bearer ${users[0]?.key}`;
  const { text } = await ask(service.port, '/api/v1/openapi.json', { headers: { authorization } });
  for (const { method, path, headers, body } of everyRoute(JSON.parse(text), sha256))
    for (const user of users.slice(0, 4))
      await ask(service.port, path, {
        method,
        headers: { ...headers, authorization: `Bearer ${user.key}` },
        limitMs: path.includes('/events') ? 100 : 20_000,
        ...(body === undefined ? {} : { body }),
      });
}

/** Rows, curves and uploads of a user; statuses in this order. */
export async function everydayOf(
  port: number,
  user: SiegeUser,
  batchNumber: number,
): Promise<readonly number[]> {
  const headers = { authorization: `Bearer ${user.key}` };
  const upload = encodeUpload([
    metricSegment(RUN_ID, 'everyday', batchNumber, { rows: 1_000, metrics: 10 }),
  ]);
  const blob = new Uint8Array(8 << 20).fill(batchNumber);
  const answers = [
    await ask(port, `/api/v1/runs/${RUN_ID}/tables/metrics/rows`, { headers }),
    await ask(port, `/api/v1/runs/${RUN_ID}/curves`, { headers }),
    await ask(port, '/api/v1/segments', {
      method: 'POST',
      headers: { ...headers, 'content-type': UPLOAD_MEDIA_TYPE },
      body: upload,
    }),
    await ask(port, `/api/v1/blobs/${sha256Of(blob)}`, {
      method: 'PUT',
      headers: { ...headers, 'content-type': 'application/octet-stream' },
      body: blob,
    }),
  ];
  return answers.map(({ status }) => status);
}

/** Looks at the service as others do until it is told to end. */
function watch(port: number, user: SiegeUser): { end: () => Promise<readonly Probe[]> } {
  const probes: Probe[] = [];
  const over = new AbortController();
  const startMs = performance.now();
  const look = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const [ready, rows] = await Promise.all([
        ask(port, '/readyz', { limitMs: 10_000 }),
        ask(port, `/api/v1/runs/${RUN_ID}/tables/metrics/rows?limit=100`, {
          headers: { authorization: `Bearer ${user.key}` },
          limitMs: 10_000,
        }),
      ]);
      probes.push({
        atMs: performance.now() - startMs,
        ready: ready.status,
        rows: rows.status,
        refusal: rows.status === 200 ? '' : `${rows.status} ${rows.text.slice(0, 200)}`,
      });
      await sleep(PROBE_EVERY_MS);
    }
  };
  const looking = look();
  return {
    end: async () => {
      over.abort();
      await looking;
      return probes;
    },
  };
}

/** Longest time that `/readyz` said 200 while nothing else was answered with 200, in milliseconds. */
export function longestLie(probes: readonly Probe[]): number {
  let longest = 0;
  let since: number | undefined;
  for (const { atMs, ready, rows } of probes) {
    if (ready === 200 && rows !== 200) since ??= atMs;
    else since = undefined;
    if (since !== undefined) longest = Math.max(longest, atMs - since);
  }
  return longest;
}

export async function siegeOfLeaving(siege: Siege): Promise<Report> {
  const sizes = siege.isLong
    ? { ...SHORT, requests: LONG_REQUESTS, warmUpRequests: LONG_WARM_UP_REQUESTS }
    : SHORT;
  const { users, sha256 } = await makeLeaveScene(siege.folder, sizes, siege.seed);
  const leaving = users.slice(0, -1);
  const [bystander = { name: '', key: '' }] = users.slice(-1);
  const service = await ServiceUnderSiege.start(siege.dist, siege.folder);
  const leaver = new Helper(siege.program, true);
  try {
    const { port } = service;
    await warmUp(service, leaving, sha256);
    await service.settled(SETTLE_LIMIT_MS);
    const { requests: count, warmUpRequests, atOnce } = sizes;
    const plan = { port, seed: siege.seed, users: leaving };
    const mibAtStart = await service.residentMiB();
    if (warmUpRequests > 0) {
      const first = { ...plan, seed: siege.seed + 1, count: warmUpRequests, atOnce };
      await leaver.do({ kind: 'leave', plan: first, sha256 });
      await service.settled(SETTLE_LIMIT_MS);
    }
    const before = { handles: await service.handles(), mib: await service.residentMiB() };
    const cpuBefore = await service.processorSeconds();
    const watching = watch(port, bystander);
    const startMs = performance.now();
    const counts = await leaver.do<LeavingCounts>({
      kind: 'leave',
      plan: { ...plan, count, atOnce },
      sha256,
    });
    await leaver.do({
      kind: 'abort',
      plan: { ...plan, count: sizes.largeUploads },
      size: sizes.largeBytes,
      floods: sizes.floods,
    });
    const spentMs = performance.now() - startMs;
    const backMs = await service.settled(SETTLE_LIMIT_MS);
    const held = await service.held();
    const after = { handles: await service.handles(), mib: await service.residentMiB() };
    const everyday: number[] = [];
    for (const [i, user] of users.slice(-5).entries())
      everyday.push(...(await everydayOf(port, user, i)));
    const probes = await watching.end();
    const cpu = (await service.processorSeconds()) - cpuBefore;
    return {
      tables: [
        tableOf({ counts, sizes, spentMs, cpu, backMs, held, mibAtStart, before, after, probes }),
      ],
      criteria: criteriaOf({ backMs, held, before, after, everyday, probes, service }),
    };
  } finally {
    leaver.stop();
    await service.stop();
  }
}

type Levels = { readonly handles: number; readonly mib: number };

function tableOf(found: {
  counts: LeavingCounts;
  sizes: LeaveSizes;
  spentMs: number;
  cpu: number;
  backMs: number | undefined;
  held: Held;
  mibAtStart: number;
  before: Levels;
  after: Levels;
  probes: readonly Probe[];
}) {
  const { counts, sizes, spentMs, cpu, backMs, held, before, after, probes } = found;
  const refusals = [...new Set(probes.map(({ refusal }) => refusal.replaceAll(/\d{2,}/g, '...')))];
  const rows: string[][] = [
    ['requests that left early', `${counts.requests} in ${(spentMs / 1_000).toFixed(0)} s`],
    ['  by phase', statusText(counts.phases)],
    ['  by ending', statusText(counts.endings)],
    ['  routes and methods', String(counts.routes)],
    ['  statuses seen before leaving', statusText(counts.statuses)],
    ['uploads aborted, each of 60 MiB', String(sizes.largeUploads)],
    ['connections left with 2,000 requests each', String(sizes.floods)],
    ['processor time of the service', `${cpu.toFixed(1)} s`],
    [
      'budgets back after',
      backMs === undefined ? `never (${SETTLE_LIMIT_MS / 1_000} s)` : `${ms(backMs)} ms`,
    ],
    [
      'bytes in flight, streams, requests then',
      `${held.bytesInFlight}, ${held.openStreams}, ${held.requestsInFlight}`,
    ],
    ['handles before, after', `${before.handles}, ${after.handles}`],
    [
      `resident MiB at the start, after ${sizes.warmUpRequests} requests, after all`,
      [found.mibAtStart, before.mib, after.mib].map((mib) => mib.toFixed(0)).join(', '),
    ],
    ['why there were no rows', refusals.filter((text) => text !== '').join('; ')],
    [
      'looks at /readyz; 200; rows 200',
      `${probes.length}; ${probes.filter(({ ready }) => ready === 200).length}; ${probes.filter(({ rows: status }) => status === 200).length}`,
    ],
  ];
  return { title: 'Clients that leave', head: ['what', 'found'], rows };
}

function criteriaOf(found: {
  backMs: number | undefined;
  held: Held;
  before: Levels;
  after: Levels;
  everyday: readonly number[];
  probes: readonly Probe[];
  service: ServiceUnderSiege;
}): readonly Criterion[] {
  const { backMs, held, before, after, everyday, probes, service } = found;
  const lie = longestLie(probes);
  const others = everyday.filter((status) => status !== 200);
  return [
    criterion(
      'leave: budgets, streams and requests are back within a second',
      backMs !== undefined && backMs <= BACK_MS,
      backMs === undefined
        ? `never: ${held.bytesInFlight} bytes, ${held.openStreams} streams, ${held.requestsInFlight} requests`
        : `${ms(backMs)} ms`,
    ),
    criterion(
      `leave: handles are back, give or take ${SPARE_HANDLES}`,
      after.handles <= before.handles + SPARE_HANDLES,
      `${before.handles} to ${after.handles}`,
    ),
    criterion(
      `leave: memory is back, give or take ${SPARE_MIB} MiB`,
      after.mib <= before.mib + SPARE_MIB,
      `${before.mib.toFixed(0)} to ${after.mib.toFixed(0)} MiB`,
    ),
    criterion(
      'leave: rows, curves and uploads answer everybody with 200',
      others.length === 0,
      others.length === 0
        ? `${everyday.length} of ${everyday.length}`
        : `not 200: ${others.join(', ')}`,
    ),
    criterion(
      'leave: /readyz says the truth',
      lie < LIE_MS,
      `ready and not answering for ${(lie / 1_000).toFixed(1)} s at most`,
    ),
    criterion(
      'leave: the process is alive and logs no line a request',
      service.isRunning && service.log.lines < 500,
      `${service.log.lines} lines`,
    ),
  ];
}
