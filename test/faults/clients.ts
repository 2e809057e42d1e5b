/** Clients without an outbox: they send each batch again until the service has said that it is kept. */
import { isStoreError } from '../../src/base/errors.ts';
import { openHttpStorage, type HttpStorageOptions } from '../../src/service/http-store.ts';
import type { Store } from '../../src/store/store.ts';
import { pause } from './processes.ts';
import { prepareRun, segmentOf, type ProgressByWriter } from './rows.ts';

/** What passes by itself; anything else is a finding. */
const PASSING: ReadonlySet<string> = new Set(['unreachable', 'busy', 'closed', 'full']);

/** Does `work` until it succeeds. @throws what does not pass by itself */
export async function insist<T>(
  work: () => Promise<T>,
  isOver: () => boolean = () => false,
): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (isOver() || !isStoreError(error) || !PASSING.has(error.reason)) throw error;
    }
    await pause(5 + Math.random() * 20);
  }
}

/** What a {@link Load} is made of. */
export type LoadOptions = {
  /** Where the service is at the moment. */
  readonly uri: () => string;
  readonly clients: number;
  readonly rowsPerBatch: number;
  /** Batches of one request. */
  readonly batchesPerRequest?: number;
  readonly timeoutMs?: number;
  readonly http?: HttpStorageOptions;
};

/** Clients that write side by side until they are stopped. */
export class Load {
  readonly progress: ProgressByWriter = new Map();
  requests = 0;
  readonly #done: Promise<unknown>;
  #isStopping = false;

  constructor(options: LoadOptions) {
    this.#done = Promise.all(
      Array.from({ length: options.clients }, (_, i) => this.#write(`w${i}`, options)),
    );
    // Heard again in `stop`.
    this.#done.catch(() => undefined);
  }

  /** Rejects when a client met what it should not have met. */
  get failed(): Promise<unknown> {
    return this.#done;
  }

  /** Lets every client finish what it is at. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#done;
  }

  async #write(writer: string, options: LoadOptions): Promise<void> {
    const { rowsPerBatch, batchesPerRequest = 2, timeoutMs = 2_000, http } = options;
    const progress = { acknowledged: 0, tried: 0 };
    this.progress.set(writer, progress);
    const open = (): Promise<Store> =>
      insist(() => openHttpStorage(options.uri(), { timeoutMs, ...http }));
    const store = await open();
    await insist(() => prepareRun(store));
    for (let batch = 0; !this.#isStopping; batch += batchesPerRequest) {
      const segments = Array.from({ length: batchesPerRequest }, (_, i) =>
        segmentOf(writer, batch + i, rowsPerBatch),
      );
      progress.tried = (batch + batchesPerRequest) * rowsPerBatch;
      const kept = await insist(() => store.appendSegments(segments));
      const rows = kept.reduce((sum, { rowCount }) => sum + rowCount, 0);
      if (rows !== batchesPerRequest * rowsPerBatch)
        throw new Error(`${rows} rows were acknowledged of ${batchesPerRequest * rowsPerBatch}`);
      progress.acknowledged = progress.tried;
      this.requests += 1;
    }
    await store.close();
  }
}
