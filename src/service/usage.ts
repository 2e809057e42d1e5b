/** What users take of a service: requests, bytes, processor time. Those who take too much are told when to come back. */
import type { Clock } from '../base/clock.ts';
import type { Principal } from './access/principal.ts';
import { FairShares } from './fair-shares.ts';
import { OpenCounter, RateLimiter, tooOften, type ServiceLimits } from './limits.ts';

/** What a {@link Usage} is made of. */
export type UsageParts = {
  readonly limits: ServiceLimits;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  /** Time for which the thread of the service has worked, in milliseconds; it is not counted unless given. */
  readonly loopMs?: (() => number) | undefined;
};

/** Names the one group of all users. */
const EVERYBODY = '';
/**
 * Time of the service's own thread that those who are ahead of others get, in milliseconds a second: while they work, all
 * others wait.
 */
const LOOP_MS_PER_SECOND = 500;
const LOOP_BURST_MS = 1_000;
/** Requests of one user that wait for their turn, and for how long: as long as a debt of that thread lasts. */
const MAX_WAITING = 8;
const MAX_WAIT_MS = 6_000;

type Owner = { readonly user: string; readonly key: string; requests: number };

/** Counts for each user and key, and refuses. */
export class Usage {
  readonly #clock: UsageParts['clock'];
  readonly #loopMs: (() => number) | undefined;
  readonly #waiting = new OpenCounter();
  readonly #requests: FairShares;
  readonly #bytes: FairShares;
  readonly #processor: FairShares;
  readonly #loop: FairShares;
  readonly #keys: RateLimiter;
  /** Whose requests are under way. */
  readonly #owners = new Map<string, Owner>();
  #underWay = 0;
  #settledMs: number;

  constructor({ limits, clock, loopMs }: UsageParts) {
    this.#clock = clock;
    this.#loopMs = loopMs;
    this.#settledMs = loopMs?.() ?? 0;
    this.#requests = new FairShares(clock, limits.requestsPerSecond, limits.requestBurst);
    this.#bytes = new FairShares(clock, limits.bytesPerSecond, limits.byteBurst);
    this.#processor = new FairShares(clock, limits.processorMsPerSecond, limits.processorBurstMs);
    this.#loop = new FairShares(clock, LOOP_MS_PER_SECOND, LOOP_BURST_MS);
    const { keysPerMinute } = limits;
    this.#keys = new RateLimiter(clock, keysPerMinute / 60, keysPerMinute);
  }

  /**
   * Takes a request. One of a user who is ahead of others waits for a while before it is refused: who works hard is slower
   * while others work, and gets no error.
   *
   * @throws {SessionStoreError} `busy` (429)
   */
  async admit(principal: Principal): Promise<void> {
    const { userId: user } = principal;
    const key = keyOf(principal);
    this.#settle();
    refuse(this.#processor.wait(user, key, 0), 'has used its processor time');
    refuse(this.#bytes.wait(user, key, 0), 'sends and asks for too many bytes');
    refuse(this.#requests.take(user, key), 'makes too many requests');
    await this.#waitForTurn(user);
  }

  /** @throws {SessionStoreError} `busy` (429) for too many that wait, or that would wait too long */
  async #waitForTurn(user: string): Promise<void> {
    const what = 'has used its part of the processor while others wait';
    const endMs = this.#clock.now() + MAX_WAIT_MS;
    for (;;) {
      const waitMs = this.#loop.waitOfAhead(EVERYBODY, user);
      if (waitMs === 0) return;
      const isOver = this.#clock.now() + waitMs > endMs;
      if (isOver || this.#waiting.of(user) >= MAX_WAITING) refuse(waitMs, what);
      const leave = this.#waiting.open(user);
      await new Promise<void>((resolve) => {
        this.#clock.after(waitMs, resolve);
      });
      leave();
      this.#settle();
    }
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
    for (const { user, key, requests } of this.#owners.values()) {
      this.#processor.charge(user, key, share * requests);
      this.#loop.charge(EVERYBODY, user, share * requests);
    }
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
