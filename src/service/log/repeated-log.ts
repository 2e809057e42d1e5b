/** A log that writes repeated lines of one kind once a minute, with their number, so that refusals cannot fill the disk. */
import type { Clock } from '../../base/clock.ts';
import type { ServiceLogger } from './logging.ts';

/** How long lines of a kind are counted before the next one is written, in milliseconds. */
const INTERVAL_MS = 60_000;
/** Limit on distinct kinds; further kinds are counted together. */
const MAX_KINDS = 256;
const OTHER_KINDS = 'others';

type Level = 'info' | 'warn' | 'error';

type Counted = {
  /** Lines that were not written. */
  count: number;
  /** The last of them. */
  last: { readonly level: Level; readonly fields: object; readonly message: string } | undefined;
  readonly undo: () => void;
};

/**
 * Writes the first line of a kind at once. Those that follow within a minute are counted, and the last of them is written
 * when it is over, with the field `repeated`: for how many lines it stands.
 */
export class RepeatedLog {
  readonly #logger: ServiceLogger;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #kinds = new Map<string, Counted>();

  constructor(logger: ServiceLogger, clock: Pick<Clock, 'after'>) {
    this.#logger = logger;
    this.#clock = clock;
  }

  write(level: Level, kind: string, fields: object, message: string): void {
    const isNew = !this.#kinds.has(kind);
    const name = isNew && this.#kinds.size >= MAX_KINDS ? OTHER_KINDS : kind;
    const known = this.#kinds.get(name);
    if (known !== undefined) {
      known.count += 1;
      known.last = { level, fields, message };
      return;
    }
    this.#logger[level](fields, message);
    this.#watch(name);
  }

  /** Writes what was counted. */
  flush(): void {
    for (const [kind, { undo }] of this.#kinds) {
      undo();
      this.#tell(kind);
    }
  }

  #watch(kind: string): void {
    const undo = this.#clock.after(INTERVAL_MS, () => {
      // As long as there are more, a line an interval says how many.
      if (this.#tell(kind)) this.#watch(kind);
    });
    this.#kinds.set(kind, { count: 0, last: undefined, undo });
  }

  #tell(kind: string): boolean {
    const counted = this.#kinds.get(kind);
    this.#kinds.delete(kind);
    if (counted?.last === undefined) return false;
    const { level, fields, message } = counted.last;
    this.#logger[level]({ ...fields, repeated: counted.count }, message);
    return true;
  }
}
