/** What one user asks for stops no other: decompression, rows and curves are done aside, in turns, within limits. */
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { ComputePool } from '../../src/service/node/compute-pool.ts';
import type { ServedService } from '../../src/service/node/serve-service.ts';
import type { JobHost } from '../../src/service/jobs/job.ts';
import { partsOf } from '../../src/service/jobs/jobs.ts';
import { UPLOAD_MEDIA_TYPE } from '../../src/wire/protocol.ts';
import { pathOf } from '../../src/wire/route-paths.ts';
import { encodeUpload } from '../../src/wire/upload.ts';
import { packSegment } from '../../src/codecs/packed/pack.ts';
import { segmentChecksum } from '../../src/segment/checksum.ts';
import { metricSegmentOf } from '../support/real-segments.ts';
import { packedBombs } from '../support/packed-bomb.ts';
import { runOf } from '../support/segments.ts';
import type { NewSegment } from '../../src/store/store.ts';
import { ask, bearer, RunningServices, storeOf } from './running-service.ts';

const services = new RunningServices();
const pools: ComputePool[] = [];
afterEach(async () => {
  for (const pool of pools.splice(0)) await pool.close();
  await services.clear();
});

const POST = { method: 'POST' } as const;
const APPEND = pathOf('POST /segments');
/** Nothing comes back with time. */
const STILL = { ...systemClock, now: () => 1_700_000_000_000 };
const keyOf = async (
  service: ServedService,
  user: string,
  scope: 'write' | 'admin' = 'write',
): Promise<string> => (await service.access.createKey({ user, scope })).key;

function upload(segments: readonly NewSegment[], key: string) {
  const headers = { ...bearer(key), 'content-type': UPLOAD_MEDIA_TYPE };
  return { ...POST, headers, body: encodeUpload(segments) };
}

async function packed(segment: NewSegment): Promise<NewSegment> {
  const bytes = await packSegment(segment.bytes);
  const { manifest } = segment;
  const checksum = segmentChecksum(manifest, bytes);
  return {
    bytes,
    manifest: { ...manifest, encoding: 'packed', sizeBytes: bytes.length, checksum },
  };
}

describe('uploads that are larger than they look', () => {
  it('are refused without being unpacked to the end, while others are answered', async () => {
    const service = await services.start();
    const [mallory, bob] = [await keyOf(service, 'mallory'), await keyOf(service, 'bob')];
    await (await storeOf(service, mallory)).createRun(runOf());
    const store = await storeOf(service, bob);
    await store.createRun(runOf({ id: 'run_bob' }));
    const bombs = packedBombs('run_1', 1_000);
    const some = ask(service.port, APPEND, upload(bombs.slice(0, 4), mallory));
    const all = ask(service.port, APPEND, upload(bombs, mallory));
    expect(await store.appendSegments([metricSegmentOf(0, { runId: 'run_bob' })])).toHaveLength(1);
    expect(await some).toMatchObject({
      status: 400,
      text: expect.stringContaining('longer than its rows need'),
    });
    expect(await all).toMatchObject({ status: 413, text: expect.stringContaining('unpacked') });
    expect(
      await (await storeOf(service, mallory)).listSegments({ runId: 'run_1', table: 'metrics' }),
    ).toEqual([]);
  });

  it('are bounded by what a user may unpack', async () => {
    const service = await services.start({ clock: STILL, limits: { byteBurst: 600_000 } });
    const [alice, bob] = [await keyOf(service, 'alice'), await keyOf(service, 'bob')];
    for (const key of [alice, bob]) await (await storeOf(service, key)).createRun(runOf());
    const large = await packed(metricSegmentOf(0, { rowCount: 20_000 }));
    const answers = [];
    for (const batch of [0, 1]) {
      const { manifest, bytes } = large;
      const next = { ...manifest, batchNumber: batch };
      const segment = { bytes, manifest: { ...next, checksum: segmentChecksum(next, bytes) } };
      answers.push(await ask(service.port, APPEND, upload([segment], alice)));
    }
    expect(answers.map(({ status }) => status)).toEqual([200, 429]);
    expect(Number(answers[1]?.headers['retry-after'])).toBeGreaterThan(0);
    expect((await ask(service.port, APPEND, upload([large], bob))).status).toBe(200);
  });
});

