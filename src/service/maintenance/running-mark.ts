/**
 * What a service tells with every answer: which database it has, and since when that may have lost something. While the service runs,
 * a mark in the database says so; one that is found at a start is that of a service that ended without notice. See
 * `src/store/sql/store-identity.ts`.
 */
import type { Clock } from '../../base/clock.ts';
import type { StoreIdentity } from '../../store/store.ts';
import type { DatabaseSafety, SqlDatabase } from '../../store/sql/sql-database.ts';
import {
  readIdentity,
  removeMark,
  renewMark,
  type ServiceMark,
} from '../../store/sql/store-identity.ts';
import { DURABLE_HEADER, EPOCH_HEADER, STORE_HEADER } from '../../wire/protocol.ts';

/** How often a mark is renewed, and what other processes have changed is read. */
const RENEW_EVERY_MS = 10_000;
/** A process that has not renewed its mark for so long counts as ended. */
const MARK_TTL_MS = 40_000;

/** Marks of this process: another service in it has not ended while its mark is in here. */
const ownMarks = new Set<string>();

/** What a mark is made of. */
export type RunningMarkParts = {
  readonly database: SqlDatabase;
  readonly clock: Clock;
  /** Names this process. */
  readonly tag: string;
  /** Whether the process of a tag is known to have ended. */
  readonly isGone: (tag: string) => boolean;
  /** Told when the mark could not be written; it is tried again. */
  readonly onFailure: (error: unknown) => void;
};

/** See the top of this file. */
export class RunningMark {
  readonly #parts: RunningMarkParts;
  readonly #mark: ServiceMark;
  #headers: readonly (readonly [string, string])[] = [];
  #undo: () => void = () => undefined;
  #renewing: Promise<void> = Promise.resolve();
  #isStopped = false;

  private constructor(parts: RunningMarkParts) {
    this.#parts = parts;
    this.#mark = { id: crypto.randomUUID(), tag: parts.tag };
  }

  /** Writes the mark, and changes the epoch if the last service ended without notice. Never rejects. */
  static async start(parts: RunningMarkParts): Promise<RunningMark> {
    const mark = new RunningMark(parts);
    ownMarks.add(mark.#mark.id);
    await mark.#renew();
    mark.#plan();
    return mark;
  }

  /** Adds what is told to an answer. */
  mark(answer: Response): void {
    for (const [name, value] of this.#headers) answer.headers.set(name, value);
  }

  /** The service ends in order. Never rejects. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#undo();
    await this.#renewing;
    const { database, onFailure } = this.#parts;
    ownMarks.delete(this.#mark.id);
    if (database.isReadOnly === true) return;
    await database.transaction(() => removeMark(this.#mark.id)).catch(onFailure);
  }

  #plan(): void {
    this.#undo = this.#parts.clock.after(RENEW_EVERY_MS, () => {
      this.#renewing = this.#renew().then(() => {
        if (!this.#isStopped) this.#plan();
      });
    });
  }

  async #renew(): Promise<void> {
    const { database, onFailure } = this.#parts;
    try {
      const safety = await database.safety();
      this.#tell(await this.#identity(safety), safety);
    } catch (error) {
      onFailure(error);
      // A full disk: what is told must not be missing because of that.
      if (this.#headers.length > 0) return;
      const found = await database.read(readIdentity).catch(() => undefined);
      if (found !== undefined)
        this.#tell(found, { isDurable: false, losesWithService: true, origin: null });
    }
  }

  async #identity(safety: DatabaseSafety): Promise<StoreIdentity | undefined> {
    const { clock, database, isGone } = this.#parts;
    if (database.isReadOnly === true) return database.read(readIdentity);
    const nowMs = clock.now();
    return database.transaction(() =>
      renewMark(this.#mark, {
        nowMs,
        ttlMs: MARK_TTL_MS,
        safety,
        isGone: ({ id, tag }) => (tag === this.#mark.tag ? !ownMarks.has(id) : isGone(tag)),
      }),
    );
  }

  #tell(identity: StoreIdentity | undefined, { isDurable }: DatabaseSafety): void {
    if (identity === undefined) return;
    this.#headers = [
      [STORE_HEADER, identity.id],
      [EPOCH_HEADER, String(identity.epoch)],
      [DURABLE_HEADER, isDurable ? '1' : '0'],
    ];
  }
}
