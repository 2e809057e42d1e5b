/** Clients with an outbox, killed at random while the service is killed too; clients that go on with one run at once. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import { openHttpStorage } from '../../src/wire/http-store.ts';
import { openOutbox } from '../../src/sync/open-outbox.ts';
import {
  buildProgram,
  pause,
  startClient,
  startService,
  type Child,
  type Program,
} from './processes.ts';
import { FaultyProxy } from './proxy.ts';
import { CLIENT_ROWS, compareRows, OUTBOX_SPACE, prepareRun, type Progress } from './rows.ts';
import { rounds } from '../support/property.ts';

const KILLS = rounds(15);
/** Runs that have to get through while every kind of fault goes on; in a campaign all of them. */
const ARRIVE_OVER_ALL = KILLS > 15 ? KILLS : Math.ceil(KILLS / 2);
const CLIENTS = 3;
const MAX_LIFE_MS = 250;

let program: Program;
let directory: string;
let service: Child;
let port: number;

beforeAll(async () => {
  program = await buildProgram('fault-program.ts');
  directory = await mkdtemp(join(tmpdir(), 'quark-faults-'));
  service = startService(program, { storage: join(directory, 'service') });
  port = Number(await service.line('listening'));
}, 120_000);

afterAll(async () => {
  await service.stop();
  await program.remove();
  await rm(directory, { recursive: true, force: true });
});

test(
  `clients with an outbox are killed ${KILLS} times over a bad network: what they kept arrives, once`,
  async () => {
    const local = join(directory, 'local');
    const proxy = await FaultyProxy.start(port);
    const lives = new Map<string, Progress>();
    let kills = 0;
    // Several at a time on one local store: one of them sends.
    const liveAgain = async (): Promise<void> => {
      while (kills < KILLS) {
        const life = kills++;
        const runId = `run_life_${life}`;
        const options = { uri: proxy.uri, directory: local, runId, writer: runId };
        const client = startClient(program, 'client', options);
        // Some are killed before anything is kept; one of each few has kept something, on any machine.
        await client.line(life % CLIENTS === 0 ? 'kept' : 'prepared');
        await pause(Math.random() * MAX_LIFE_MS);
        await client.kill();
        const last = (start: string): number =>
          Number(client.lines.findLast((line) => line.startsWith(start))?.slice(start.length) ?? 0);
        lives.set(runId, {
          acknowledged: last('kept ') * CLIENT_ROWS,
          tried: last('tries ') * CLIENT_ROWS,
        });
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, liveAgain));
    // Somebody comes later and sends what is left, over the same network.
    const outbox = openOutbox(await openFileStorage(local), {
      url: proxy.uri,
      space: OUTBOX_SPACE,
      timeoutMs: 2_000,
    });
    outbox.urge();
    const arrived = async (): Promise<number> => KILLS - (await outbox.sync.status()).pendingRuns;
    await expect
      .poll(arrived, { timeout: 30_000 + KILLS * 3_000, interval: 50 })
      .toBeGreaterThanOrEqual(ARRIVE_OVER_ALL);
    // The rest does not take long when it has become better.
    proxy.faults = ['none', 'none', 'none', 'delay', 'duplicate', 'reorder'];
    const status = await outbox.sync.synced({ timeoutMs: 120_000 });
    expect(status, JSON.stringify(status)).toMatchObject({
      pendingRuns: 0,
      pendingRows: 0,
      refusedSegments: [],
    });
    const remote = await openHttpStorage(`http://127.0.0.1:${port}/`, { space: OUTBOX_SPACE });
    let rows = 0;
    for (const [runId, progress] of lives) {
      rows += progress.acknowledged;
      expect(await compareRows(remote, new Map([[runId, progress]]), runId), runId).toEqual([]);
    }
    expect(rows).toBeGreaterThanOrEqual((KILLS / CLIENTS) * CLIENT_ROWS);
    await remote.close();
    await outbox.close();
    await proxy.close();
  },
  240_000 + KILLS * 5_000,
);

test('two clients go on with one run at once, over a bad network: rows and tags of both are there', async () => {
  const runId = 'run_shared';
  const batches = 20;
  const remote = await openHttpStorage(`http://127.0.0.1:${port}/`, { space: OUTBOX_SPACE });
  await prepareRun(remote, runId);
  const proxy = await FaultyProxy.start(port);
  proxy.faults = ['none', 'delay', 'truncate_answer', 'duplicate', 'reorder'];
  const writers = ['r0', 'r1'];
  const clients = writers.map((writer) =>
    startClient(program, 'resume', {
      uri: proxy.uri,
      directory: join(directory, writer),
      runId,
      writer,
      batches,
    }),
  );
  for (const client of clients) expect(await client.line('done')).toBe('0 0');
  const whole = { acknowledged: batches * CLIENT_ROWS, tried: batches * CLIENT_ROWS };
  const progress = new Map(writers.map((writer) => [writer, whole]));
  expect(await compareRows(remote, progress, runId)).toEqual([]);
  const wanted = writers.flatMap((writer) =>
    Array.from({ length: batches }, (_, i) => `${writer}-${i}`),
  );
  expect((await remote.findRun(runId))?.tags.toSorted()).toEqual(wanted.toSorted());
  await remote.close();
  await proxy.close();
}, 480_000);
