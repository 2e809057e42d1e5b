/** One image, decoded by the browser from a Blob of a known type, with its boxes and its mask. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useMemo, useRef } from 'preact/hooks';
import type { MediaItem } from 'quark-sdk/media';
import { formatValue } from '../../parts/format.ts';
import { useOnScreen } from '../../parts/hooks.ts';
import { t } from '../../parts/t.ts';
import { checkImage, useBlobUrl, useContent } from '../content.ts';
import { ContentProblem } from '../item-caption.tsx';
import type { MediaRun } from '../media-feed.ts';
import { boxesOf } from './boxes.ts';

/** How images are drawn. */
export type PictureStyle = {
  /** Longest side in CSS pixels; undefined: as large as the frame. */
  readonly sidePx: number | undefined;
  /** Pixels as squares. */
  readonly isPixelated: boolean;
  readonly hasOverlays: boolean;
};

/** An image of a run. */
export function Picture(props: {
  readonly run: MediaRun;
  readonly item: MediaItem<'image'>;
  /** The mask that lies over it. */
  readonly mask?: MediaItem<'image'> | undefined;
  readonly appearance: PictureStyle;
}): JSX.Element {
  const { item, appearance, mask, run } = props;
  const host = useRef<HTMLSpanElement>(null);
  const isSeen = useSignal(false);
  useOnScreen(
    host,
    (isOnScreen) => {
      if (isOnScreen) isSeen.value = true;
    },
    '300px',
  );
  const { width, height } = item.metadata;
  const scale =
    appearance.sidePx === undefined ? undefined : appearance.sidePx / Math.max(width, height);
  return (
    <span
      ref={host}
      class="picture"
      data-pixelated={appearance.isPixelated}
      style={
        scale === undefined
          ? { aspectRatio: `${width} / ${height}` }
          : { width: `${Math.max(1, width * scale)}px`, height: `${Math.max(1, height * scale)}px` }
      }
    >
      {isSeen.value && <Decoded run={run} item={item} isMask={false} />}
      {isSeen.value && appearance.hasOverlays && mask !== undefined && (
        <Decoded run={run} item={mask} isMask />
      )}
      {appearance.hasOverlays && <Boxes item={item} />}
    </span>
  );
}

function Decoded(props: {
  readonly run: MediaRun;
  readonly item: MediaItem<'image'>;
  readonly isMask: boolean;
}): JSX.Element {
  const { found, error } = useContent(props.run.source, props.item);
  const bytes = found?.value;
  const checked = useMemo(() => {
    if (bytes === undefined) return {};
    try {
      return { bytes, mimeType: checkImage(bytes).mimeType };
    } catch (problem) {
      return { problem };
    }
  }, [bytes]);
  const url = useBlobUrl(checked.bytes, checked.mimeType ?? '');
  const isUndecodable = useSignal<string | undefined>(undefined);
  const problem = error ?? checked.problem;
  if (problem !== undefined) return <ContentProblem error={problem} />;
  if (url === undefined) return <span class="skeleton picture-wait" />;
  if (isUndecodable.value === url)
    return <ContentProblem error={t('The browser cannot decode it.')} />;
  return (
    <img
      class={props.isMask ? 'picture-mask' : ''}
      src={url}
      alt={props.isMask ? '' : `${props.item.key} ${String(props.item.step ?? '')}`}
      draggable={false}
      onError={() => {
        isUndecodable.value = url;
      }}
    />
  );
}

function Boxes({ item }: { readonly item: MediaItem<'image'> }): JSX.Element | null {
  const boxes = boxesOf(item);
  if (boxes.length === 0) return null;
  const { height, width } = item.metadata;
  const share = (part: number, whole: number): string =>
    `${Math.max(0, Math.min(100, (100 * part) / whole))}%`;
  return (
    <span class="picture-boxes">
      {boxes.map((box, at) => (
        <span
          key={at}
          class="picture-box"
          style={{
            left: share(box.x, width),
            top: share(box.y, height),
            width: share(Math.min(box.width, width - box.x), width),
            height: share(Math.min(box.height, height - box.y), height),
          }}
        >
          {box.label !== undefined && (
            <bdi>
              {box.label}
              {box.score !== undefined && ` ${formatValue(box.score)}`}
            </bdi>
          )}
        </span>
      ))}
    </span>
  );
}
