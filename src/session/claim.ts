/** The claim of a session on its run: the sign of life that others see. */
import type { Clock } from '../base/clock.ts';
import type { Store } from '../store/store.ts';

/** Renews the claim every third of its time. */
export class Claim {
  readonly #store: Store;
  readonly #runId: string;
  readonly #holder: string;
  readonly #clock: Clock;
  readonly #ttlMs: number;
  #renewedAtMs = 0;
  #cancel: (() => void) | undefined;

  constructor(store: Store, runId: string, holder: string, clock: Clock, ttlMs: number) {
    this.#store = store;
    this.#runId = runId;
    this.#holder = holder;
    this.#clock = clock;
    this.#ttlMs = ttlMs;
  }

  /** Renews it now; through `store` where that is not the one of the session. */
  async renew(store: Pick<Store, 'renewLease'> = this.#store): Promise<void> {
    this.#renewedAtMs = this.#clock.now();
    await store.renewLease(this.#runId, this.#holder, this.#ttlMs);
  }

  /** Something was written: timers may be slow, so this is an occasion as well. */
  touch(): void {
    if (this.#clock.now() - this.#renewedAtMs > this.#ttlMs / 3)
      this.renew().catch(() => undefined);
  }

  /** Goes on renewing it while `isWanted` says so. */
  keep(isWanted: () => boolean): void {
    this.#cancel = this.#clock.after(this.#ttlMs / 3, () => {
      if (!isWanted()) return;
      // A renewal that fails is made up for by the next one; until then the run may look interrupted.
      this.renew().catch(() => undefined);
      this.keep(isWanted);
    });
  }

  /** Renews it no more. */
  stop(): void {
    this.#cancel?.();
  }

  async release(): Promise<void> {
    await this.#store.releaseLease(this.#runId, this.#holder);
  }
}
