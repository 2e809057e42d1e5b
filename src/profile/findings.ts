/** What a profile says: where its peak is, what grows and is not given back, how much of the time is not training. */
import { grouped } from './grouped.ts';
import { MEMORY_MEASURES } from './measures.ts';
import type { Profile, ProfileScope } from './profile.ts';
import { OTHER_STEPS, ProfileStep, TRAINING_STEPS } from '../base/profile-steps.ts';

/** A finding about a profile. */
export type ProfileFinding =
  | {
      readonly kind: 'peak';
      /** Of memory: `rss_bytes`, `gpu_bytes`, `page_bytes` or `heap_bytes`. */
      readonly measure: string;
      /** The innermost scope with the peak, and those around it, the outermost first. */
      readonly scope: ProfileScope;
      readonly path: readonly string[];
      readonly value: number;
      /** How much more that is than at the start of the profile. */
      readonly rise: number;
    }
  | {
      readonly kind: 'growth';
      readonly measure: string;
      /** Name of the scope that comes again and again, such as `Epoch`. */
      readonly scopeName: string;
      readonly times: number;
      /** The median of what it grows by each time. */
      readonly perTime: number;
      /** From the end of the first to the end of the last. */
      readonly total: number;
      /** The scope inside of it that takes most and does not give it back; null where none takes half of it. */
      readonly culprit: string | null;
    }
  | {
      readonly kind: 'not_training';
      /** Share of the time of the profile in which nothing was trained, 0 to 1. */
      readonly share: number;
      readonly trainingMs: number;
      readonly totalMs: number;
      /** Scopes that the rest of the time is in, the longest first, with the time that they have for themselves. */
      readonly parts: readonly { readonly name: string; readonly ms: number }[];
    };

/** A scope has to come so often that a growth can be told from a warm-up. */
const MIN_TIMES = 4;
/** Of the times after the first, which warms caches up, so many have to grow. */
const GROWING_SHARE = 0.75;
/** Growth from the second to the last that is worth a word: in bytes, and as a share of what there was. */
const MIN_GROWTH_BYTES = 4 << 20;
const MIN_GROWTH_SHARE = 0.02;
/** A peak that is lower by no more than this share is as high. */
const NEAR_SHARE = 0.005;
const PEAK_MEASURES = ['gpu_bytes', 'rss_bytes', 'page_bytes', 'heap_bytes'] as const;

/**
 * What stands out in a profile: the scope with the peak of each kind of memory, scopes that leave memory behind each time, and the share of
 * the time in which nothing was trained. In this order; empty where nothing stands out.
 *
 * @example
 * ```js
 * import { profileFindings, Profiler } from 'quark-sdk/profiler';
 *
 * const profileOf = (length) => {
 *   const profiler = new Profiler(); // without a session: in memory only
 *   profiler.scope('Loading', () => new Float32Array(length).fill(1));
 *   return profiler.close();
 * };
 * const findings = profileFindings(await profileOf(100_000_000)); // 400 MB
 * console.log(findings.map(({ kind }) => kind)); // [ 'peak' ]
 * ```
 */
export function profileFindings(profile: Profile): readonly ProfileFinding[] {
  return [...peaks(profile), ...growth(profile), ...notTraining(profile)];
}

function peaks(profile: Profile): ProfileFinding[] {
  const found: ProfileFinding[] = [];
  for (const measure of PEAK_MEASURES) {
    if (measure === 'heap_bytes' && found.length > 0) continue;
    const start = profile.checkpoints.find(({ values }) => values[measure] !== undefined);
    const best = scopeOfPeak(profile.scopes, measure);
    const value = best?.peaks[measure];
    if (best === undefined || value === undefined || value <= 0) continue;
    const rise = value - (start?.values[measure] ?? 0);
    const path = pathOf(best, profile.scopes);
    found.push({ kind: 'peak', measure, scope: best, path, value, rise });
  }
  return found;
}

/**
 * The scope that a peak is in: of those that come near it, the innermost ones, and of these the first. What was taken and not given back
 * is in the peaks of all later scopes, each a little higher, and they have not caused it.
 */
function scopeOfPeak(scopes: readonly ProfileScope[], measure: string): ProfileScope | undefined {
  const peakOf = ({ peaks: of }: ProfileScope): number => of[measure] ?? -Infinity;
  const top = scopes.reduce((most, scope) => Math.max(most, peakOf(scope)), -Infinity);
  const near = scopes.filter((scope) => peakOf(scope) >= top - NEAR_SHARE * Math.abs(top));
  const outer = new Set(near.map(({ parentId }) => parentId));
  return near.find(({ id }) => !outer.has(id));
}

function pathOf(scope: ProfileScope, scopes: readonly ProfileScope[]): string[] {
  const path: string[] = [];
  for (
    let at: ProfileScope | undefined = scope;
    at !== undefined && path.length <= scopes.length;
    at = parentOf(at, scopes)
  )
    path.unshift(at.name);
  return path;
}

function parentOf(
  { parentId }: ProfileScope,
  scopes: readonly ProfileScope[],
): ProfileScope | undefined {
  return parentId === null ? undefined : scopes.find(({ id }) => id === parentId);
}

