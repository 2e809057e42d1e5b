/** Spans of a run by name: laid over each other, and short ones joined to their neighbours. */
import type { PhaseName } from '../../records/literals.ts';
import { firstAt } from '../columns/sorted-search.ts';
import type { Track } from './track.ts';

/** A span that ends where the next begins. */
export type Segment = { readonly name: PhaseName; readonly start: number };

/** Share of the run that a phase lasts at least where it is no finding by itself. */
const MIN_SHARE = 0.03;
/** Points from which on a phase has to have two. */
const MIN_POINTS_FOR_TWO = 8;

/** Neighbouring points of one name as one span. */
export function segmentsOf(labels: readonly PhaseName[], positions: Float64Array): Segment[] {
  const segments: Segment[] = [];
  labels.forEach((name, i) => {
    if (segments.at(-1)?.name !== name) segments.push({ name, start: positions[i] ?? 0 });
  });
  return segments;
}

/** Puts a span over what was there, from `start` to before `end`. */
export function overlay(
  segments: readonly Segment[],
  name: PhaseName,
  start: number,
  end: number,
): Segment[] {
  const before = segments.filter((segment) => segment.start < start);
  const active = segments.findLast((segment) => segment.start <= end);
  const after = segments.filter((segment) => segment.start > end);
  const resumed =
    active === undefined || end === Infinity ? [] : [{ name: active.name, start: end }];
  return joined([...before, { name, start }, ...resumed, ...after]);
}

/** As {@link overlay}, but only over spans of one name, and only where at least `window` is left of it. */
export function overlayOn(
  segments: readonly Segment[],
  below: PhaseName,
  name: PhaseName,
  range: {
    readonly start: number;
    readonly end: number;
    readonly window: number;
    readonly last: number;
  },
): Segment[] {
  return segments.reduce<Segment[]>(
    (result, segment, i) => {
      const from = Math.max(range.start, segment.start);
      const to = Math.min(range.end, segments[i + 1]?.start ?? Infinity);
      if (segment.name !== below || from >= to) return result;
      return Math.min(to, range.last) - from < range.window
        ? result
        : overlay(result, name, from, to);
    },
    [...segments],
  );
}

/** Joins what is too short to be a phase to its neighbour, the shortest first. */
export function withoutShort(segments: readonly Segment[], track: Track, end: number): Segment[] {
  let current = joined(segments);
  for (;;) {
    const shortest = shortestIn(current, track, end);
    if (shortest === undefined) return current;
    current = joined(
      current.flatMap((segment, i) => (i === shortest.at ? shortest.becomes : segment)),
    );
  }
}

function shortestIn(
  segments: readonly Segment[],
  track: Track,
  end: number,
): { readonly at: number; readonly becomes: readonly Segment[] } | undefined {
  let found: { at: number; becomes: readonly Segment[]; length: number } | undefined;
  segments.forEach((segment, i) => {
    const next = segments[i + 1];
    const before = segments[i - 1];
    const length = (next?.start ?? end) - segment.start;
    if (found !== undefined && length >= found.length) return;
    if (!isTooShort(segment, before, next, track, length)) return;
    // A loss that has come back for a moment at the end has not recovered.
    const isLeft = next === undefined && before?.name === 'divergence';
    const name = isOpen(before) || isLeft ? before?.name : isOpen(next) ? next?.name : undefined;
    if (name !== undefined) found = { at: i, becomes: [{ ...segment, name }], length };
  });
  return found;
}

/** Phases that say how the loss falls may grow; a start, a divergence and an overfitting have their own bounds. */
function isOpen(segment: Segment | undefined): boolean {
  return segment !== undefined && isProgress(segment.name);
}

function isProgress(name: PhaseName): boolean {
  return name === 'rapid_learning' || name === 'stabilization' || name === 'stagnation';
}

function isTooShort(
  { name, start }: Segment,
  before: Segment | undefined,
  next: Segment | undefined,
  track: Track,
  length: number,
): boolean {
  if (!isProgress(name)) return false;
  // Learning may be quick: what follows the start is rapid learning however short.
  if (name === 'rapid_learning' && before?.name !== 'stabilization') return false;
  const { positions, regime } = track.curve;
  const points = firstAt(positions, next?.start ?? Infinity) - firstAt(positions, start);
  if (points < 2 && positions.length >= MIN_POINTS_FOR_TWO) return true;
  return regime !== 'point' && length < MIN_SHARE * track.span;
}

function joined(segments: readonly Segment[]): Segment[] {
  return segments.filter((segment, i) => segment.name !== segments[i - 1]?.name);
}
