/**
 * Of all tabs and processes on one local store, one sends. In browsers that is who holds a Web Lock, which ends with the
 * tab. Elsewhere it is a lease in a note, taken by compare-and-set and renewed while it is held.
 *
 * A lease is a matter of clocks, and clocks jump and processes are stopped: two may believe for a while that they are the
 * one. That costs requests and nothing else, because segments are known by their identity and notes are written only over
 * the text that was read. So a lock is taken away from a tab that does not answer: see `leader-pulse.ts`.
 */
import type { Clock } from '../base/clock.ts';
import type { StoreNotes } from '../store/store.ts';
import type { LeaderPulse } from './leader-pulse.ts';
import type { SyncTarget } from './sync-notes.ts';

/** How long a lease lasts without renewal. Hidden tabs of browsers without Web Locks wake up once a minute. */
const LEASE_TTL_MS = 15_000;
const RENEW_EVERY_MS = 5_000;
/** How often those who wait look again. */
const LOOK_EVERY_MS = 1_000;

/** Says who holds a lease, so that a holder that has died is seen to be dead. */
export type HolderTag = {
  /** Names a process across restarts of the program; `null` where there is no way. */
  readonly tag: string | null;
  /** Whether the process of this tag is known to have ended. */
  readonly isGone: (tag: string) => boolean;
};

/** The part of Web Locks that is used. */
export type LocksLike = {
  request(
    name: string,
    options: { readonly signal?: AbortSignal; readonly steal?: boolean },
    callback: () => Promise<void>,
  ): Promise<void>;
};

type LeaseNote = {
  readonly holder: string;
  readonly tag: string | null;
  readonly expiresAtMs: number;
  /** Counts the takeovers. */
  readonly term: number;
};

/** What {@link lead} is made of. */
export type LeadershipParts = {
  readonly notes: StoreNotes;
  /** Name of the lock: the local store and the service. */
  readonly name: string;
  readonly holder: string;
  readonly holderTag: HolderTag;
  readonly clock: Clock;
  /** Undefined where there are none, or where they do not reach as far as the store does. */
  readonly locks: LocksLike | undefined;
  /** Tells whether the holder of the lock is there; a lock is never taken away without it. */
  readonly pulse?: LeaderPulse | undefined;
};

/**
 * Runs `work` whenever this store object is the one that sends, until `signal` is aborted. `work` gets a signal that is
 * aborted when it has to stop, and resolves then.
 */
export async function lead(
  parts: LeadershipParts,
  signal: AbortSignal,
  work: (lost: AbortSignal) => Promise<void>,
): Promise<void> {
  const { clock, locks } = parts;
  if (locks === undefined) return leadByLease(parts, signal, work);
  let steals = false;
  while (!signal.aborted) {
    try {
      steals = await holdLock(parts, locks, { signal, steals, work });
    } catch (error) {
      if (signal.aborted) return;
      // Frames without an origin of their own have no locks.
      if (!(error instanceof Error) || error.name !== 'SecurityError') throw error;
      return leadByLease(parts, signal, work);
    }
    if (!steals) await pause(clock, LOOK_EVERY_MS, signal);
  }
}

type Turn = {
  readonly signal: AbortSignal;
  /** The holder of the lock has lapsed: it is taken away. */
  readonly steals: boolean;
  readonly work: (lost: AbortSignal) => Promise<void>;
};

/**
 * Waits for the lock and works while this one has it. Returns whether to take it away from its holder, which does not answer: of a
 * tab that thaws later, the work stops then, and until it does two may send, which is harmless.
 */
async function holdLock(
  { name, pulse }: LeadershipParts,
  locks: LocksLike,
  { signal, steals, work }: Turn,
): Promise<boolean> {
  const lost = new AbortController();
  const waiting = new AbortController();
  const waited = new AbortController();
  let working: Promise<void> | undefined;
  let hasLapsed = false;
  const hold = async (): Promise<void> => {
    waited.abort();
    const undo = pulse?.lead();
    working = work(AbortSignal.any([signal, lost.signal]));
    try {
      await working;
    } finally {
      undo?.();
    }
  };
  const lockName = `quark-sync ${name}`;
  if (!steals)
    void pulse?.lapsed(AbortSignal.any([signal, waited.signal])).then((isSilent) => {
      if (!isSilent) return;
      hasLapsed = true;
      waiting.abort();
    });
  try {
    await (steals
      ? locks.request(lockName, { steal: true }, hold)
      : locks.request(lockName, { signal: AbortSignal.any([signal, waiting.signal]) }, hold));
  } catch (error) {
    const isAbort = error instanceof Error && error.name === 'AbortError';
    if (!isAbort) throw error;
    // Somebody has taken it away from here, or it is about to be taken.
    lost.abort();
    await working;
  } finally {
    waited.abort();
  }
  return hasLapsed && working === undefined;
}

