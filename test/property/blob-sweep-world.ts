/**
 * Clients, sweeps and a clock on one location, step by step: each call that an operation makes of the database, of the files or of the
 * store waits at a gate until the test lets it go on. So any two operations interleave in any way, an operation may rest for longer
 * than blobs are stored, and one that never goes on is a process that has ended.
 */
import { expect } from 'vitest';
import { sweepBlobs } from '../../src/read/blob-sweep.ts';
import { sha256Hex } from '../../src/store/blob-rules.ts';
import { artifactTable } from '../../src/records/artifact.ts';
import { isQuarkError, isStoreError } from '../../src/base/errors.ts';
import type { Store } from '../../src/store/store.ts';
import { artifactSegmentOf } from '../support/artifact-segments.ts';
import { bytesOf, runOf } from '../support/segments.ts';

/** How long unnamed blobs are stored here. */
export const KEEP_MS = 1000;
const RUNS = ['run_a', 'run_b'];
/** Small ones, and large ones that are stored outside the database. */
const SIZES = [10, 20, 257 * 1024, 258 * 1024];

/** Waits until a step may be made. */
export type Gate = () => Promise<void>;

/** A location of this test. */
export type SweepLocation = {
  /** A store whose calls wait at the gate. */
  open(gate: Gate): Promise<Store>;
  /** Names of the large blobs that are stored, where they can be listed. */
  listFiles?(): Promise<readonly string[]>;
  remove(): Promise<void>;
};

/** One command of a sequence; numbers are taken modulo what there is. */
export type SweepCommand =
  /** Puts blobs and records an artifact that names them. */
  | { readonly kind: 'record'; readonly run: number; readonly blobs: readonly number[] }
  /** The same in a run that is live all the time, so that it may rest for as long as it likes. */
  | { readonly kind: 'record live'; readonly blobs: readonly number[] }
  /** Puts a blob that nothing names. */
  | { readonly kind: 'put'; readonly blob: number }
  | { readonly kind: 'sweep' }
  /** The live run is not live any more. */
  | { readonly kind: 'end live' }
  /** Empties the artifacts of a run. */
  | { readonly kind: 'empty'; readonly run: number }
  | { readonly kind: 'delete' | 'restore' | 'purge'; readonly run: number }
  /** Lets an operation go on to its next gate. */
  | { readonly kind: 'step'; readonly pick: number; readonly count: number }
  /** The process of an operation ends. */
  | { readonly kind: 'end'; readonly pick: number }
  /** Operations that may not rest are completed, and time passes. */
  | { readonly kind: 'wait'; readonly ms: number };

type Operation = {
  readonly mayRest: boolean;
  /** Lets it go on; undefined while it runs. */
  release: (() => void) | undefined;
  isDone: boolean;
};

/** See the top of this file. */
export class SweepWorld {
  readonly #location: SweepLocation;
  readonly #clock: { nowMs: number; now(): number };
  readonly #direct: Store;
  readonly #stores: Store[];
  readonly #blobs: readonly { readonly hash: string; readonly bytes: Uint8Array<ArrayBuffer> }[];
  #operations: Operation[] = [];
  #batch = 0;
  #writer = 0;
  #failure: unknown;
  /** Wakes the driver when an operation comes to a gate or to its end. */
  #arrived: () => void = () => undefined;

  private constructor(
    location: SweepLocation,
    clock: { nowMs: number; now(): number },
    direct: Store,
    blobs: readonly { readonly hash: string; readonly bytes: Uint8Array<ArrayBuffer> }[],
  ) {
    this.#location = location;
    this.#clock = clock;
    this.#direct = direct;
    this.#stores = [direct];
    this.#blobs = blobs;
  }

  static async make(
    location: SweepLocation,
    clock: { nowMs: number; now(): number },
  ): Promise<SweepWorld> {
    const direct = await location.open(async () => undefined);
    const blobs = await Promise.all(
      SIZES.map(async (size, i) => {
        const bytes = bytesOf(size, i);
        return { hash: (await sha256Hex(bytes)) ?? '', bytes };
      }),
    );
    for (const id of [...RUNS, 'run_live'])
      await direct.createRun(runOf({ id, startedAtMs: clock.nowMs }));
    await direct.renewLease('run_live', 'h', 10 ** 9);
    return new SweepWorld(location, clock, direct, blobs);
  }

