/** A service after a power cut, and a client that was told "all sent" before: it finds what is missing, and sends it again. */
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readEvents } from '../../../src/read/events.ts';
import { openFileStorage } from '../../../src/store/sql/node/file-storage.ts';
import { SERVICE_LOST_ROWS } from '../../../src/sync/loss-notes.ts';
import { openOutbox } from '../../../src/sync/open-outbox.ts';
import type { OutboxStore } from '../../../src/sync/outbox-store.ts';
import { verifyRun } from '../../../src/sync/verify.ts';
import { openHttpStorage } from '../../../src/wire/http-store.ts';
import { compareRows, makeRun, RUN_ID, segmentOf } from '../../../test/faults/rows.ts';
import { random as randomFrom } from '../../../test/support/tensors.ts';
import { snapshotOf, storeOf } from './files.ts';
import { BATCH_ROWS } from './recording.ts';
import { statesOf, type CrashState, type Moment } from './states.ts';

const WRITER = 'client';
const SPACE = 'default';
const TIMEOUT_MS = 10_000;
/** On a machine that has much else to do. */
const PATIENCE_MS = 90_000;
const POLL_MS = 100;

/** A service over a storage. */
export type StartedService = { readonly port: number; stop(): Promise<unknown> };

export type ResendPlan = {
  readonly seed: number;
  /** Batches of the client, each sent by itself. */
  readonly batches: number;
  readonly states: number;
  /** @param port as the client knows it; 0: any */
  readonly start: (storage: string, port: number) => Promise<StartedService>;
};

export type ResendCounts = {
  readonly states: number;
  /** States that lacked rows, and rows that they lacked together. */
  readonly lossy: number;
  readonly rowsLost: number;
  /** Runs in which the loss is told. */
  readonly told: number;
  readonly wrong: readonly string[];
};

/** Records through a service whose disk does not wait, cuts the power, and waits for the client to repair what was lost. */
export async function resendAfterCuts(folder: string, plan: ResendPlan): Promise<ResendCounts> {
  const scratch = await mkdtemp(join(folder, 'resend-'));
  const { moments, port } = await recorded(scratch, plan);
  const random = randomFrom(plan.seed);
  const all = moments.flatMap((_, at) => statesOf(moments, at, 'normal', random));
  const counts = { states: 0, lossy: 0, rowsLost: 0, told: 0 };
  const wrong: string[] = [];
  const expected = plan.batches * BATCH_ROWS;
  // The last ones: what was written last is what a power cut takes.
  const late = all.filter(({ at }) => at >= moments.length / 2);
  const step = Math.max(1, Math.floor(late.length / plan.states));
  for (let i = 0; i < late.length && counts.states < plan.states; i += step) {
    const state = late[i];
    if (state === undefined) break;
    counts.states++;
    const storage = await storeOf(state.files, scratch);
    const lost = expected - (await rowsIn(state, scratch));
    if (lost > 0) counts.lossy++;
    counts.rowsLost += lost;
    const client = await mkdtemp(join(scratch, 'client-'));
    await cp(join(scratch, 'client'), client, { recursive: true });
    const service = await plan.start(storage, port);
    try {
      const found = await repaired(port, client, expected);
      if (found.isTold) counts.told++;
      wrong.push(...found.wrong.map((what) => `${state.kind}, step ${state.at}: ${what}`));
    } finally {
      await service.stop();
      await rm(storage, { recursive: true, force: true });
      await rm(client, { recursive: true, force: true });
    }
  }
  await rm(scratch, { recursive: true, force: true });
  return { ...counts, wrong };
}

async function recorded(
  scratch: string,
  plan: ResendPlan,
): Promise<{ readonly moments: readonly Moment[]; readonly port: number }> {
  const storage = join(scratch, 'service');
  await mkdir(storage);
  const service = await plan.start(`file:${storage}?synchronous=normal`, 0);
  const outbox = await outboxOf(service.port, join(scratch, 'client'));
  try {
    const moments: Moment[] = [{ files: await snapshotOf(storage, scratch) }];
    await makeRun(outbox, RUN_ID);
    for (let batch = 0; batch < plan.batches; batch++) {
      await outbox.appendSegments([segmentOf(WRITER, batch, BATCH_ROWS)]);
      const { pendingRows } = await outbox.sync.synced({ timeoutMs: PATIENCE_MS });
      if (pendingRows > 0) throw new Error(`${pendingRows} rows were not sent.`);
      moments.push({ files: await snapshotOf(storage, scratch) });
    }
    return { moments, port: service.port };
  } finally {
    await outbox.close();
    await service.stop();
  }
}

async function outboxOf(port: number, folder: string): Promise<OutboxStore> {
  const url = `http://127.0.0.1:${port}/`;
  return openOutbox(await openFileStorage(folder), { url, space: SPACE, timeoutMs: TIMEOUT_MS });
}

/** Rows that a state has of the client: counted in a copy, so that the service is the first to open the state itself. */
async function rowsIn({ files }: CrashState, scratch: string): Promise<number> {
  const copy = await storeOf(files, scratch);
  const store = await openFileStorage(copy);
  try {
    if ((await store.findRun(RUN_ID)) === undefined) return 0;
    const segments = await store.listSegments({ runId: RUN_ID, table: 'metrics' });
    return segments.reduce((sum, { rowCount }) => sum + rowCount, 0);
  } finally {
    await store.close();
    await rm(copy, { recursive: true, force: true });
  }
}

/** Opens the client's outbox and waits, as a client does that has nothing new to record. */
async function repaired(
  port: number,
  client: string,
  rows: number,
): Promise<{ readonly wrong: readonly string[]; readonly isTold: boolean }> {
  const outbox = await outboxOf(port, client);
  const remote = await openHttpStorage(`http://127.0.0.1:${port}/`, { space: SPACE });
  const until = performance.now() + PATIENCE_MS;
  let isEqual = false;
  try {
    while (!isEqual && performance.now() < until) {
      await outbox.sync.synced({ timeoutMs: 1_000 });
      isEqual =
        (await remote.findRun(RUN_ID)) !== undefined &&
        (await verifyRun(outbox.local, remote, RUN_ID)).isEqual;
      if (!isEqual) await sleep(POLL_MS);
    }
    if (!isEqual)
      return { wrong: ['the client did not send again what is missing'], isTold: false };
    const progress = new Map([[WRITER, { acknowledged: rows, tried: rows }]]);
    const wrong = await compareRows(remote, progress);
    const { records } = await readEvents(
      { store: remote, runId: RUN_ID },
      { eventType: SERVICE_LOST_ROWS },
    );
    return { wrong, isTold: records.length > 0 };
  } finally {
    await remote.close();
    await outbox.close();
  }
}
