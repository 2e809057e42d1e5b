/** The scopes of a profile as an outline: those of one name in the same scope are a line. */
import { grouped } from './grouped.ts';
import type { Profile, ProfileScope } from './profile.ts';

/** Scopes of one name in the same scope. */
export type ProfileLine = {
  readonly name: string;
  /** 0 for a line that is in no other. */
  readonly depth: number;
  /** In the order in which they began. */
  readonly scopes: readonly ProfileScope[];
  /** Milliseconds of all of them together; those without an end left out. */
  readonly totalMs: number;
  /** By how much resident memory changed from the start to the end of all of them, in bytes; null where it was not measured. */
  readonly rssChange: number | null;
  /** Whether the work of one of them threw. */
  readonly hasFailed: boolean;
};

/**
 * The scopes of a profile as lines, each behind the one that it is in.
 *
 * @example
 * ```js
 * import { profileOutline, Profiler } from 'quark-sdk/profiler';
 *
 * const profileOf = (length) => {
 *   const profiler = new Profiler(); // without a session: in memory only
 *   profiler.scope('Loading', () => new Float32Array(length).fill(1));
 *   return profiler.close();
 * };
 * const lines = profileOutline(await profileOf(1000));
 * for (const { depth, name, totalMs } of lines) console.log('  '.repeat(depth) + name, totalMs >= 0); // Loading true
 * ```
 */
export function profileOutline({ scopes }: Pick<Profile, 'scopes'>): readonly ProfileLine[] {
  const inside = (parents: ReadonlySet<number | null>, depth: number): ProfileLine[] => {
    const own = scopes.filter(({ parentId }) => parents.has(parentId));
    return [...grouped(own, ({ name }) => name)].flatMap(([name, group]) => [
      { name, depth, scopes: group, ...totalsOf(group) },
      ...inside(new Set(group.map(({ id }) => id)), depth + 1),
    ]);
  };
  return inside(new Set([null]), 0);
}

function totalsOf(
  scopes: readonly ProfileScope[],
): Pick<ProfileLine, 'hasFailed' | 'rssChange' | 'totalMs'> {
  const changes = scopes.flatMap(({ end, start }) => {
    const [from, to] = [start['rss_bytes'], end?.['rss_bytes']];
    return from === undefined || to === undefined ? [] : [to - from];
  });
  return {
    totalMs: scopes.reduce((sum, { endMs, startMs }) => sum + ((endMs ?? startMs) - startMs), 0),
    rssChange: changes.length === 0 ? null : changes.reduce((a, b) => a + b, 0),
    hasFailed: scopes.some(({ hasFailed }) => hasFailed),
  };
}
