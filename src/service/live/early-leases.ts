/**
 * Leases on runs that do not exist yet. A client that sends its records later claims a run before the service has it. The claim
 * is answered, remembered until it expires, and stored with the run. Claims on runs that never arrive are forgotten.
 */
import type { Clock } from '../../base/clock.ts';
import { runDeleted } from '../../store/deletion.ts';
import { checkLeaseClaim } from '../../store/run-rules.ts';
import { wrapStore } from '../../store/front.ts';
import type { Lease, Store } from '../../store/store.ts';

/** Limit on remembered claims; the oldest are forgotten first. */
const MAX_CLAIMS = 1_000;

type Claim = Lease & { readonly space: string };

/** The claims of one process. */
export class EarlyLeases {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #claims = new Map<string, Claim>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** How many are remembered. */
  get size(): number {
    return this.#claims.size;
  }

  /** The same store, where a lease on a run that does not exist is stored with the run. */
  over(store: Store, space: string): Store {
    const renewLease: Store['renewLease'] = async (runId, holder, ttlMs) => {
      checkLeaseClaim(runId, holder, ttlMs);
      if (!store.isWritable || (await store.findRun(runId)) !== undefined)
        return store.renewLease(runId, holder, ttlMs);
      if ((await store.findDeletedRun(runId)) !== undefined) throw runDeleted(runId);
      const lease = { runId, holder, expiresAtMs: this.#clock.now() + ttlMs };
      this.#remember({ ...lease, space });
      return lease;
    };
    const releaseLease: Store['releaseLease'] = async (runId, holder) => {
      this.#claims.delete(nameOf(space, runId, holder));
      await store.releaseLease(runId, holder);
    };
    const createRun: Store['createRun'] = async (run) => {
      const created = await store.createRun(run);
      for (const [name, claim] of this.#claims) {
        if (claim.space !== space || claim.runId !== created.id) continue;
        this.#claims.delete(name);
        const leftMs = claim.expiresAtMs - this.#clock.now();
        if (leftMs > 0) await store.renewLease(claim.runId, claim.holder, leftMs);
      }
      return created;
    };
    return wrapStore(store, (_name, _args, call) => call(), {
      renewLease,
      releaseLease,
      createRun,
    });
  }

  #remember(claim: Claim): void {
    const name = nameOf(claim.space, claim.runId, claim.holder);
    this.#claims.delete(name);
    this.#claims.set(name, claim);
    const [oldest] = this.#claims.keys();
    if (this.#claims.size > MAX_CLAIMS && oldest !== undefined) this.#claims.delete(oldest);
  }
}

function nameOf(space: string, runId: string, holder: string): string {
  return `${space}\n${runId}\n${holder}`;
}
