/** Clients without an outbox: they send each batch again until the service has said that it is kept. */
import { setTimeout as pause } from 'node:timers/promises';
import {
  isStoreError,
  type SessionStoreError,
  type StoreFailureReason,
} from '../../src/base/errors.ts';
import { openHttpStorage, type HttpStorageOptions } from '../../src/wire/http-store.ts';
import { prepareRun, RUN_ID, segmentOf, type Progress, type ProgressByWriter } from './rows.ts';

/** What passes by itself; anything else is a finding. */
const PASSING: ReadonlySet<string> = new Set([
  'unreachable',
  'busy',
  'closed',
  'full',
  // Until somebody raises it.
  'quota',
]);

/** Longest pause a service gets that asks for one. */
const MAX_OBEYED_MS = 1_500;

/** Does `work` until it succeeds. @throws what does not pass by itself */
export async function insist<T>(
  work: () => Promise<T>,
  onFailure: (error: SessionStoreError) => void,
): Promise<T> {
  for (;;) {
    let waitMs = 5 + Math.random() * 20;
    try {
      return await work();
    } catch (error) {
      if (!isStoreError(error) || !PASSING.has(error.reason)) throw error;
      onFailure(error);
      const asked = error.details['retryAfterMs'];
      if (typeof asked === 'number') waitMs += Math.min(asked, MAX_OBEYED_MS);
    }
    await pause(waitMs);
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
  /** The writer that a client is. Default: `w0`, `w1`, ... */
  readonly writerOf?: (client: number) => string;
  /** Told how far a client has come, each time before it sends and after it was answered. */
  readonly onProgress?: (progress: Readonly<Progress>) => void;
  /** With it, each client renews a lease on the run after each request. */
  readonly leaseTtlMs?: number;
};

/** Clients that write side by side until they are stopped. */
export class Load {
  readonly progress: ProgressByWriter = new Map();
  /** What was answered, by reason: the last error of each. */
  readonly failures = new Map<StoreFailureReason, SessionStoreError>();
  requests = 0;
  readonly #done: Promise<unknown>;
  #isStopping = false;

  constructor(options: LoadOptions) {
    const { clients, writerOf = (client) => `w${client}` } = options;
    this.#done = Promise.all(
      Array.from({ length: clients }, (_, i) => this.#write(writerOf(i), options)),
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
    const { rowsPerBatch, batchesPerRequest = 2, timeoutMs = 2_000, http, leaseTtlMs } = options;
    const progress = { acknowledged: 0, tried: 0 };
    this.progress.set(writer, progress);
    const note = (error: SessionStoreError): void => {
      this.failures.set(error.reason, error);
    };
    const store = await insist(() => openHttpStorage(options.uri(), { timeoutMs, ...http }), note);
    await insist(() => prepareRun(store), note);
    for (let batch = 0; !this.#isStopping; batch += batchesPerRequest) {
      const segments = Array.from({ length: batchesPerRequest }, (_, i) =>
        segmentOf(writer, batch + i, rowsPerBatch),
      );
      progress.tried = (batch + batchesPerRequest) * rowsPerBatch;
      options.onProgress?.(progress);
      const kept = await insist(() => store.appendSegments(segments), note);
      const rows = kept.reduce((sum, { rowCount }) => sum + rowCount, 0);
      // More where a batch sent again was merged meanwhile: then the manifest is that of the merged segment.
      if (rows < batchesPerRequest * rowsPerBatch)
        throw new Error(`${rows} rows were acknowledged of ${batchesPerRequest * rowsPerBatch}`);
      progress.acknowledged = progress.tried;
      options.onProgress?.(progress);
      this.requests += 1;
      if (leaseTtlMs !== undefined) {
        const lease = await insist(() => store.renewLease(RUN_ID, writer, leaseTtlMs), note);
        if (lease.holder !== writer) throw new Error(`${lease.holder} has the lease of ${writer}`);
      }
    }
    await store.close();
  }
}
