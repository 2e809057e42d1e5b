/**
 * A rate that several share: a token bucket of a group, and what each member has taken of it lately. While one member is
 * alone, the whole rate is its own. Of several, those that have taken more than one and a half even parts lately may use the
 * upper half of the bucket only; the lower half is for the others, who so never wait for them.
 */
import type { Clock } from '../../base/clock.ts';

/** What was taken counts half after this time. */
const HALF_LIFE_MS = 5_000;
/** Even parts of which a member may take more than others without being held back. */
const AHEAD_PARTS = 1.5;
/** A member that has taken less than this part of the burst lately is not there any more. */
const FORGOTTEN_PART = 1e-4;
/** Parts of a token that have come one after the other add up to a little less than a whole one. */
const ROUNDING = 1e-9;
const SWEEP_GROUPS = 1_024;

type Member = { taken: number; atMs: number };
type Group = { tokens: number; atMs: number; readonly members: Map<string, Member> };

/** A bucket owes at most so many times what it holds, so that no member waits for ever for what another has used. */
const MAX_DEBT = 2;

/** The buckets of all groups. Full ones are forgotten, so that memory follows the number of groups in use. */
export class FairShares {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #perMs: number;
  readonly #burst: number;
  readonly #groups = new Map<string, Group>();
  #sweepAt = SWEEP_GROUPS;

  /** @param burst tokens of a full bucket */
  constructor(clock: Pick<Clock, 'now'>, perSecond: number, burst: number) {
    this.#clock = clock;
    this.#perMs = perSecond / 1_000;
    this.#burst = burst;
  }

  /**
   * Takes `count` tokens, or none; returns 0, or how many milliseconds to wait until they are there. More than a full bucket
   * holds is taken from a full one, and waited for afterwards.
   */
  take(group: string, member = '', count = 1): number {
    const waitMs = this.wait(group, member, count);
    if (waitMs === 0) this.charge(group, member, count);
    return waitMs;
  }

  /** How many milliseconds a member has to wait for `count` tokens. */
  wait(group: string, member: string, count = 1): number {
    const nowMs = this.#clock.now();
    const found = this.#groups.get(group);
    if (found === undefined) return 0;
    this.#fill(found, nowMs);
    const floor = this.#isAhead(found, member, nowMs) ? this.#burst / 2 : 0;
    const missing = Math.min(count, this.#burst - floor) + floor - found.tokens;
    return missing <= ROUNDING ? 0 : Math.max(1, Math.ceil(missing / this.#perMs));
  }

  /** Takes what has been used already: a bucket may then hold less than nothing. */
  charge(group: string, member: string, count: number): void {
    const nowMs = this.#clock.now();
    const found = this.#groups.get(group) ?? {
      tokens: this.#burst,
      atMs: nowMs,
      members: new Map(),
    };
    if (!this.#groups.has(group)) {
      this.#groups.set(group, found);
      if (this.#groups.size > this.#sweepAt) this.#sweep(nowMs);
    }
    this.#fill(found, nowMs);
    found.tokens = Math.max(-MAX_DEBT * this.#burst, found.tokens - count);
    const taken = this.#takenBy(found.members.get(member), nowMs) + count;
    found.members.set(member, { taken, atMs: nowMs });
  }

  #fill(group: Group, nowMs: number): void {
    // A clock that was set back gives nothing and takes nothing.
    const elapsedMs = Math.max(0, nowMs - group.atMs);
    group.tokens = Math.min(this.#burst, group.tokens + elapsedMs * this.#perMs);
    group.atMs = nowMs;
  }

  /** Whether others are there, and this member has taken so much more than they have. */
  #isAhead({ members }: Group, member: string, nowMs: number): boolean {
    let own = 0;
    let all = 0;
    let count = 0;
    for (const [name, one] of members) {
      const taken = this.#takenBy(one, nowMs);
      if (taken < this.#burst * FORGOTTEN_PART) {
        members.delete(name);
        continue;
      }
      if (name === member) own = taken;
      all += taken;
      count += 1;
    }
    return count > 1 && own * count > AHEAD_PARTS * all;
  }

  #takenBy(member: Member | undefined, nowMs: number): number {
    if (member === undefined) return 0;
    return member.taken * 2 ** (-Math.max(0, nowMs - member.atMs) / HALF_LIFE_MS);
  }

  #sweep(nowMs: number): void {
    for (const [name, group] of this.#groups) {
      this.#fill(group, nowMs);
      if (group.tokens >= this.#burst) this.#groups.delete(name);
    }
    this.#sweepAt = Math.max(SWEEP_GROUPS, 2 * this.#groups.size);
  }
}