function growth({ scopes }: Profile): ProfileFinding[] {
  const found: ProfileFinding[] = [];
  const groups = grouped(scopes, ({ name, parentId }) => `${parentId ?? ''} ${name}`);
  for (const group of groups.values()) {
    for (const measure of MEMORY_MEASURES) {
      const ends = group.flatMap(({ end }) => end?.[measure] ?? []);
      const grown = growthOf(ends, measure);
      if (grown === undefined) continue;
      const scopeName = group[0]?.name ?? '';
      const culprit = culpritOf(group, scopes, measure, grown.perTime);
      found.push({ kind: 'growth', measure, scopeName, times: ends.length, ...grown, culprit });
    }
  }
  // What grows inside of a scope that is repeated and grows itself is told there.
  return found.filter(
    (one) =>
      one.kind !== 'growth' ||
      !found.some(
        (other) =>
          other.kind === 'growth' &&
          other !== one &&
          other.measure === one.measure &&
          other.culprit === one.scopeName,
      ),
  );
}

function growthOf(
  ends: readonly number[],
  measure: string,
): { perTime: number; total: number } | undefined {
  if (ends.length < MIN_TIMES) return undefined;
  const [first = 0, ...later] = ends.slice(1);
  const last = later.at(-1) ?? first;
  const steps = ends.slice(2).map((value, i) => value - (ends[i + 1] ?? 0));
  const growing = steps.filter((step) => step > 0).length;
  if (growing < GROWING_SHARE * steps.length) return undefined;
  const least =
    measure === 'tensor_count'
      ? steps.length
      : Math.max(MIN_GROWTH_BYTES, MIN_GROWTH_SHARE * first);
  // Bytes of tensors are counted one by one: any that are left behind each time are a leak.
  const isCounted = measure === 'tensor_count' || measure === 'tensor_bytes';
  if (last - first < (isCounted ? 1 : least)) return undefined;
  if (isCounted && growing < steps.length) return undefined;
  return { perTime: middleOf(steps), total: last - (ends[0] ?? 0) };
}

/** Of the scopes inside, by name, the one whose median difference from start to end is nearest to the growth, and half of it at least. */
function culpritOf(
  group: readonly ProfileScope[],
  scopes: readonly ProfileScope[],
  measure: string,
  perTime: number,
): string | null {
  const ids = new Set(group.map(({ id }) => id));
  const inside = grouped(
    scopes.filter(({ parentId }) => parentId !== null && ids.has(parentId)),
    ({ name }) => name,
  );
  let best: { name: string; taken: number } | undefined;
  for (const [name, members] of inside) {
    const differences = members.flatMap(({ end, start }) => {
      const [from, to] = [start[measure], end?.[measure]];
      return from === undefined || to === undefined ? [] : [to - from];
    });
    if (differences.length === 0) continue;
    const taken = middleOf(differences) * (members.length / group.length);
    // What takes more may give it back after its end: the growth itself is the best mark of the one that does not.
    const isNearer = Math.abs(taken - perTime) < Math.abs((best?.taken ?? -Infinity) - perTime);
    if (taken >= perTime / 2 && isNearer) best = { name, taken };
  }
  return best?.name ?? null;
}

function notTraining(profile: Profile): ProfileFinding[] {
  const totalMs = profile.endedMs ?? profile.checkpoints.at(-1)?.atMs ?? 0;
  const ended = profile.scopes.map((scope) => ({ ...scope, endMs: scope.endMs ?? totalMs }));
  const training = ended.filter(({ name }) => TRAINING_STEPS.has(name));
  if (training.length === 0 || totalMs <= 0) return [];
  const others = ended.filter(({ name }) => isOther(name));
  const trainingMs =
    lengthOf(training) - lengthOf(others.flatMap((one) => overlaps(one, training)));
  const parts = new Map<string, number>();
  for (const scope of others) {
    const inner = others.filter(({ parentId }) => parentId === scope.id);
    const ms = scope.endMs - scope.startMs - lengthOf(inner);
    parts.set(scope.name, (parts.get(scope.name) ?? 0) + ms);
  }
  return [
    {
      kind: 'not_training',
      share: Math.min(1, Math.max(0, 1 - trainingMs / totalMs)),
      trainingMs,
      totalMs,
      parts: [...parts]
        .map(([name, ms]) => ({ name, ms }))
        .toSorted((a, b) => b.ms - a.ms || (a.name < b.name ? -1 : 1)),
    },
  ];
}

/** Names that Quark does not know are no training where they are beside it, and part of it where they are inside. */
function isOther(name: string): boolean {
  return OTHER_STEPS.has(name) && name !== ProfileStep.USER_DEFINED;
}

type Span = { readonly startMs: number; readonly endMs: number };

function overlaps(span: Span, others: readonly Span[]): Span[] {
  return others.flatMap((other) => {
    const startMs = Math.max(span.startMs, other.startMs);
    const endMs = Math.min(span.endMs, other.endMs);
    return endMs > startMs ? [{ startMs, endMs }] : [];
  });
}

/** Of the union of spans. */
function lengthOf(spans: readonly Span[]): number {
  let length = 0;
  let reached = -Infinity;
  for (const { endMs, startMs } of spans.toSorted((a, b) => a.startMs - b.startMs)) {
    length += Math.max(0, endMs - Math.max(startMs, reached));
    reached = Math.max(reached, endMs);
  }
  return length;
}

/** Of one value or more. */
export function middleOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}