  async execute(command: SweepCommand): Promise<void> {
    switch (command.kind) {
      case 'record':
        return this.#record(RUNS[command.run % RUNS.length] ?? '', command.blobs, false);
      case 'record live':
        return this.#record('run_live', command.blobs, true);
      case 'put':
        return this.#start(true, (store) => this.#put(store, command.blob));
      case 'sweep':
        return this.#start(true, async (store) => {
          await this.#sweep(store);
        });
      case 'empty':
        return this.#start(false, async (store) => {
          await store.replaceTable(RUNS[command.run % RUNS.length] ?? '', artifactTable.table, []);
        });
      case 'end live':
        await this.#complete((one) => one.mayRest);
        return this.#direct.releaseLease('run_live', 'h');
      case 'delete':
        return this.#start(true, async (store) => {
          await store.deleteRun(RUNS[command.run % RUNS.length] ?? '');
        });
      case 'restore':
        return this.#start(true, async (store) => {
          await store.restoreRun(RUNS[command.run % RUNS.length] ?? '');
        });
      case 'purge':
        return this.#start(true, async (store) => {
          await store.purgeDeletedRuns(undefined, [RUNS[command.run % RUNS.length] ?? '']);
        });
      case 'step':
        for (let i = 0; i < command.count; i++) await this.#step(command.pick);
        return;
      case 'end': {
        const waiting = this.#waiting();
        const ending = waiting[command.pick % Math.max(1, waiting.length)];
        this.#operations = this.#operations.filter((one) => one !== ending);
        return;
      }
      case 'wait':
        await this.#complete((one) => !one.mayRest);
        this.#clock.nowMs += command.ms;
        await this.check();
        return;
    }
  }

  /** What records name is there. */
  async check(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    const sizes = new Map(this.#blobs.map(({ hash, bytes }) => [hash, bytes.byteLength]));
    for (const hash of await this.#named())
      expect((await this.#direct.getBlob(hash))?.byteLength, `blob ${hash}`).toBe(sizes.get(hash));
  }

  /** All operations come to their end; after that and a while, a sweep leaves what is named and nothing else. */
  async finish(): Promise<void> {
    await this.#complete(() => true);
    await this.check();
    await this.#direct.releaseLease('run_live', 'h');
    await this.#sweep(this.#direct);
    this.#clock.nowMs += 2 * KEEP_MS;
    await this.#sweep(this.#direct);
    await this.check();
    const named = (await this.#named()).toSorted();
    const putBeforeMs = this.#clock.nowMs;
    const stored = (await this.#direct.listBlobs?.({ putBeforeMs, limit: 100 })) ?? [];
    expect(stored.map(({ sha256 }) => sha256)).toEqual(named);
    const large = stored.filter(({ sizeBytes }) => sizeBytes > 256 * 1024);
    const files = await this.#location.listFiles?.();
    if (files !== undefined)
      expect(files.map((name) => name.slice(0, 64)).toSorted()).toEqual(
        large.map(({ sha256 }) => sha256),
      );
  }

  async close(): Promise<void> {
    for (const store of this.#stores) await store.close();
    await this.#location.remove();
  }

  async #named(): Promise<string[]> {
    const named = new Set<string>();
    const { deletedRuns } = this.#direct;
    for (const runId of [...RUNS, 'run_live']) {
      const filter = { runId, table: 'artifacts' };
      const live = await this.#direct.listSegments(filter);
      const deleted = (await deletedRuns?.listSegments(filter)) ?? [];
      for (const { batchNumber, writerId } of [...live, ...deleted])
        for (const hash of this.#namedBy.get(`${writerId} ${batchNumber}`) ?? []) named.add(hash);
    }
    return [...named];
  }

  readonly #namedBy = new Map<string, readonly string[]>();

  async #record(runId: string, picks: readonly number[], mayRest: boolean): Promise<void> {
    const hashes = picks.map((pick) => this.#blob(pick).hash);
    const batch = this.#batch++;
    const writerId = `w${this.#writer}`;
    this.#namedBy.set(`${writerId} ${batch}`, hashes);
    return this.#start(mayRest, async (store) => {
      for (const pick of picks) await this.#put(store, pick);
      await store.appendSegments([artifactSegmentOf(batch, [hashes], { runId, writerId })]);
    });
  }

  async #put(store: Store, pick: number): Promise<void> {
    const { bytes, hash } = this.#blob(pick);
    await store.putBlob(hash, bytes);
  }

  async #sweep(store: Store): Promise<void> {
    try {
      await sweepBlobs(store, { keepMs: KEEP_MS, clock: this.#clock });
    } catch (error) {
      // Records came all the time.
      if (!isStoreError(error, 'busy')) throw error;
    }
  }

  #blob(pick: number) {
    const blob = this.#blobs[pick % this.#blobs.length];
    if (blob === undefined) throw new Error('There are blobs.');
    return blob;
  }

  /** Starts an operation and waits until it is at its first gate. */
  async #start(mayRest: boolean, work: (store: Store) => Promise<void>): Promise<void> {
    const operation: Operation = { mayRest, release: undefined, isDone: false };
    const gate = (): Promise<void> =>
      new Promise<void>((resolve) => {
        operation.release = resolve;
        this.#arrived();
      });
    const store = await this.#location.open(gate);
    this.#stores.push(store);
    this.#operations.push(operation);
    const arrived = this.#nextArrival();
    work(store)
      .catch((error: unknown) => {
        // The run is deleted, or was purged.
        if (!isStoreError(error, 'deleted') && !isQuarkError(error, 'run_not_found'))
          this.#failure ??= error;
      })
      .finally(() => {
        operation.isDone = true;
        this.#arrived();
      });
    await arrived;
  }

  /** Lets one of those that wait go on, until it waits again or is done. */
  async #step(pick: number): Promise<void> {
    const waiting = this.#waiting();
    const operation = waiting[pick % Math.max(1, waiting.length)];
    if (operation !== undefined) await this.#release(operation);
  }

  async #release(operation: Operation): Promise<void> {
    const { release } = operation;
    if (release === undefined) return;
    operation.release = undefined;
    const arrived = this.#nextArrival();
    release();
    await arrived;
    if (operation.isDone) this.#operations = this.#operations.filter((one) => one !== operation);
  }

  async #complete(isWanted: (operation: Operation) => boolean): Promise<void> {
    for (;;) {
      const next = this.#waiting().find(isWanted);
      if (next === undefined) return;
      await this.#release(next);
    }
  }

  #waiting(): readonly Operation[] {
    return this.#operations.filter((one) => one.release !== undefined && !one.isDone);
  }

  #nextArrival(): Promise<void> {
    return new Promise((resolve) => {
      this.#arrived = resolve;
    });
  }
}
