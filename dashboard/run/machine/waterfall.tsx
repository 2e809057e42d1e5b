/** The scopes of a profile over time, and the memory at its checkpoints: zoomed by dragging, with keys and with buttons. */
import { useSignal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { ComponentProps, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Profile } from 'quark-sdk/profiler';
import { Button } from '../../parts/controls.tsx';
import { formatMeasuredSpan } from '../../parts/format.ts';
import { t } from '../../parts/t.ts';
import { seriesColor } from '../../theme/palette.ts';
import { MemoryTrack } from './memory-track.tsx';
import { measureText } from './profile-text.ts';
import {
  drawnBars,
  waterfallOf,
  zoomedSpan,
  type DrawnBar,
  type LaidScope,
  type ShownSpan,
  type Waterfall,
} from './waterfall-layout.ts';

const LANE_PX = 24;
const BAR_PX = 20;
/** Pixels of a letter in a bar, about. */
const LETTER_PX = 7;
const ZOOM_STEP = 0.5;
/** A drag that is shorter is a click. */
const LEAST_DRAG_PX = 4;

/** The waterfall of a profile. `span`: what is shown; undefined for all. `chosen`: the id of the scope that is told about. */
export function ProfileWaterfall(props: {
  readonly profile: Profile;
  readonly span: Signal<ShownSpan | undefined>;
  readonly chosen: Signal<number | undefined>;
}): JSX.Element {
  const { chosen, profile, span } = props;
  const waterfall = waterfallOf(profile);
  const whole = { startMs: 0, endMs: waterfall.endMs };
  const shown = span.value ?? whole;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const zoom: Zoom = (factor, aroundMs = (shown.startMs + shown.endMs) / 2) => {
    const next = zoomedSpan(shown, factor, aroundMs, waterfall.endMs);
    span.value = next.endMs - next.startMs >= waterfall.endMs ? undefined : next;
  };
  const bars = waterfall.bars;
  const selected = bars.find(({ scope }) => scope.id === chosen.value);
  return (
    <div class="waterfall">
      <ZoomRow shown={shown} span={span} zoom={zoom} />
      <div
        ref={box}
        class="waterfall-box card"
        tabIndex={0}
        role="application"
        aria-label={t(
          'Scopes over time. Arrows go from scope to scope, plus and minus zoom, Enter shows a scope alone, Escape shows all.',
        )}
        onKeyDown={(event) => followKey(event, { waterfall, chosen, selected, span, zoom })}
      >
        <TimeAxis shown={shown} width={width.value} />
        <Bars waterfall={waterfall} shown={shown} span={span} width={width} chosen={chosen} />
        <MemoryTrack profile={profile} shown={shown} width={width.value} />
      </div>
      <p class="waterfall-chosen small" role="status">
        {selected === undefined ? (
          <span class="quiet">{t('Choose a scope, or drag over a span to zoom.')}</span>
        ) : (
          <ScopeText bar={selected} />
        )}
      </p>
    </div>
  );
}

type Zoom = (factor: number, aroundMs?: number) => void;

function ZoomRow(props: {
  readonly shown: ShownSpan;
  readonly span: Signal<ShownSpan | undefined>;
  readonly zoom: Zoom;
}): JSX.Element {
  const { shown, span, zoom } = props;
  return (
    <div class="row wrap gap-6">
      <Button isSmall aria-label={t('Zoom in')} onClick={() => zoom(ZOOM_STEP)}>
        +
      </Button>
      <Button
        isSmall
        aria-label={t('Zoom out')}
        disabled={span.value === undefined}
        onClick={() => zoom(1 / ZOOM_STEP)}
      >
        −
      </Button>
      {span.value !== undefined && (
        <Button isSmall onClick={() => (span.value = undefined)}>
          {t('Show all')}
        </Button>
      )}
      <span class="quiet small">
        {formatMeasuredSpan(shown.startMs)} – {formatMeasuredSpan(shown.endMs)}
      </span>
    </div>
  );
}

function useWidth(box: { readonly current: HTMLDivElement | null }): Signal<number> {
  const width = useSignal(800);
  useEffect(() => {
    const { current } = box;
    if (current === null) return undefined;
    const observer = new ResizeObserver(() => {
      width.value = current.clientWidth;
    });
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return width;
}

function TimeAxis(props: { readonly shown: ShownSpan; readonly width: number }): JSX.Element {
  const { shown, width } = props;
  const count = Math.max(2, Math.min(8, Math.floor(width / 110)));
  const length = shown.endMs - shown.startMs;
  return (
    <div class="waterfall-axis quiet" aria-hidden="true">
      {Array.from({ length: count }, (_, at) => {
        const share = at / (count - 1);
        const edge = at === count - 1 ? { right: '0' } : { left: `${share * 100}%` };
        return (
          // oxlint-disable-next-line react/no-array-index-key -- ticks do not move
          <span key={at} style={edge} data-edge={at === 0 || at === count - 1}>
            {formatMeasuredSpan(shown.startMs + share * length)}
          </span>
        );
      })}
    </div>
  );
}

function Bars(props: {
  readonly waterfall: Waterfall;
  readonly shown: ShownSpan;
  readonly span: Signal<ShownSpan | undefined>;
  readonly width: ReadonlySignal<number>;
  readonly chosen: Signal<number | undefined>;
}): JSX.Element {
  const { chosen, shown, span, waterfall, width } = props;
  const msAt = (x: number): number =>
    shown.startMs + (x / Math.max(1, width.value)) * (shown.endMs - shown.startMs);
  const { brush, handlers } = useBrush((from, to) => {
    span.value = { startMs: Math.max(0, msAt(from)), endMs: Math.min(waterfall.endMs, msAt(to)) };
  });
  return (
    <div
      class="waterfall-lanes"
      style={{ height: `${waterfall.laneCount * LANE_PX}px` }}
      {...handlers}
    >
      {drawnBars(waterfall, shown, width.value).map((drawn) => (
        <OneBar
          key={drawn.bar.scope.id}
          drawn={drawn}
          chosen={chosen}
          onAlone={() => {
            span.value = spanOf(drawn.bar, waterfall.endMs);
          }}
        />
      ))}
      {brush !== undefined && (
        <span
          class="waterfall-brush"
          style={{ left: `${brush.from}px`, width: `${brush.to - brush.from}px` }}
        />
      )}
    </div>
  );
}

function OneBar(props: {
  readonly drawn: DrawnBar;
  readonly chosen: Signal<number | undefined>;
  readonly onAlone: () => void;
}): JSX.Element {
  const { chosen, drawn, onAlone } = props;
  const { bar, width, x } = drawn;
  const { hasFailed, id, name, startMs } = bar.scope;
  return (
    <div
      class="waterfall-bar"
      data-failed={hasFailed}
      data-chosen={chosen.value === id}
      title={`${name}: ${formatMeasuredSpan(bar.endMs - startMs)}`}
      style={{
        left: `${x}px`,
        top: `${bar.lane * LANE_PX + (LANE_PX - BAR_PX) / 2}px`,
        width: `${width}px`,
        '--bar-color': seriesColor(colorOf(name)),
      }}
      onClick={() => {
        chosen.value = id;
      }}
      onDblClick={onAlone}
    >
      {width > 4 * LETTER_PX && <span class="ellipsis">{name}</span>}
    </div>
  );
}

type Brush = { readonly from: number; readonly to: number };

/** A span that is dragged over, in pixels from the left edge. */
function useBrush(onMade: (from: number, to: number) => void): {
  readonly brush: Brush | undefined;
  readonly handlers: Pick<
    ComponentProps<'div'>,
    'onPointerCancel' | 'onPointerDown' | 'onPointerMove' | 'onPointerUp'
  >;
} {
  const drag = useSignal<Brush | undefined>(undefined);
  const made = drag.value;
  const ordered =
    made === undefined || Math.abs(made.to - made.from) < LEAST_DRAG_PX
      ? undefined
      : { from: Math.min(made.from, made.to), to: Math.max(made.from, made.to) };
  return {
    brush: ordered,
    handlers: {
      onPointerDown: ({ button, clientX, currentTarget }) => {
        const x = clientX - currentTarget.getBoundingClientRect().left;
        if (button === 0) drag.value = { from: x, to: x };
      },
      onPointerMove: ({ clientX, currentTarget, pointerId }) => {
        const begun = drag.peek();
        if (begun === undefined) return;
        const to = clientX - currentTarget.getBoundingClientRect().left;
        // Only then: a click belongs to the bar below.
        if (Math.abs(to - begun.from) >= LEAST_DRAG_PX) currentTarget.setPointerCapture(pointerId);
        drag.value = { from: begun.from, to };
      },
      onPointerUp: () => {
        drag.value = undefined;
        if (ordered !== undefined) onMade(ordered.from, ordered.to);
      },
      onPointerCancel: () => {
        drag.value = undefined;
      },
    },
  };
}

/** Scopes of one name have one colour. */
function colorOf(name: string): number {
  let hash = 0;
  for (let at = 0; at < name.length; at += 1) hash = (hash * 31 + name.charCodeAt(at)) >>> 0;
  return hash;
}

function spanOf({ endMs, scope }: LaidScope, profileEndMs: number): ShownSpan {
  return endMs > scope.startMs
    ? { startMs: scope.startMs, endMs }
    : zoomedSpan({ startMs: 0, endMs: profileEndMs }, 1e-4, scope.startMs, profileEndMs);
}

type KeyState = {
  readonly waterfall: Waterfall;
  readonly chosen: Signal<number | undefined>;
  readonly selected: LaidScope | undefined;
  readonly span: Signal<ShownSpan | undefined>;
  readonly zoom: Zoom;
};

function followKey(event: KeyboardEvent, state: KeyState): void {
  const { chosen, selected, span, waterfall, zoom } = state;
  const around = selected === undefined ? undefined : (selected.scope.startMs + selected.endMs) / 2;
  const next = neighbour(waterfall.bars, selected, event.key);
  if (next !== undefined) chosen.value = next.scope.id;
  else if (event.key === '+' || event.key === '=') zoom(ZOOM_STEP, around);
  else if (event.key === '-') zoom(1 / ZOOM_STEP, around);
  else if (event.key === 'Enter' && selected !== undefined)
    span.value = spanOf(selected, waterfall.endMs);
  else if (event.key === 'Escape') span.value = undefined;
  else return;
  event.preventDefault();
  event.stopPropagation();
}

/** Left and right go through the scopes of a lane, down into the first one inside, up to the one around. */
function neighbour(
  bars: readonly LaidScope[],
  from: LaidScope | undefined,
  key: string,
): LaidScope | undefined {
  if (!key.startsWith('Arrow')) return undefined;
  if (from === undefined) return bars[0];
  const { id, parentId } = from.scope;
  if (key === 'ArrowDown') return bars.find(({ scope }) => scope.parentId === id);
  if (key === 'ArrowUp') return bars.find(({ scope }) => scope.id === parentId);
  const lane = bars.filter((bar) => bar.lane === from.lane);
  return lane[lane.indexOf(from) + (key === 'ArrowRight' ? 1 : -1)];
}

function ScopeText({ bar }: { readonly bar: LaidScope }): JSX.Element {
  const { scope } = bar;
  const peak = scope.peaks['rss_bytes'];
  const gpu = scope.peaks['gpu_bytes'];
  return (
    <>
      <strong class="breakable">{scope.name}</strong>{' '}
      {scope.endMs === null ? t('did not end') : formatMeasuredSpan(bar.endMs - scope.startMs)}
      {scope.hasFailed && ` · ${t('threw an error')}`}
      {` · ${t('from {time}', { time: formatMeasuredSpan(scope.startMs) })}`}
      {peak !== undefined && ` · ${t('peak {size}', { size: measureText('rss_bytes', peak) })}`}
      {gpu !== undefined && ` · ${t('GPU peak {size}', { size: measureText('gpu_bytes', gpu) })}`}
    </>
  );
}
