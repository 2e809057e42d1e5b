/** What users take of a service: requests, bytes, processor time. Those who take too much are told when to come back. */
import type { Clock } from '../../base/clock.ts';
import type { Principal } from '../access/principal.ts';
import { FairShares } from './fair-shares.ts';
import { tooOften, type ServiceLimits } from './limits.ts';
import { UserTurns } from './user-turns.ts';

/** What a {@link Usage} is made of. */
export type UsageParts = {
  readonly limits: ServiceLimits;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  /** A time that is never set back, in milliseconds. */
  readonly monotonicMs: () => number;
  /** Time for which the thread of the service has worked, in milliseconds; it is not counted unless given. */
  readonly loopMs?: (() => number) | undefined;
};

type Owner = { readonly user: string; readonly key: string; requests: number };

/** Counts for each user and key, and refuses. */
export class Usage {
  readonly #loopMs: (() => number) | undefined;
  readonly #requests: FairShares;
  readonly #bytes: FairShares;
  readonly #processor: FairShares;
  readonly #turns: UserTurns;
  readonly #keys: FairShares;
  /** Whose requests are under way. */
  readonly #owners = new Map<string, Owner>();
  #underWay = 0;
  #settledMs: number;

  constructor({ limits, clock, monotonicMs, loopMs }: UsageParts) {
    this.#loopMs = loopMs;
    this.#settledMs = loopMs?.() ?? 0;
    this.#requests = new FairShares(clock, limits.requestsPerSecond, limits.requestBurst);
    this.#bytes = new FairShares(clock, limits.bytesPerSecond, limits.byteBurst);
    this.#processor = new FairShares(clock, limits.processorMsPerSecond, limits.processorBurstMs);
    this.#turns = new UserTurns({ clock, monotonicMs });
    const { keysPerMinute } = limits;
    this.#keys = new FairShares(clock, keysPerMinute / 60, keysPerMinute);
  }

  /** Takes a request. @throws {SessionStoreError} `busy` (429) */
  admit(principal: Principal): void {
    const { userId: user } = principal;
    const key = keyOf(principal);
    this.#settle();
    refuse(this.#processor.wait(user, key, 0), 'has used its processor time');
    refuse(this.#bytes.wait(user, key, 0), 'sends and asks for too many bytes');
    refuse(this.#requests.take(user, key), 'makes too many requests');
  }

  /** Waits until a request may be worked on: see {@link UserTurns.begin}. */
  begin({ userId }: Principal, signal: AbortSignal): Promise<() => void> {
    return this.#turns.begin(userId, signal);
  }

  /** Takes bytes beyond those of the message itself. @throws {SessionStoreError} `busy` (429) */
  takeBytes(principal: Principal, bytes: number): void {
    refuse(
      this.#bytes.take(principal.userId, keyOf(principal), bytes),
      'sends and asks for too many bytes',
    );
  }

  /** Takes the making of a key. @throws {SessionStoreError} `busy` (429) */
  takeKey({ userId }: Principal): void {
    refuse(this.#keys.take(userId), 'makes too many keys');
  }

  /** Counts bytes that have travelled. */
  chargeBytes(principal: Principal, bytes: number): void {
    this.#bytes.charge(principal.userId, keyOf(principal), bytes);
  }

  /** Counts processor time that was taken. */
  chargeProcessor(principal: Principal, ms: number): void {
    this.#processor.charge(principal.userId, keyOf(principal), ms);
  }

  /**
   * A request is under way until what is returned is called; calling it twice is fine. The time for which the thread works
   * is divided among the requests that are under way.
   */
  enter(principal: Principal): () => void {
    this.#settle();
    const key = keyOf(principal);
    const name = `${principal.userId}\n${key}`;
    const owner = this.#owners.get(name) ?? { user: principal.userId, key, requests: 0 };
    this.#owners.set(name, owner);
    owner.requests += 1;
    this.#underWay += 1;
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.#settle();
      this.#underWay -= 1;
      owner.requests -= 1;
      if (owner.requests === 0) this.#owners.delete(name);
    };
  }

  #settle(): void {
    if (this.#loopMs === undefined) return;
    const nowMs = this.#loopMs();
    const share = (nowMs - this.#settledMs) / Math.max(1, this.#underWay);
    this.#settledMs = nowMs;
    if (!(share > 0)) return;
    for (const { user, key, requests } of this.#owners.values())
      this.#processor.charge(user, key, share * requests);
  }
}

/** People at the machine itself have no key. */
function keyOf({ keyId }: Principal): string {
  return keyId ?? '';
}

/** @throws {SessionStoreError} `busy` (429) */
function refuse(waitMs: number, what: string): void {
  if (waitMs > 0) throw tooOften(`This user ${what}. Try again later.`, waitMs);
}
