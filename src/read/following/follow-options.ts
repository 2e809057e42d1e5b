/** What a follower of a run is asked to read, and what it tells when it ends. */
import { checkCount } from '../../base/assert.ts';
import { invalidInput } from '../../base/errors.ts';
import { asGiven, callable, literal, optional, positive, readOptions } from '../../base/options.ts';
import type { RunStatus } from '../../records/literals.ts';
import { TABLES } from '../../records/tables.ts';

/** What to read of a run while it goes on; see `RunReader.follow`. */
export type FollowOptions<T extends string = string> = {
  /** `metrics`, `events`, or another table of the run. */
  readonly table: T;
  /**
   * `now`, the default: only rows that come after the call. `start`: the rows that are there first. A number: the rows from this
   * sequence number on, such as the `nextSequence` of an earlier delivery. It counts in the store that it was read from.
   */
  readonly from?: 'now' | 'start' | number | undefined;
  /** Only samples of these metrics, at least one; for the table `metrics`. Default: all. */
  readonly metricKeys?: readonly string[] | undefined;
  /** `end`, the default: until the run has ended, or nobody records it any more. `closed`: also after that, as it may be resumed. */
  readonly until?: 'end' | 'closed' | undefined;
  /** Milliseconds from one reading of the store to the next; default 1,000. */
  readonly pollMs?: number | undefined;
  /** Ends it, as `close` does. */
  readonly signal?: AbortSignal | undefined;
};

/** How the following of a run ended. */
export type FollowEnd = {
  /**
   * `ended`: the run has, and all of its rows were delivered. `deleted`: the run is gone, or was made anew with other rows: its storage
   * was cleared, or a service was restored from a backup. `closed`: by `close`, a signal, or a loop that was left. `store_closed`: the
   * store was closed.
   */
  readonly reason: 'ended' | 'deleted' | 'closed' | 'store_closed';
  /** Status of the run as it was read last: `interrupted` where nobody records a run that has not ended; null before the first reading. */
  readonly status: RunStatus | null;
  /** Sequence number after the last row that was delivered: `from` of a follower that goes on; null before the first reading. */
  readonly nextSequence: number | null;
};

/** What every delivery has beside its rows. */
export type FollowedPosition = {
  /** Sequence number after the last of these rows: `from` of a follower that goes on after them. */
  readonly nextSequence: number;
  /**
   * Generation of the run, from 1: it counts up when a session takes the run over. Rows that were delivered before may be superseded
   * then: a program that goes on from a checkpoint records the steps after it again.
   */
  readonly generation: number;
};

/** How a table is followed, with what was not given. */
export type FollowSettings = {
  readonly from: 'now' | number;
  readonly metricKeys: readonly string[] | undefined;
  readonly until: 'end' | 'closed';
  readonly pollMs: number;
};

/** @throws {QuarkError} `invalid_input` naming the option */
export function checkFollowOptions(options: FollowOptions, onRows: unknown): FollowSettings {
  const { from, metricKeys, pollMs, table, until } = readOptions('options', options, {
    table: (field: string, name: string) => {
      if (typeof name === 'string' && TABLES.has(name)) return name;
      throw invalidInput(field, name, `a table of a run: ${[...TABLES.keys()].join(', ')}`);
    },
    from: checkFrom,
    metricKeys: optional(checkKeys),
    until: literal(['end', 'closed'], 'end'),
    pollMs: positive(1_000),
    signal: asGiven,
  });
  if (metricKeys !== undefined && table !== 'metrics')
    throw invalidInput('options.metricKeys', metricKeys, 'left out for a table other than metrics');
  if (onRows !== undefined) callable('onRows', onRows);
  return { from, metricKeys, pollMs, until };
}

function checkFrom(field: string, from: unknown = 'now'): 'now' | number {
  if (from === 'now') return from;
  if (from === 'start') return 0;
  if (typeof from !== 'number')
    throw invalidInput(field, from, '"now", "start" or a sequence number');
  return checkCount(field, from);
}

function checkKeys(field: string, keys: unknown): readonly string[] {
  if (!Array.isArray(keys) || keys.length === 0 || !keys.every((key) => typeof key === 'string'))
    throw invalidInput(field, keys, 'a list of at least one text');
  return [...keys];
}
