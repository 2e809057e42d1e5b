/** Memory at the checkpoints of a profile, below its scopes. */
import type { JSX } from 'preact';
import type { Profile } from 'quark-sdk/profiler';
import { t } from '../../parts/t.ts';
import { seriesColor } from '../../theme/palette.ts';
import { measureName, measureText } from './profile-text.ts';
import type { ShownSpan } from './waterfall-layout.ts';

const HEIGHT_PX = 72;
/** In this order; two lines at most, each with its own scale. */
const TRACKED = ['rss_bytes', 'gpu_bytes', 'page_bytes', 'heap_bytes'] as const;
/** Points that a line has at most. */
const MAX_POINTS = 2000;

/** A line for resident memory and one for GPUs, or what else was measured; nothing where no memory was. */
export function MemoryTrack(props: {
  readonly profile: Profile;
  readonly shown: ShownSpan;
  readonly width: number;
}): JSX.Element | null {
  const { profile, shown, width } = props;
  const lines = TRACKED.map((measure) => ({ measure, points: pointsOf(profile, measure) }))
    .filter(({ points }) => points.length > 1)
    .slice(0, 2);
  if (lines.length === 0) return null;
  return (
    <figure class="memory-track">
      <svg viewBox={`0 0 ${Math.max(1, width)} ${HEIGHT_PX}`} height={HEIGHT_PX} aria-hidden="true">
        {lines.map(({ measure, points }, at) => (
          <path
            key={measure}
            d={pathOf(points, shown, width)}
            style={{ stroke: seriesColor(at) }}
          />
        ))}
      </svg>
      <figcaption class="row wrap gap-12 small quiet">
        {lines.map(({ measure, points }, at) => (
          <span key={measure} class="row gap-5">
            <span class="memory-mark" style={{ background: seriesColor(at) }} />
            {t('{measure}, at most {size}', {
              measure: measureName(measure),
              size: measureText(measure, mostOf(points)),
            })}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

type Point = { readonly atMs: number; readonly value: number };

function pointsOf({ checkpoints, readings }: Profile, measure: string): readonly Point[] {
  const points: Point[] = checkpoints.flatMap(({ atMs, values }) => {
    const value = values[measure];
    return value === undefined ? [] : [{ atMs, value }];
  });
  if (points.length === 0)
    for (const { atMs, measure: read, value } of readings)
      if (read === measure) points.push({ atMs, value });
  const every = Math.ceil(points.length / MAX_POINTS);
  return every <= 1 ? points : points.filter((_, at) => at % every === 0);
}

function mostOf(points: readonly Point[]): number {
  return points.reduce((most, { value }) => Math.max(most, value), 0);
}

/** From zero, so that a leak is told from noise. */
function pathOf(points: readonly Point[], { endMs, startMs }: ShownSpan, width: number): string {
  const top = mostOf(points) || 1;
  const x = (atMs: number): number =>
    ((atMs - startMs) / Math.max(endMs - startMs, Number.MIN_VALUE)) * width;
  const y = (value: number): number => HEIGHT_PX - 4 - (value / top) * (HEIGHT_PX - 10);
  return points
    .map(
      ({ atMs, value }, at) =>
        `${at === 0 ? 'M' : 'L'}${x(atMs).toFixed(1)} ${y(value).toFixed(1)}`,
    )
    .join('');
}
