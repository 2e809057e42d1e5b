/** Where the scopes of a profile are drawn: in lanes, each scope below the one that it is in, and none over another. */
import type { Profile, ProfileScope } from 'quark-sdk/profiler';

/** A scope in its lane. */
export type LaidScope = {
  readonly scope: ProfileScope;
  /** 0 is the topmost. */
  readonly lane: number;
  /** Milliseconds since the profile began; of a scope that has not ended, the end of the profile. */
  readonly endMs: number;
};

/** Scopes in lanes, by their beginnings. */
export type Waterfall = {
  readonly bars: readonly LaidScope[];
  readonly laneCount: number;
  /** The end of the profile in milliseconds; at least what is needed to draw something. */
  readonly endMs: number;
};

/** Puts each scope into the first free lane below the scope that it is in. */
export function waterfallOf(
  profile: Pick<Profile, 'checkpoints' | 'endedMs' | 'scopes'>,
): Waterfall {
  const lastMs = profile.checkpoints.at(-1)?.atMs ?? 0;
  const endMs = Math.max(
    profile.endedMs ?? 0,
    lastMs,
    ...lastEnds(profile.scopes),
    Number.MIN_VALUE,
  );
  const freeFrom: number[] = [];
  const lanes = new Map<number, number>();
  const ordered = profile.scopes.toSorted((a, b) => a.startMs - b.startMs || a.id - b.id);
  const bars = ordered.map((scope): LaidScope => {
    const end = Math.max(scope.startMs, scope.endMs ?? endMs);
    let lane = scope.parentId === null ? 0 : (lanes.get(scope.parentId) ?? -1) + 1;
    while ((freeFrom[lane] ?? Number.NEGATIVE_INFINITY) > scope.startMs) lane += 1;
    freeFrom[lane] = end;
    lanes.set(scope.id, lane);
    return { scope, lane, endMs: end };
  });
  const laneCount = bars.reduce((most, { lane }) => Math.max(most, lane + 1), 0);
  return { bars, laneCount, endMs };
}

/** Spread over arguments, a hundred thousand numbers would be too many. */
function lastEnds(scopes: readonly ProfileScope[]): readonly number[] {
  return [scopes.reduce((most, { endMs, startMs }) => Math.max(most, endMs ?? startMs), 0)];
}

/** A span of time that is shown, in milliseconds since the profile began. */
export type ShownSpan = { readonly startMs: number; readonly endMs: number };

/** A bar as it is drawn, in pixels. */
export type DrawnBar = { readonly bar: LaidScope; readonly x: number; readonly width: number };

/** A bar is this wide at least, so that it is seen. */
const LEAST_PX = 1.5;

/** The bars of a span on so many pixels. Of bars that would be drawn over each other in a lane, as they are thin, the first is drawn. */
export function drawnBars(
  { bars }: Waterfall,
  { endMs, startMs }: ShownSpan,
  widthPx: number,
): readonly DrawnBar[] {
  const scale = widthPx / Math.max(endMs - startMs, Number.MIN_VALUE);
  const drawnTo: number[] = [];
  const drawn: DrawnBar[] = [];
  for (const bar of bars) {
    if (bar.endMs < startMs || bar.scope.startMs > endMs) continue;
    const x = Math.max(0, (bar.scope.startMs - startMs) * scale);
    const width = Math.max(LEAST_PX, Math.min(widthPx, (bar.endMs - startMs) * scale) - x);
    if (width <= LEAST_PX && x < (drawnTo[bar.lane] ?? Number.NEGATIVE_INFINITY)) continue;
    drawnTo[bar.lane] = x + width;
    drawn.push({ bar, x, width });
  }
  return drawn;
}

/** The span after zooming around a moment; never longer than the profile. */
export function zoomedSpan(
  { endMs, startMs }: ShownSpan,
  factor: number,
  aroundMs: number,
  profileEndMs: number,
): ShownSpan {
  const least = profileEndMs / 1e5;
  const length = Math.min(profileEndMs, Math.max(least, (endMs - startMs) * factor));
  const share = (aroundMs - startMs) / Math.max(endMs - startMs, Number.MIN_VALUE);
  const from = Math.min(Math.max(0, aroundMs - share * length), profileEndMs - length);
  return { startMs: from, endMs: from + length };
}
