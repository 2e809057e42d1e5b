/** The lease of a session on its run: shows others that the run is live. */
import type { Clock } from '../../base/clock.ts';
import type { Store } from '../../store/store.ts';

/** The lease is renewed every third of its duration. */
export class Claim {
  readonly #store: Store;
  readonly #runId: string;
  readonly #holder: string;
  readonly #clock: Clock;
  readonly #ttlMs: number;
  #renewedAtMs = 0;
  #cancel: (() => void) | undefined;
  #isStopped = false;

  constructor(store: Store, runId: string, holder: string, clock: Clock, ttlMs: number) {
    this.#store = store;
    this.#runId = runId;
    this.#holder = holder;
    this.#clock = clock;
    this.#ttlMs = ttlMs;
  }

  /** Renews it now, through `store` if given instead of the store of the session. */
  async renew(store: Pick<Store, 'renewLease'> = this.#store): Promise<void> {
    this.#renewedAtMs = this.#clock.now();
    await store.renewLease(this.#runId, this.#holder, this.#ttlMs);
  }

  /** Renews it after a write if it is due, because timers may be late. */
  touch(): void {
    if (!this.#isStopped && this.#clock.now() - this.#renewedAtMs > this.#ttlMs / 3)
      this.renew().catch(() => undefined);
  }

  /** Renews it periodically while `isWanted` returns true, and calls `onRenewed` each time. */
  keep(isWanted: () => boolean, onRenewed: () => void): void {
    if (this.#isStopped) return;
    this.#cancel = this.#clock.after(this.#ttlMs / 3, () => {
      if (!isWanted()) return;
      // After a failed renewal the next one restores the lease; until then the run may look interrupted.
      this.renew().then(onRenewed, () => undefined);
      this.keep(isWanted, onRenewed);
    });
  }

  /** Stops renewing it. */
  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
  }

  async release(): Promise<void> {
    await this.#store.releaseLease(this.#runId, this.#holder);
  }
}
