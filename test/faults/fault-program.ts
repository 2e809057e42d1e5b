/** The processes of the tests beside this file: `service OPTIONS`, `client OPTIONS`, `resume OPTIONS`, `sender OPTIONS`. */
import { writeSync } from 'node:fs';
import { isStoreError } from '../../src/base/errors.ts';
import { openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import { serveService } from '../../src/service/node/serve-service.ts';
import type { ServiceLimits } from '../../src/service/limits/limits.ts';
import type { NewSegment, Store } from '../../src/store/store.ts';
import { openOutbox } from '../../src/sync/open-outbox.ts';
import type { OutboxStore } from '../../src/sync/outbox-store.ts';
import { Load } from './clients.ts';
import { CLIENT_ROWS, makeRun, OUTBOX_SPACE, segmentOf } from './rows.ts';

/** What a service is started with, as JSON. */
export type ServiceOptions = {
  readonly storage: string;
  readonly port?: number;
  /** In place of limits that are never reached. */
  readonly limits?: Partial<ServiceLimits>;
};

/** What a client is started with. */
export type ClientOptions = {
  readonly uri: string;
  /** Of its local store. */
  readonly directory: string;
  readonly runId: string;
  readonly writer: string;
  /** Batches of a client that ends by itself. */
  readonly batches?: number;
};

/** What a sender is started with: a client that keeps nothing of its own. */
export type SenderOptions = Pick<ClientOptions, 'uri' | 'writer'>;

/** Nobody waits for the sake of others here: the limits on how often have tests of their own. */
const LIMITS: Partial<ServiceLimits> = { requestsPerSecond: 1e6, requestBurst: 1e6 };

/** What a parent may say: by how much all clocks of the process are wrong from now on. */
export type ClockMessage = { readonly clockOffsetMs: number };

let offsetMs = 0;
const realNow = Date.now.bind(Date);
class JumpingDate extends Date {
  constructor(...given: readonly unknown[]) {
    super(...((given.length === 0 ? [JumpingDate.now()] : given) as [number]));
  }

  static override now(): number {
    return realNow() + offsetMs;
  }
}
globalThis.Date = JumpingDate as DateConstructor;
process.on('message', ({ clockOffsetMs }: ClockMessage) => {
  offsetMs = clockOffsetMs;
});
// The channel of a parent keeps no process alive.
process.channel?.unref();

const [mode = '', options = '{}'] = process.argv.slice(2);
const say = (line: string): void => {
  writeSync(1, `${line}\n`);
};

switch (mode) {
  case 'service':
    await serve(JSON.parse(options) as ServiceOptions);
    break;
  case 'client':
    await writeForever(JSON.parse(options) as ClientOptions);
    break;
  case 'resume':
    await resume(JSON.parse(options) as ClientOptions);
    break;
  case 'sender':
    await send(JSON.parse(options) as SenderOptions);
    break;
  default:
    throw new Error(`There is no mode ${mode}.`);
}

async function serve({ storage, port = 0, limits = LIMITS }: ServiceOptions): Promise<void> {
  const service = await serveService({ storage, port, limits });
  process.once('SIGTERM', () => {
    void service.close().then(() => process.exit(0));
  });
  say(`listening ${service.port}`);
}

/** Writes into an outbox without end and says how far the local store has it. */
async function writeForever({ uri, directory, runId, writer }: ClientOptions): Promise<never> {
  const outbox = await outboxOf(uri, directory);
  await makeRun(outbox, runId);
  say('prepared');
  for (let batch = 0; ; batch++) {
    say(`tries ${batch + 1}`);
    await outbox.appendSegments([segmentOf(writer, batch, CLIENT_ROWS, runId)]);
    say(`kept ${batch + 1}`);
    // The sending side gets a turn.
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
}

/** Sends without end, and says how far it has tried and how far the service has it. */
async function send({ uri, writer }: SenderOptions): Promise<void> {
  const load = new Load({
    uri: () => uri,
    clients: 1,
    writerOf: () => writer,
    rowsPerBatch: CLIENT_ROWS,
    timeoutMs: 10_000,
    onProgress: ({ tried, acknowledged }) => {
      say(`rows ${tried} ${acknowledged}`);
    },
  });
  await load.failed;
}

/** Goes on with a run of the service that it has nothing of: rows of its own, and tags. */
async function resume({
  uri,
  directory,
  runId,
  writer,
  batches = 0,
}: ClientOptions): Promise<void> {
  const outbox = await outboxOf(uri, directory);
  // Without the service nobody knows the run yet.
  while ((await outbox.findRun(runId).catch(() => undefined)) === undefined);
  for (let batch = 0; batch < batches; batch++) {
    await outbox.renewLease(runId, writer, 10_000).catch(passUnreachable);
    await addTag(outbox, runId, `${writer}-${batch}`);
    await append(outbox, segmentOf(writer, batch, CLIENT_ROWS, runId));
  }
  const { pendingRuns, refusedSegments } = await outbox.sync.synced({ timeoutMs: 240_000 });
  await outbox.close();
  say(`done ${pendingRuns} ${refusedSegments.length}`);
  process.exit(0);
}

/** Appends; a run that lies elsewhere has to be asked for first. */
async function append(store: Store, segment: NewSegment): Promise<void> {
  for (;;) {
    try {
      await store.appendSegments([segment]);
      return;
    } catch (error) {
      passUnreachable(error);
    }
  }
}

/** A claim of a run that lies elsewhere is made there. */
function passUnreachable(error: unknown): void {
  if (!isStoreError(error, 'unreachable')) throw error;
}

async function addTag(store: Store, runId: string, tag: string): Promise<void> {
  for (;;) {
    try {
      const run = await store.findRun(runId);
      // The answer to the change may have been lost.
      if (run?.tags.includes(tag) === true) return;
      if (run !== undefined) await store.updateRun({ ...run, tags: [...run.tags, tag] });
    } catch (error) {
      passUnreachable(error);
    }
  }
}

async function outboxOf(url: string, directory: string): Promise<OutboxStore> {
  const local = await openFileStorage(directory);
  return openOutbox(local, { url, space: OUTBOX_SPACE, timeoutMs: 2_000 });
}
