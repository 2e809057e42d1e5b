/** A service whose disk is full, and later has space again: its answers while the disk is full, and the rows stored in the end. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isStoreError } from '../../../src/base/errors.ts';
import { openHttpStorage } from '../../../src/wire/http-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { Load } from '../../../test/faults/clients.ts';
import { compareRows } from '../../../test/faults/rows.ts';
import { random as randomFrom } from '../../../test/support/tensors.ts';
import { noise, sha256Of } from '../scene.ts';

/** One kind of disk. */
export type DiskTrial = {
  readonly port: number;
  readonly userKey?: string;
  /** What is written: rows, or payloads that go to a bucket. */
  readonly writes: 'rows' | 'blobs';
  /** Takes the room away. Absent for a disk that is slow all the time. */
  readonly fill?: () => Promise<void>;
  readonly free?: () => Promise<void>;
  /** Reasons of refusals that are right: one of them has to come. */
  readonly refusals: readonly string[];
  readonly requests: number;
};

/** What came of it. */
export type DiskOutcome = {
  readonly wrong: readonly string[];
  readonly acknowledged: string;
  readonly refused: string;
};

/** On a machine that has much else to do. */
const PATIENCE_MS = 90_000;
const BLOB_BYTES = 300_000;

/** Runs a trial to its end. */
export async function tryDisk(trial: DiskTrial): Promise<DiskOutcome> {
  const writer = trial.writes === 'rows' ? new RowWriter(trial) : new BlobWriter(trial);
  const wrong: string[] = [];
  const until = async (what: string, isReached: () => boolean): Promise<void> => {
    const limit = performance.now() + PATIENCE_MS;
    while (!isReached()) {
      if (performance.now() > limit) throw new Error(`${what} did not come in time`);
      await Promise.race([sleep(20), writer.failed]);
    }
  };
  try {
    await until('the first requests', () => writer.requests >= trial.requests);
    if (trial.fill !== undefined) {
      writer.reasons.clear();
      await trial.fill();
      await until('a refusal', () => trial.refusals.some((reason) => writer.reasons.has(reason)));
      // Stored rows can be read while the disk is full.
      wrong.push(...(await writer.compare()).map((what) => `while there is no room: ${what}`));
      await trial.free?.();
      const before = writer.requests;
      await until('more once there is room', () => writer.requests >= before + trial.requests);
    }
  } catch (error) {
    wrong.push(String(error instanceof Error ? error.message : error));
    await trial.free?.();
  }
  await writer.stop().catch((error: unknown) => wrong.push(String(error)));
  wrong.push(...(await writer.compare()));
  const refused = [...writer.reasons.keys()].join(', ');
  return { wrong, acknowledged: writer.acknowledged, refused: refused === '' ? 'none' : refused };
}

const uriOf = ({ port }: DiskTrial): string => `http://127.0.0.1:${port}/`;

async function withStore<T>(trial: DiskTrial, work: (store: Store) => Promise<T>): Promise<T> {
  const { userKey } = trial;
  const store = await openHttpStorage(uriOf(trial), userKey === undefined ? {} : { userKey });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** Clients that append. */
class RowWriter {
  readonly #load: Load;
  readonly #trial: DiskTrial;

  constructor(trial: DiskTrial) {
    this.#trial = trial;
    const { userKey } = trial;
    this.#load = new Load({
      uri: () => uriOf(trial),
      clients: 2,
      rowsPerBatch: 400,
      timeoutMs: 20_000,
      ...(userKey === undefined ? {} : { http: { userKey } }),
    });
  }

  get requests(): number {
    return this.#load.requests;
  }

  get reasons(): Map<string, unknown> {
    return this.#load.failures;
  }

  get failed(): Promise<unknown> {
    return this.#load.failed;
  }

  get acknowledged(): string {
    const rows = [...this.#load.progress.values()].map(({ acknowledged }) => acknowledged);
    return `${rows.reduce((sum, count) => sum + count, 0)} rows`;
  }

  stop(): Promise<void> {
    return this.#load.stop();
  }

  compare(): Promise<readonly string[]> {
    return withStore(this.#trial, (store) => compareRows(store, this.#load.progress));
  }
}

/** A client that puts payloads, each again until it is acknowledged. */
class BlobWriter {
  readonly reasons = new Map<string, unknown>();
  readonly failed: Promise<unknown>;
  readonly #trial: DiskTrial;
  readonly #hashes: string[] = [];
  #isStopping = false;

  constructor(trial: DiskTrial) {
    this.#trial = trial;
    this.failed = this.#write();
    // Heard again in `stop`.
    this.failed.catch(() => undefined);
  }

  get requests(): number {
    return this.#hashes.length;
  }

  get acknowledged(): string {
    return `${this.#hashes.length} payloads`;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.failed;
  }

  compare(): Promise<readonly string[]> {
    return withStore(this.#trial, async (store) => {
      const wrong: string[] = [];
      for (const sha256 of this.#hashes) {
        const found = await store.getBlob(sha256);
        if (found === undefined || sha256Of(found) !== sha256) wrong.push(`${sha256} is lost`);
      }
      return wrong;
    });
  }

  async #write(): Promise<void> {
    await withStore(this.#trial, async (store) => {
      for (let i = 0; !this.#isStopping; i++) {
        const bytes = noise(randomFrom(i), BLOB_BYTES);
        const sha256 = sha256Of(bytes);
        while (!(await this.#put(store, sha256, bytes))) {
          if (this.#isStopping) return;
          await sleep(100);
        }
        this.#hashes.push(sha256);
      }
    });
  }

  async #put(store: Store, sha256: string, bytes: Uint8Array<ArrayBuffer>): Promise<boolean> {
    try {
      await store.putBlob(sha256, bytes);
      return true;
    } catch (error) {
      if (!isStoreError(error)) throw error;
      this.reasons.set(error.reason, error);
      return false;
    }
  }
}