async function leadByLease(
  parts: LeadershipParts,
  signal: AbortSignal,
  work: (lost: AbortSignal) => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    const lease = await takeLease(parts).catch(() => undefined);
    if (lease === undefined) {
      await pause(parts.clock, LOOK_EVERY_MS, signal);
      continue;
    }
    const lost = new AbortController();
    const stop = (): void => lost.abort();
    signal.addEventListener('abort', stop, { once: true });
    const renewing = keepLease(parts, lease, lost);
    try {
      await work(lost.signal);
    } finally {
      lost.abort();
      signal.removeEventListener('abort', stop);
      const last = await renewing;
      await parts.notes.write(noteName(parts), null, last).catch(() => false);
    }
  }
}

/** The text of the lease when it was free and is taken now. */
async function takeLease(parts: LeadershipParts): Promise<string | undefined> {
  const name = noteName(parts);
  const text = await parts.notes.read(name);
  const held = text === undefined ? undefined : parseLease(text);
  const nowMs = parts.clock.now();
  if (held !== undefined && held.holder !== parts.holder) {
    // A lease that lasts longer than leases do was taken under another clock.
    const isLive = held.expiresAtMs > nowMs && held.expiresAtMs <= nowMs + LEASE_TTL_MS;
    const isGone = held.tag !== null && parts.holderTag.isGone(held.tag);
    if (isLive && !isGone) return undefined;
  }
  const next = leaseText(parts, (held?.term ?? 0) + 1, nowMs);
  return (await parts.notes.write(name, next, text ?? null)) ? next : undefined;
}

/** Renews until told to stop; tells when somebody else has taken the lease. Returns the text as it was last. */
async function keepLease(
  parts: LeadershipParts,
  taken: string,
  lost: AbortController,
): Promise<string> {
  let text = taken;
  const term = parseLease(taken)?.term ?? 0;
  for (;;) {
    await pause(parts.clock, RENEW_EVERY_MS, lost.signal);
    if (lost.signal.aborted) return text;
    const next = leaseText(parts, term, parts.clock.now());
    try {
      if (await parts.notes.write(noteName(parts), next, text)) text = next;
      else lost.abort();
    } catch {
      // The local store is in trouble: the next renewal may succeed, and if not, the lease runs out.
    }
  }
}

function leaseText({ holder, holderTag }: LeadershipParts, term: number, nowMs: number): string {
  const note: LeaseNote = { holder, tag: holderTag.tag, expiresAtMs: nowMs + LEASE_TTL_MS, term };
  return JSON.stringify(note);
}

function parseLease(text: string): LeaseNote | undefined {
  try {
    const note = JSON.parse(text) as Partial<LeaseNote>;
    const { expiresAtMs, holder, tag = null, term = 0 } = note;
    if (typeof holder !== 'string' || typeof expiresAtMs !== 'number') return undefined;
    return { holder, tag, expiresAtMs, term };
  } catch {
    return undefined;
  }
}

function noteName({ name }: LeadershipParts): string {
  return `sync/uploader/${name}`;
}

/** Resolves after a while, or at once when the signal is aborted. */
export function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const done = (): void => {
      cancel();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.after(delayMs, done);
    signal.addEventListener('abort', done, { once: true });
  });
}

/** The outboxes of this thread that send, by local store and service. */
const sending = new Map<string, number>();

/** Notes that one more, or one less, sends from a local store to a service. */
export function countSending(localUri: string, { space, uri }: SyncTarget, change: 1 | -1): void {
  const name = `${localUri} ${uri} ${space}`;
  sending.set(name, (sending.get(name) ?? 0) + change);
}

/** Whether something in this thread sends from this local store to the service. */
export function hasOutbox(localUri: string, { space, uri }: SyncTarget): boolean {
  return (sending.get(`${localUri} ${uri} ${space}`) ?? 0) > 0;
}
