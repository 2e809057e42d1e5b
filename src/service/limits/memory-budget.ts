/**
 * The memory budget of all requests under way. Every reserved byte belongs to an open lease of one request. A closed lease
 * reserves nothing more, and a lease that was lost without being closed is released when its object is garbage-collected.
 */
import { SessionStoreError } from '../../base/errors.ts';
import { tooOften } from './limits.ts';

/** Requests smaller than this fraction of the budget count as a sign of exhaustion when they are refused. */
const EXHAUSTED_SHARE = 0.75;

type Holding = {
  bytes: number;
  isOpen: boolean;
  owner: string | undefined;
  isOwnerFull: boolean;
};

/** The memory budget that requests share. */
export class MemoryBudget {
  readonly limit: number;
  readonly #ownerLimit: number;
  readonly #nowMs: () => number;
  readonly #byOwner = new Map<string, number>();
  readonly #lost: FinalizationRegistry<Holding>;
  #used = 0;
  #openShares = 0;
  /** Time of the first refusal since memory was last released. */
  #refusedAtMs: number | undefined;

  /**
   * @param limit in bytes
   * @param nowMs a monotonic time, in milliseconds
   * @param ownerLimit largest number of bytes of one owner over all requests
   */
  constructor(limit: number, nowMs: () => number, ownerLimit: number = limit) {
    this.limit = limit;
    this.#ownerLimit = ownerLimit;
    this.#nowMs = nowMs;
    this.#lost = new FinalizationRegistry((holding) => this.#close(holding));
  }

  get used(): number {
    return this.#used;
  }

  /** Number of open leases, empty ones included. */
  get openShares(): number {
    return this.#openShares;
  }

  /** How long the budget has been exhausted, with requests refused and nothing released, in milliseconds; 0 otherwise. */
  get stuckMs(): number {
    if (this.#refusedAtMs === undefined || this.#used < this.limit * EXHAUSTED_SHARE) return 0;
    return this.#nowMs() - this.#refusedAtMs;
  }

  /** Opens the lease of one request. Its owner may be set later. */
  open(): MemoryShare {
    const holding: Holding = { bytes: 0, isOpen: true, owner: undefined, isOwnerFull: false };
    this.#openShares += 1;
    const share: MemoryShare = {
      take: (bytes) => this.#take(holding, bytes),
      isOwnerFull: () => holding.isOwnerFull,
      giveTo: (owner) => {
        this.#countOwner(holding, -holding.bytes);
        holding.owner = owner;
        this.#countOwner(holding, holding.bytes);
      },
      close: () => {
        this.#lost.unregister(holding);
        this.#close(holding);
      },
    };
    this.#lost.register(share, holding, holding);
    return share;
  }

  #take(holding: Holding, bytes: number): boolean {
    holding.isOwnerFull = false;
    if (!holding.isOpen) return bytes <= 0;
    // No lease releases more than it holds.
    const change = Math.max(bytes, -holding.bytes);
    if (change > 0 && this.#used + change > this.limit) {
      this.#refusedAtMs ??= this.#nowMs();
      return false;
    }
    const { owner } = holding;
    const held = owner === undefined ? 0 : (this.#byOwner.get(owner) ?? 0);
    holding.isOwnerFull = change > 0 && held + change > this.#ownerLimit;
    if (holding.isOwnerFull) return false;
    this.#add(holding, change);
    return true;
  }

  #close(holding: Holding): void {
    if (!holding.isOpen) return;
    holding.isOpen = false;
    this.#openShares -= 1;
    this.#add(holding, -holding.bytes);
  }

  #countOwner({ owner }: Holding, bytes: number): void {
    if (owner === undefined || bytes === 0) return;
    const held = (this.#byOwner.get(owner) ?? 0) + bytes;
    if (held > 0) this.#byOwner.set(owner, held);
    else this.#byOwner.delete(owner);
  }

  #add(holding: Holding, bytes: number): void {
    holding.bytes += bytes;
    this.#used += bytes;
    this.#countOwner(holding, bytes);
    if (bytes < 0) this.#refusedAtMs = undefined;
  }
}

/** The lease of one request on a {@link MemoryBudget}. */
export type MemoryShare = {
  /**
   * Reserves bytes and returns whether the budget has space for them. A negative number releases some. A closed lease reserves
   * nothing.
   */
  readonly take: (bytes: number) => boolean;
  /** Whether the last refusal came from the owner's limit. */
  readonly isOwnerFull: () => boolean;
  /** Sets the owner: all bytes of the lease, present and later, count for it. */
  readonly giveTo: (owner: string) => void;
  /** Releases everything. Closing twice is fine. */
  readonly close: () => void;
};

/** The error for a refused reservation: 503, or 429 at the user's own limit. */
export function noRoom(isOwnerFull: boolean, retryAfterMs: number): SessionStoreError {
  if (isOwnerFull)
    return tooOften(
      'The requests of this user have used up the memory of one user. Try again later.',
      retryAfterMs,
    );
  return new SessionStoreError('busy', 'The service has no memory left for this request now.', {
    details: { retryAfterMs, limit: 'memory' },
  });
}
