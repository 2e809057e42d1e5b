/** What a session is made of, and what is left of one that ended while its storage failed. */
import type { Clock } from '../base/clock.ts';
import type { TerminalRunStatus } from '../records/literals.ts';
import type { RunRecord } from '../records/run.ts';
import type { Store, StoredRun } from '../store/store.ts';
import type { Platform } from './platforms/platform.ts';
import type { SessionOptions } from './run-options.ts';
import type { LateStore } from './storing/run-store.ts';

/** An end, or a leave without an end, that is not stored yet. */
export type Postponed = {
  readonly status: TerminalRunStatus | undefined;
  readonly merges: boolean;
  readonly resumeCount: number;
};

/** What a session is made of. */
export type SessionParts = {
  readonly store: Store | LateStore;
  /** Whether the session closes the store. */
  readonly isStoreOwned: boolean;
  readonly platform: Platform;
  readonly clock: Clock;
  /** Its name in leases on the run. */
  readonly holder: string;
  readonly run: RunRecord;
  readonly options: SessionOptions;
  /** Whether another session started the run. Default false. */
  readonly isGuest?: boolean;
  /** The run as the store had it when the session began, if it was there. */
  readonly known?: StoredRun | undefined;
  /** Whether the run is in the store; else {@link SessionCore.ready} puts it there. Default true. */
  readonly isStored?: boolean;
};
