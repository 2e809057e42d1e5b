/**
 * What requests under way hold in memory: one number for all of them, and a share for each. Every byte belongs to a share
 * that is open; a share that was closed takes nothing more, and one that was lost without being closed is given back when
 * its object is collected.
 */
import { SessionStoreError } from '../base/errors.ts';
import { tooOften } from './limits.ts';

/** The part of a budget below which a refusal says that the budget is used up, and not that one request is large. */
const EXHAUSTED_SHARE = 0.75;

type Holding = {
  bytes: number;
  isOpen: boolean;
  owner: string | undefined;
  isOwnerFull: boolean;
};

/** Memory that requests share. */
export class MemoryBudget {
  readonly limit: number;
  readonly #ownerLimit: number;
  readonly #nowMs: () => number;
  readonly #byOwner = new Map<string, number>();
  readonly #lost: FinalizationRegistry<Holding>;
  #used = 0;
  #openShares = 0;
  /** When a request was first refused with nothing given back since. */
  #refusedAtMs: number | undefined;

  /**
   * @param limit in bytes
   * @param nowMs a time that is never set back, in milliseconds
   * @param ownerLimit bytes of all shares of one owner
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

  /** Shares that are open, whether they hold anything or not. */
  get openShares(): number {
    return this.#openShares;
  }

  /**
   * How long the budget has been used up with requests refused and nothing given back, in milliseconds; 0 while there is
   * room, or while room comes back.
   */
  get stuckMs(): number {
    if (this.#refusedAtMs === undefined || this.#used < this.limit * EXHAUSTED_SHARE) return 0;
    return this.#nowMs() - this.#refusedAtMs;
  }

  /** The share of one request, whose owner may be found out later. */
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
    // Nobody gives back more than they hold.
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

/** What one request holds of a {@link MemoryBudget}. */
export type MemoryShare = {
  /**
   * Whether there is room for so many bytes more; they count from now on. A number below zero gives some back. A share
   * that was closed has room for nothing.
   */
  readonly take: (bytes: number) => boolean;
  /** Whether the last refusal was the owner's limit, and not that of all. */
  readonly isOwnerFull: () => boolean;
  /** Says whose it is: what it holds, and what it takes later, counts for this owner. */
  readonly giveTo: (owner: string) => void;
  /** Gives all of it back. Closing twice is fine. */
  readonly close: () => void;
};

/** The error for a request that finds no room: 503, or 429 where its user holds as much as one user may. */
export function noRoom(isOwnerFull: boolean, retryAfterMs: number): SessionStoreError {
  if (isOwnerFull)
    return tooOften(
      'The requests of this user hold all the memory that one user may. Try again later.',
      retryAfterMs,
    );
  return new SessionStoreError('busy', 'The service has no room for this request now.', {
    details: { retryAfterMs, limit: 'memory' },
  });
}
