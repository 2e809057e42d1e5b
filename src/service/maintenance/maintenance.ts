/**
 * What a service does on the side: it merges small segments, of the streams that are due, and deletes objects that
 * nothing names any more. Any number of processes do so on one database: they claim streams row by row, and a process
 * that ends at any moment leaves nothing but a claim that lapses.
 */
import { systemClock, type Clock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { createId } from '../../base/ids.ts';
import { nextTask } from '../../base/next-task.ts';
import { asGiven, count, orDefault, positive, readOptions } from '../../base/options.ts';
import { DEFAULT_KEEP_UNNAMED_MS } from '../../read/blob-sweep.ts';
import { TABLES } from '../../records/tables.ts';
import { compactTable } from '../../segment/compact.ts';
import {
  claimChore,
  claimStreams,
  countDue,
  settleChore,
  settleStream,
  type DueStream,
} from '../../store/sql/merge-queue.ts';
import type { SegmentFiles } from '../../store/sql/object-files.ts';
import { listPurgeSpaces } from '../../store/sql/sql-deletion.ts';
import { finishRemovals } from '../../store/sql/sql-removals.ts';
import type { SqlDatabase } from '../../store/sql/sql-database.ts';
import type { Store } from '../../store/store.ts';
import { sweepSpaces } from './blob-keeper.ts';
import { AuditLog, MACHINE } from '../access/audit-log.ts';
import { auditStore } from '../access/audited.ts';
import { retainSpaces, type RetentionCounts } from './retention-keeper.ts';
import { mergeParts } from './merge-parts.ts';

/** What maintenance works on: the parts of an opened database. */
export type MaintainedSpaces = {
  readonly database: SqlDatabase;
  /** Where merged segments are stored outside the database, if they are. */
  readonly segmentFiles?: SegmentFiles | undefined;
  store(space: string): Store;
};

/** One thing that was done, or that failed. */
export type MaintenanceReport =
  | {
      readonly kind: 'merged';
      readonly runId: string;
      readonly table: string;
      /** Segments before and after. */
      readonly removed: number;
      readonly added: number;
      readonly durationMs: number;
    }
  /** The bytes of a deleted run were removed. */
  | { readonly kind: 'purged'; readonly space: string; readonly runId: string }
  /** Objects that nothing named were deleted. */
  | { readonly kind: 'swept'; readonly objects: number }
  /** Blobs that no record names were removed from a space. Bytes that other spaces have, too, are counted and remain. */
  | {
      readonly kind: 'swept blobs';
      readonly space: string;
      readonly blobs: number;
      readonly bytes: number;
    }
  /** The rules of a space were applied. */
  | ({ readonly kind: 'applied retention'; readonly space: string } & RetentionCounts)
  /** Objects that no row knew were found. */
  | { readonly kind: 'found'; readonly objects: number }
  /** It is tried again by itself. */
  | {
      readonly kind: 'failed';
      readonly what: string;
      readonly message: string;
      readonly error: unknown;
    };

/** How maintenance goes about its work. */
export type MaintenanceOptions = {
  /** Interval between polls for streams that are due, in milliseconds, give or take half of it. Default 5,000. */
  readonly intervalMs?: number;
  /** Streams claimed at a time. Default 16. */
  readonly streams?: number;
  /** Rows merged at a time: for as long as that takes, the thread does nothing else. Default 65,536. */
  readonly mergeRows?: number;
  /** Segments merged at a time: for as long as exchanging them takes, their stream takes no append. Default 256. */
  readonly mergeSegments?: number;
  /** How long a claim lasts, in milliseconds. Default 10 minutes. */
  readonly claimMs?: number;
  /** How long a running run's streams are left alone after a merge, in milliseconds. Default 1 hour. */
  readonly restMs?: number;
  /** Pause between two sweeps of one process, in milliseconds. Default 10 minutes. */
  readonly sweepMs?: number;
  /** Interval between scans of all objects, which one process of all makes, in milliseconds. Default 24 hours; 0 for never. */
  readonly findUnknownMs?: number;
  /** Interval between sweeps of blobs that no record names, of which one process of all makes each, in milliseconds. Default 24 hours; 0 for never. */
  readonly sweepBlobsMs?: number;
  /** How long a blob that no record names is stored after it was last put, in milliseconds. Default 7 days. */
  readonly keepUnnamedMs?: number;
  /** Interval between applications of the rules of all spaces, of which one process of all makes each, in milliseconds. Default 24 hours; 0 for never. */
  readonly retentionMs?: number;
  /** Told what was done and what failed: for logs and figures. */
  readonly onReport?: (report: MaintenanceReport) => void;
  readonly clock?: Clock;
};

/** What was done since the start, and what waits. */
export type MaintenanceStatus = {
  readonly mergedSegments: number;
  readonly writtenSegments: number;
  readonly sweptObjects: number;
  readonly purgedRuns: number;
  readonly sweptBlobs: number;
  readonly failures: number;
};

/** Merges of one stream in a round: others want their turn. */
const MERGES_A_ROUND = 8;
/** A stream that could not be merged is left alone for so long. */
const FAILED_REST_MS = 15 * 60 * 1000;
/** Sweeps in a row while there is much to delete. */
const SWEEPS_A_ROUND = 50;
const MAX_BACKLOG = 10_000;
const FIND_UNKNOWN = 'find_unknown_objects';
const SWEEP_BLOBS = 'sweep_blobs';
const APPLY_RETENTION = 'apply_retention';

/**
 * Starts maintenance in this process. It never keeps the process alive; stop it before the database is closed.
 *
 * @throws {QuarkError} `invalid_input`
 */
export function startMaintenance(
  spaces: MaintainedSpaces,
  options: MaintenanceOptions = {},
): Maintenance {
  const maintenance = new Maintenance(spaces, options);
  maintenance.start();
  return maintenance;
}

/** Maintenance of a database. Its rounds run when {@link runOnce} is called, or by a timer after {@link start}. */
export class Maintenance {
  readonly #spaces: MaintainedSpaces;
  readonly #config: Required<MaintenanceOptions>;
  readonly #holder: string;
  readonly #stop = new AbortController();
  #status: MaintenanceStatus = {
    mergedSegments: 0,
    writtenSegments: 0,
    sweptObjects: 0,
    purgedRuns: 0,
    sweptBlobs: 0,
    failures: 0,
  };
  #sweptAtMs = Number.NEGATIVE_INFINITY;
  #running: Promise<number> = Promise.resolve(0);
  #undo: () => void = () => undefined;

  /** @throws {QuarkError} `invalid_input` naming the option */
  constructor(spaces: MaintainedSpaces, options: MaintenanceOptions = {}) {
    this.#spaces = spaces;
    this.#config = readOptions('maintenance', options, {
      intervalMs: orDefault(positive(), 5000),
      streams: orDefault(positive(), 16),
      mergeRows: orDefault(positive(), 1 << 16),
      mergeSegments: orDefault(positive(), 256),
      claimMs: orDefault(positive(), 10 * 60 * 1000),
      restMs: orDefault(positive(), 60 * 60 * 1000),
      sweepMs: orDefault(positive(), 10 * 60 * 1000),
      findUnknownMs: orDefault(count(), 24 * 60 * 60 * 1000),
      sweepBlobsMs: orDefault(count(), 24 * 60 * 60 * 1000),
      retentionMs: orDefault(count(), 24 * 60 * 60 * 1000),
      keepUnnamedMs: orDefault(count(), DEFAULT_KEEP_UNNAMED_MS),
      onReport: orDefault(asGiven, () => undefined),
      clock: orDefault(asGiven, systemClock),
    });
    this.#holder = createId('mnt', this.#config.clock.now());
  }

  get status(): MaintenanceStatus {
    return this.#status;
  }

  /** Runs rounds by a timer, which does not keep the process alive. */
  start(): void {
    // Processes that were started together spread out.
    const pauseMs = this.#config.intervalMs * (0.5 + Math.random());
    this.#undo = this.#config.clock.after(pauseMs, () => {
      this.runOnce()
        // A round reports what fails; this is for what no round foresees.
        .catch((error: unknown) => this.#fail('run a round', error))
        .finally(() => {
          if (!this.#stop.signal.aborted) this.start();
        });
    });
  }

  /** Streams that are due and not merged yet, counted up to 10,000. */
  countBacklog(): Promise<number> {
    const nowMs = this.#config.clock.now();
    return this.#spaces.database.read(() => countDue(nowMs, MAX_BACKLOG));
  }

  /** One round now: claims streams, merges them, and sweeps if it is time; returns how many streams were taken. */
  runOnce(): Promise<number> {
    this.#running = this.#running.then(
      () => this.#round(),
      () => this.#round(),
    );
    return this.#running;
  }

  /** Ends after the merge that is under way. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#undo();
    await this.#running.catch(() => 0);
  }

  async #round(): Promise<number> {
    let merged = 0;
    const { streams } = this.#config;
    for (;;) {
      const taken = await this.#tryTo('claim streams', () => this.#mergeSome());
      merged += taken ?? 0;
      if (taken !== streams || this.#stop.signal.aborted) break;
    }
    await this.#sweep();
    return merged;
  }

  async #mergeSome(): Promise<number> {
    if (this.#stop.signal.aborted) return 0;
    const { claimMs, clock, streams } = this.#config;
    const { database } = this.#spaces;
    const nowMs = clock.now();
    const untilMs = nowMs + claimMs;
    const due = await database.transaction(() =>
      claimStreams(this.#holder, nowMs, untilMs, streams),
    );
    for (const stream of due) {
      // What is not begun goes back at once, for others.
      const nextMs = this.#stop.signal.aborted
        ? clock.now()
        : ((await this.#tryTo(`merge ${stream.runId}/${stream.table}`, () =>
            this.#merge(stream),
          )) ?? clock.now() + FAILED_REST_MS);
      const dueAtMs = nextMs === 'done' ? null : nextMs;
      await database.transaction(() =>
        settleStream(stream.streamKey, this.#holder, untilMs, dueAtMs),
      );
      await nextTask();
    }
    return due.length;
  }

  /** Merges a stream; returns when it is due again. */
  async #merge({ space, runId, table: name }: DueStream): Promise<number | 'done'> {
    const table = TABLES.get(name);
    // A table of a newer version: a process of that version merges it.
    if (table === undefined) return this.#config.clock.now() + this.#config.restMs;
    const { clock, mergeRows, mergeSegments, restMs } = this.#config;
    const store = this.#spaces.store(space);
    try {
      const startedAtMs = clock.now();
      const parts = await mergeParts(store, runId, name, {
        signal: this.#stop.signal,
        onFailure: (error) => this.#fail(`keep the sketch of ${runId}`, error),
      });
      let isDone = true;
      let removed = 0;
      let added = 0;
      for (const part of parts) {
        const merged = await compactTable(part, table, runId, createId('mrg', startedAtMs), {
          rows: mergeRows,
          segments: mergeSegments,
          merges: MERGES_A_ROUND,
          signal: this.#stop.signal,
        });
        isDone &&= merged.isDone;
        removed += merged.removed;
        added += merged.added;
      }
      if (removed > 0) {
        this.#count({ mergedSegments: removed, writtenSegments: added });
        const durationMs = clock.now() - startedAtMs;
        this.#config.onReport({ kind: 'merged', runId, table: name, removed, added, durationMs });
      }
      if (!isDone) return clock.now();
      const run = await store.findRun(runId);
      const isLive = run?.status === 'running' && (await store.listLeases([runId])).length > 0;
      return isLive ? clock.now() + restMs : 'done';
    } finally {
      await store.close();
    }
  }

  async #sweep(): Promise<void> {
    const { clock, findUnknownMs, sweepMs } = this.#config;
    if (this.#stop.signal.aborted || clock.now() - this.#sweptAtMs < sweepMs) return;
    this.#sweptAtMs = clock.now();
    const { segmentFiles } = this.#spaces;
    if (segmentFiles !== undefined) {
      await this.#tryTo('sweep objects', async () => {
        for (let i = 0; i < SWEEPS_A_ROUND && !this.#stop.signal.aborted; i++) {
          const objects = await segmentFiles.sweep();
          if (objects === 0) break;
          this.#count({ sweptObjects: objects });
          this.#config.onReport({ kind: 'swept', objects });
        }
      });
      if (findUnknownMs > 0)
        await this.#tryTo('scan all objects', () => this.#findUnknown(segmentFiles));
    }
    await this.#tryTo('apply retention', () => this.#applyRetention());
    await this.#tryTo('purge deleted runs', () => this.#purge());
    await this.#tryTo('sweep blobs', () => this.#sweepBlobs());
    await this.#tryTo('give space back', async () => {
      const store = this.#spaces.store('');
      await store.reclaimSpace();
      await store.close();
    });
  }

  /** Removes the bytes of deleted runs whose time has come, in every space. Several processes may do so at once. */
  async #purge(): Promise<void> {
    const nowMs = this.#config.clock.now();
    const audit = new AuditLog(this.#spaces.database, this.#config.clock);
    for (const space of await this.#spaces.database.read(() => listPurgeSpaces(nowMs))) {
      if (this.#stop.signal.aborted) return;
      const store = this.#spaces.store(space);
      try {
        const purged = await auditStore(store, {
          audit,
          actor: MACHINE,
          storedName: space,
        }).purgeDeletedRuns(nowMs);
        this.#count({ purgedRuns: purged.length });
        for (const { id } of purged) this.#config.onReport({ kind: 'purged', space, runId: id });
      } finally {
        await store.close();
      }
    }
    await finishRemovals(this.#spaces.database);
  }

  async #findUnknown(segmentFiles: SegmentFiles): Promise<void> {
    const { claimMs, clock, findUnknownMs } = this.#config;
    const { database } = this.#spaces;
    const nowMs = clock.now();
    const isMine = await database.transaction(() =>
      claimChore(FIND_UNKNOWN, this.#holder, nowMs, nowMs + claimMs, findUnknownMs),
    );
    if (!isMine) return;
    const objects = await segmentFiles.findUnknown(this.#stop.signal);
    if (objects > 0) this.#config.onReport({ kind: 'found', objects });
    if (!this.#stop.signal.aborted)
      await database.transaction(() => settleChore(FIND_UNKNOWN, this.#holder, clock.now()));
  }

  #sweepBlobs(): Promise<void> {
    const { clock, keepUnnamedMs, sweepBlobsMs } = this.#config;
    return this.#chore(SWEEP_BLOBS, sweepBlobsMs, (goOn) =>
      sweepSpaces(this.#spaces, {
        keepMs: keepUnnamedMs,
        clock,
        signal: this.#stop.signal,
        goOn,
        onSwept: (space, blobs, bytes) => {
          this.#count({ sweptBlobs: blobs });
          this.#config.onReport({ kind: 'swept blobs', space, blobs, bytes });
        },
        onFailure: (space, error) => this.#fail(`sweep the blobs of space "${space}"`, error),
      }),
    );
  }

  #applyRetention(): Promise<void> {
    const { clock, retentionMs } = this.#config;
    return this.#chore(APPLY_RETENTION, retentionMs, (goOn) =>
      retainSpaces(this.#spaces, {
        clock,
        signal: this.#stop.signal,
        goOn,
        onApplied: (space, counts) =>
          this.#config.onReport({ kind: 'applied retention', space, ...counts }),
        onFailure: (space, error) => this.#fail(`apply the rules of space "${space}"`, error),
      }),
    );
  }

  /** Does what one process of all does each interval. `work` is handed what renews the claim, and says whether it was completed. */
  async #chore(
    name: string,
    everyMs: number,
    work: (goOn: () => Promise<boolean>) => Promise<boolean>,
  ): Promise<void> {
    if (everyMs === 0) return;
    const { claimMs, clock } = this.#config;
    const { database } = this.#spaces;
    const claim = (): Promise<boolean> => {
      const nowMs = clock.now();
      return database.transaction(() =>
        claimChore(name, this.#holder, nowMs, nowMs + claimMs, everyMs),
      );
    };
    if (!(await claim()) || !(await work(claim))) return;
    await database.transaction(() => settleChore(name, this.#holder, clock.now()));
  }

  async #tryTo<T>(what: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      this.#fail(what, error);
      return undefined;
    }
  }

  #fail(what: string, error: unknown): void {
    this.#count({ failures: 1 });
    this.#config.onReport({ kind: 'failed', what, message: messageOf(error), error });
  }

  #count(more: Partial<MaintenanceStatus>): void {
    const sum = (name: keyof MaintenanceStatus): number => this.#status[name] + (more[name] ?? 0);
    this.#status = {
      mergedSegments: sum('mergedSegments'),
      writtenSegments: sum('writtenSegments'),
      sweptObjects: sum('sweptObjects'),
      purgedRuns: sum('purgedRuns'),
      sweptBlobs: sum('sweptBlobs'),
      failures: sum('failures'),
    };
  }
}
