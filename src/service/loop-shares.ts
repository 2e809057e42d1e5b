/**
 * The time of the service's own thread, which all users share: while it works for one, all others wait. Each user has a
 * bucket of its own, so that nobody pays for what others took. Only a user who has taken more of late than those have who want
 * something now has to wait, and only until its own bucket is in credit.
 */

/** Milliseconds a second that users who are ahead of others share. */
const MS_PER_SECOND = 500;
/** What a user gets of it in any case. */
const LEAST_MS_PER_SECOND = 125;
/** What a user takes at once before the rate counts. */
const BURST_MS = 1_000;
/** A bucket owes at most so much, which the least rate pays back in four seconds. */
const MAX_DEBT_MS = 500;
/** What was taken counts half after this time. */
const HALF_LIFE_MS = 5_000;
/** Even parts of which a user may take more than others without being held back. */
const AHEAD_PARTS = 1.5;
/** A user wants something while a request is under way or waits, and for so long afterwards. */
const WANTS_MS = 1_000;
const SWEEP_USERS = 64;

type User = {
  /** Requests under way or waiting. */
  open: number;
  /** When the last of them ended. */
  endedAtMs: number;
  /** Milliseconds that it may take now; below zero it owes some. */
  credit: number;
  /** What it took lately. */
  taken: number;
  atMs: number;
};

/** Users that want something now, and what they took lately. */
type Wanting = { readonly count: number; readonly taken: number };

/** The thread's time of every user. */
export class LoopShares {
  readonly #nowMs: () => number;
  readonly #users = new Map<string, User>();
  #sweepAt = SWEEP_USERS;

  /** @param nowMs a time that is never set back, in milliseconds */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** A request of a user waits or is under way until what is returned is called; calling it twice is fine. */
  enter(name: string): () => void {
    const user = this.#user(name);
    user.open += 1;
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      user.open -= 1;
      user.endedAtMs = this.#nowMs();
    };
  }

  /** How many milliseconds a user has to wait; 0 for one that is alone, or not ahead of the others. */
  wait(name: string): number {
    const nowMs = this.#nowMs();
    const own = this.#users.get(name);
    if (own === undefined) return 0;
    const others = without(own, this.#wanting(nowMs), nowMs);
    const rate = this.#refresh(own, others, nowMs);
    const { count, taken } = others;
    const isAhead = count > 0 && own.taken * (count + 1) > AHEAD_PARTS * (own.taken + taken);
    return isAhead && own.credit < 0 ? Math.max(1, Math.ceil(-own.credit / rate)) : 0;
  }

  /** Counts time for which the thread has worked, by user. One that is alone owes nothing for it. */
  charge(worked: ReadonlyMap<string, number>): void {
    const nowMs = this.#nowMs();
    const all = this.#wanting(nowMs);
    for (const [name, ms] of worked) {
      const own = this.#user(name);
      const others = without(own, all, nowMs);
      this.#refresh(own, others, nowMs);
      own.taken += ms;
      const least = others.count === 0 ? Math.min(0, own.credit) : -MAX_DEBT_MS;
      own.credit = Math.max(least, own.credit - ms);
    }
  }

  #wanting(nowMs: number): Wanting {
    let count = 0;
    let taken = 0;
    for (const user of this.#users.values()) {
      if (!wantsSomething(user, nowMs)) continue;
      count += 1;
      taken += takenAt(user, nowMs);
    }
    return { count, taken };
  }

  /** Brings a user up to now; returns its rate, in milliseconds a millisecond. */
  #refresh(user: User, { count, taken }: Wanting, nowMs: number): number {
    const elapsedMs = Math.max(0, nowMs - user.atMs);
    // What the others leave, and an even part of all where they leave less.
    const left = MS_PER_SECOND - (taken * Math.LN2 * 1_000) / HALF_LIFE_MS;
    const rate = Math.max(LEAST_MS_PER_SECOND, MS_PER_SECOND / (count + 1), left) / 1_000;
    user.taken = takenAt(user, nowMs);
    user.credit = Math.min(BURST_MS, user.credit + elapsedMs * rate);
    user.atMs = nowMs;
    return rate;
  }

  #user(name: string): User {
    const known = this.#users.get(name);
    if (known !== undefined) return known;
    const nowMs = this.#nowMs();
    const user = { open: 0, endedAtMs: nowMs, credit: BURST_MS, taken: 0, atMs: nowMs };
    if (this.#users.size >= this.#sweepAt) this.#sweep(nowMs);
    this.#users.set(name, user);
    return user;
  }

  /** Forgets those whose bucket is full again. */
  #sweep(nowMs: number): void {
    const fullMs = ((BURST_MS + MAX_DEBT_MS) * 1_000) / LEAST_MS_PER_SECOND;
    for (const [name, user] of this.#users)
      if (!wantsSomething(user, nowMs) && nowMs - user.atMs > fullMs) this.#users.delete(name);
    this.#sweepAt = Math.max(SWEEP_USERS, 2 * this.#users.size);
  }
}

function wantsSomething({ open, endedAtMs }: User, nowMs: number): boolean {
  return open > 0 || nowMs - endedAtMs < WANTS_MS;
}

function without(user: User, all: Wanting, nowMs: number): Wanting {
  if (!wantsSomething(user, nowMs)) return all;
  return { count: all.count - 1, taken: all.taken - takenAt(user, nowMs) };
}

function takenAt({ taken, atMs }: User, nowMs: number): number {
  return taken * 2 ** (-Math.max(0, nowMs - atMs) / HALF_LIFE_MS);
}
