/** Sound: a player with the outline of the samples for each name and run. Nothing plays by itself. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { MediaItem } from 'quark-sdk/media';
import { formatCount, formatElapsed } from '../../parts/format.ts';
import { t, tn } from '../../parts/t.ts';
import { shownTheme } from '../../theme/theme.ts';
import { useBlobUrl, useContent } from '../content.ts';
import { ContentProblem } from '../item-caption.tsx';
import { MediaGrid } from '../media-grid.tsx';
import type { KindProps } from '../kind-view.ts';
import type { MediaRun } from '../media-feed.ts';
import { wavePeaks, type WavePeaks } from './wave-peaks.ts';

const SPANS = 600;
const HEIGHT_PX = 64;

/** The sound of runs. */
export default function AudioView({ keys, runs, step }: KindProps): JSX.Element {
  return (
    <MediaGrid kind="audio" class="text-grid" keys={keys} runs={runs} step={step}>
      {({ item, run }) => <Player run={run} item={item} />}
    </MediaGrid>
  );
}

function Player(props: { readonly run: MediaRun; readonly item: MediaItem<'audio'> }): JSX.Element {
  const { item, run } = props;
  const { found, error } = useContent(run.source, item);
  const url = useBlobUrl(found?.value.bytes, 'audio/wav');
  const player = useRef<HTMLAudioElement>(null);
  const share = useSignal(0);
  const { channelCount, frameCount, sampleRate } = item.metadata;
  const peaks = useMemo(
    () => (found === undefined ? undefined : wavePeaks(found.value.channels, SPANS)),
    [found?.value],
  );
  if (error !== undefined) return <ContentProblem error={error} />;
  const seconds = frameCount / sampleRate;
  return (
    <>
      <Wave
        peaks={peaks}
        share={share.value}
        label={t('Outline of {name}, {length} long', {
          name: item.key,
          length: formatElapsed(seconds),
        })}
        onSeek={(to) => {
          const element = player.current;
          if (element === null || !Number.isFinite(element.duration)) return;
          element.currentTime = to * element.duration;
          share.value = to;
        }}
      />
      <audio
        ref={player}
        class="audio-player"
        controls
        preload="metadata"
        src={url}
        aria-label={item.key}
        onTimeUpdate={(event) => {
          const { currentTime, duration } = event.currentTarget;
          share.value = duration > 0 ? currentTime / duration : 0;
        }}
      />
      <p class="quiet small">
        {tn(
          channelCount,
          '{length} · {rate} Hz · {count} channel',
          '{length} · {rate} Hz · {count} channels',
          {
            length: formatElapsed(seconds),
            rate: formatCount(sampleRate),
          },
        )}
      </p>
    </>
  );
}

/** The outline, with what was played in the accent; a click goes there. */
function Wave(props: {
  readonly peaks: WavePeaks | undefined;
  readonly share: number;
  readonly label: string;
  readonly onSeek: (share: number) => void;
}): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  void shownTheme.value;
  useEffect(() => {
    if (canvas.current !== null && props.peaks !== undefined)
      paintWave(canvas.current, props.peaks, props.share);
  });
  return (
    <canvas
      ref={canvas}
      class="wave"
      role="img"
      aria-label={props.label}
      style={{ height: `${HEIGHT_PX}px` }}
      onClick={(event) => {
        const { left, width } = event.currentTarget.getBoundingClientRect();
        props.onSeek(Math.max(0, Math.min(1, (event.clientX - left) / width)));
      }}
    />
  );
}

function paintWave(canvas: HTMLCanvasElement, { highs, lows }: WavePeaks, share: number): void {
  const style = getComputedStyle(canvas);
  canvas.width = Math.round(canvas.clientWidth * devicePixelRatio);
  canvas.height = Math.round(HEIGHT_PX * devicePixelRatio);
  const context = canvas.getContext('2d');
  if (context === null || lows.length === 0) return;
  const middle = canvas.height / 2;
  const spanPx = canvas.width / lows.length;
  for (const [at, low] of lows.entries()) {
    const isPlayed = at < share * lows.length;
    context.fillStyle = style.getPropertyValue(isPlayed ? '--accent' : '--ink-3').trim();
    const top = middle - middle * Math.min(1, highs[at] ?? 0);
    const foot = middle - middle * Math.max(-1, low);
    context.fillRect(at * spanPx, top, Math.max(1, spanPx - 0.5), Math.max(1, foot - top));
  }
}