describe('jobs in workers', () => {
  it('give the same as on the thread of the service', async () => {
    const service = await services.start({ keyless: 'always' });
    const store = await storeOf(service);
    await store.createRun(runOf());
    const large = [
      await packed(metricSegmentOf(0, { rowCount: 70_000 })),
      metricSegmentOf(1, { rowCount: 70_000, key: 'b' }),
    ];
    expect(await store.appendSegments(large)).toHaveLength(2);
    const answer = await ask(service.port, '/api/v1/runs/run_1/tables/metrics/rows?format=jsonl');
    const lines = answer.text.trimEnd().split('\n');
    expect(lines).toHaveLength(140_000);
    expect(JSON.parse(lines[139_999] ?? '')).toMatchObject({ metric_key: 'b', sequence: 139_999 });
    const curves = await store.readCurves?.({ runId: 'run_1', buckets: 100 });
    expect(curves).toMatchObject({ rowCount: 140_000, damagedCount: 0 });
    expect(curves?.curves.map(({ metricKey }) => metricKey).toSorted()).toEqual([
      'b',
      'train/loss',
    ]);
  });

  it('end a request that takes more processor time than one may', async () => {
    const service = await services.start({ limits: { processorMsPerRequest: 1 } });
    const key = await keyOf(service, 'alice');
    await (await storeOf(service, key)).createRun(runOf());
    const large = metricSegmentOf(0, { rowCount: 100_000 });
    expect(await ask(service.port, APPEND, upload([large], key))).toMatchObject({
      status: 413,
      text: expect.stringContaining('processor time'),
    });
  });

  const poolOf = (): ComputePool => {
    const pool = new ComputePool({ size: 2, clock: systemClock, processorMsPerRequest: 60_000 });
    pools.push(pool);
    return pool;
  };
  const NOTHING: JobHost['store'] = {
    listSegments: () => Promise.resolve([]),
    readSegments: () => Promise.resolve([]),
  };

  it('end when their client leaves, and let others go on', async () => {
    const pool = poolOf();
    const stop = new AbortController();
    const segments = packedBombs('run_1', 64);
    let charged = 0;
    const mallory = pool.of('mallory', (ms) => (charged += ms));
    const left = mallory.start(
      { name: 'check', segments },
      { store: NOTHING, signal: stop.signal },
    );
    const ended = left.next().catch((error: unknown) => error);
    stop.abort();
    expect(await ended).toMatchObject({ code: 'aborted' });
    for (const user of ['mallory', 'bob']) {
      const next = pool
        .of(user, () => undefined)
        .start({ name: 'check', segments: [metricSegmentOf(0)] }, { store: NOTHING });
      const parts = [];
      for await (const part of partsOf(next)) parts.push(part.byteLength);
      expect(parts).toEqual([0]);
    }
    expect(charged).toBeGreaterThanOrEqual(0);
  });

  it('throw what the store throws, and what there is no room for', async () => {
    const pool = poolOf().of('alice', () => undefined);
    const query = {
      table: 'metrics',
      runId: 'run_1',
      format: 'jsonl',
      position: {},
      conditions: {},
      limit: undefined,
      skipsDamage: false,
    } as const;
    const broken = new Error('the database is away');
    const away = { ...NOTHING, listSegments: () => Promise.reject(broken) };
    await expect(pool.start({ name: 'rows', query }, { store: away }).next()).rejects.toBe(broken);
    const { manifest } = metricSegmentOf(0);
    const one = { ...manifest, firstSequence: 0, lastSequence: 9 };
    const full = new Error('no room');
    const task = pool.start(
      { name: 'rows', query },
      {
        store: { ...NOTHING, listSegments: () => Promise.resolve([one]) },
        takeRoom: (bytes) => {
          if (bytes > 0) throw full;
        },
      },
    );
    await expect(task.next()).rejects.toBe(full);
  });
});

describe('limits of a user', () => {
  it('count the requests of all of its keys together', async () => {
    const service = await services.start({ clock: STILL, limits: { requestBurst: 20 } });
    const alice = [];
    for (let i = 0; i < 30; i++) alice.push(await keyOf(service, 'alice'));
    const bob = await keyOf(service, 'bob');
    const statusOf = async (key: string): Promise<number> =>
      (await ask(service.port, '/api/v1/account', { headers: bearer(key) })).status;
    const statuses = [];
    for (const key of alice) statuses.push(await statusOf(key));
    expect(statuses.filter((status) => status === 200)).toHaveLength(20);
    expect(statuses.filter((status) => status === 429)).toHaveLength(10);
    expect(await statusOf(bob)).toBe(200);
  });

  it('count streams of all of its keys together', async () => {
    const service = await services.start({ limits: { streamsPerUser: 2 } });
    const keys = [await keyOf(service, 'alice'), await keyOf(service, 'alice')];
    const stop = new AbortController();
    const open = (key = ''): Promise<Response> =>
      fetch(`${service.url}api/v1/events`, { headers: bearer(key), signal: stop.signal });
    const statuses = [];
    for (const key of [keys[0], keys[1], keys[0]]) statuses.push((await open(key)).status);
    expect(statuses).toEqual([200, 200, 429]);
    expect((await open(await keyOf(service, 'bob'))).status).toBe(200);
    stop.abort();
  });

  it('bound how many keys it makes', async () => {
    const service = await services.start({ clock: STILL, limits: { keysPerMinute: 2 } });
    const headers = {
      ...bearer(await keyOf(service, 'alice', 'admin')),
      'content-type': 'application/json',
    };
    const body = JSON.stringify({ key: { scope: 'read' } });
    const answers = [];
    for (let i = 0; i < 3; i++)
      answers.push(await ask(service.port, '/api/v1/keys', { ...POST, headers, body }));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(Number(answers[2]?.headers['retry-after'])).toBeGreaterThan(0);
  });
});
