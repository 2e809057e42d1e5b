/** Images: a grid of names by runs, all at one step. */
import { useSignal, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { MediaItem } from 'quark-sdk/media';
import { choiceText, FLAG } from '../../parts/address-text.ts';
import { useAddressed } from '../../parts/addressed.ts';
import { IconButton, Segmented } from '../../parts/controls.tsx';
import { formatCount } from '../../parts/format.ts';
import { setterOf, setting } from '../../parts/signals.ts';
import { t } from '../../parts/t.ts';
import { Check } from '../check.tsx';
import { ItemCaption } from '../item-caption.tsx';
import type { KindProps } from '../kind-view.ts';
import { mediaOf, type MediaRun } from '../media-feed.ts';
import { itemNear } from '../media-steps.ts';
import { boxesOf, maskKeyOf } from './boxes.ts';
import { Picture, type PictureStyle } from './picture.tsx';

const SIZES = ['medium', 'small', 'large', 'pixels'] as const;
type Size = (typeof SIZES)[number];
const SIDE_PX: Readonly<Record<Exclude<Size, 'pixels'>, number>> = {
  small: 96,
  medium: 168,
  large: 340,
};

type Opened = { readonly run: MediaRun; readonly item: MediaItem<'image'> };

type Group = KindProps & {
  readonly name: string;
  readonly appearance: Choices;
  readonly onOpen: (opened: Opened) => void;
};

type Choices = {
  readonly size: Signal<Size>;
  readonly isSmooth: Signal<boolean>;
  readonly hidesOverlays: Signal<boolean>;
};

/** The images of runs. */
export default function ImagesView(props: KindProps): JSX.Element {
  const { keys, runs, step } = props;
  const size = useSignal<Size>('medium');
  const isSmooth = useSignal(false);
  const hidesOverlays = useSignal(false);
  const opened = useSignal<Opened | undefined>(undefined);
  useAddressed('size', size, choiceText(SIZES));
  useAddressed('smooth-pixels', isSmooth, FLAG);
  const appearance = { size, isSmooth, hidesOverlays };
  return (
    <>
      <ImageTools runs={runs} appearance={appearance} />
      <div class="image-grid">
        {keys.map((name) => (
          <ImageGroup
            key={name}
            {...props}
            name={name}
            appearance={appearance}
            onOpen={setterOf(opened)}
          />
        ))}
      </div>
      {opened.value !== undefined && (
        <Enlarged
          opened={opened.value}
          items={mediaOf(opened.value.run, 'image')}
          step={step.value}
          isPixelated={!isSmooth.value}
          onClose={setting(opened, undefined)}
        />
      )}
    </>
  );
}

function ImageTools(props: {
  readonly runs: readonly MediaRun[];
  readonly appearance: Choices;
}): JSX.Element {
  const { hidesOverlays, isSmooth, size } = props.appearance;
  const hasOverlays = props.runs.some((run) =>
    mediaOf(run, 'image').some((item) => maskKeyOf(item) !== undefined || boxesOf(item).length > 0),
  );
  return (
    <div class="media-tools row wrap gap-12">
      <Segmented
        label={t('Size of the images')}
        options={[
          { value: 'small', label: t('Small') },
          { value: 'medium', label: t('Medium') },
          { value: 'large', label: t('Large') },
          { value: 'pixels', label: '1:1' },
        ]}
        value={size.value}
        onChange={setterOf(size)}
      />
      <Check label={t('Smooth pixels')} on={isSmooth} />
      {hasOverlays && <Check label={t('Hide boxes and masks')} on={hidesOverlays} />}
    </div>
  );
}

/** The images of one name, of each run. */
function ImageGroup(props: Group): JSX.Element {
  const { appearance, name, runs, step } = props;
  const { hidesOverlays, isSmooth, size } = appearance;
  return (
    <section class="image-group card" aria-label={name}>
      <h3 class="path ellipsis" title={name}>
        <bdi>{name}</bdi>
      </h3>
      <div class="image-row">
        {runs.map((run) => {
          const items = mediaOf(run, 'image');
          const item = itemNear(
            items.filter((one) => one.key === name),
            step.value,
          );
          return (
            <figure key={run.runId}>
              {item !== undefined && (
                <button
                  type="button"
                  class="image-open"
                  onClick={() => props.onOpen({ run, item })}
                >
                  <span class="sr-only">
                    {t('Enlarge {name} of {run}', { name, run: run.name })}{' '}
                  </span>
                  <Picture
                    run={run}
                    item={item}
                    mask={maskFor(items, item)}
                    appearance={appearanceOf(
                      item,
                      size.value,
                      !isSmooth.value,
                      !hidesOverlays.value,
                    )}
                  />
                </button>
              )}
              <figcaption>
                <ItemCaption
                  run={run}
                  item={item}
                  step={step.value}
                  isOneOfMany={runs.length > 1}
                />
              </figcaption>
            </figure>
          );
        })}
      </div>
    </section>
  );
}

function appearanceOf(
  item: MediaItem<'image'> | undefined,
  size: Size,
  isPixelated: boolean,
  hasOverlays: boolean,
): PictureStyle {
  const sidePx =
    size === 'pixels'
      ? Math.max(item?.metadata.width ?? 1, item?.metadata.height ?? 1)
      : SIDE_PX[size];
  return { sidePx, isPixelated, hasOverlays };
}

function maskFor(
  items: readonly MediaItem<'image'>[],
  item: MediaItem<'image'>,
): MediaItem<'image'> | undefined {
  const key = maskKeyOf(item);
  return key === undefined
    ? undefined
    : items.find((one) => one.key === key && one.step === item.step && one.epoch === item.epoch);
}

/** One image in the foreground, which follows the step and can be zoomed. */
function Enlarged(props: {
  readonly opened: Opened;
  readonly items: readonly MediaItem<'image'>[];
  readonly step: number | undefined;
  readonly isPixelated: boolean;
  readonly onClose: () => void;
}): JSX.Element {
  const { run } = props.opened;
  const dialog = useRef<HTMLDialogElement>(null);
  const zoom = useSignal(1);
  useEffect(() => dialog.current?.showModal(), []);
  const { key } = props.opened.item;
  const item = itemNear(
    props.items.filter((one) => one.key === key),
    props.step,
  );
  const { width, height } = item?.metadata ?? props.opened.item.metadata;
  const fitPx = Math.min(innerWidth - 80, (innerHeight - 180) * (width / Math.max(width, height)));
  const sidePx = Math.max(32, fitPx) * zoom.value;
  return (
    <dialog ref={dialog} class="image-dialog floating" aria-label={key} onClose={props.onClose}>
      <header class="row gap-12">
        <strong class="strong ellipsis">{key}</strong>
        <span class="quiet small nowrap">
          {formatCount(width)} × {formatCount(height)}
        </span>
        <label class="slider push">
          <span class="small">{t('Zoom')}</span>
          <input
            type="range"
            min={0}
            max={6}
            step={0.25}
            value={Math.log2(zoom.value)}
            onInput={(event) => {
              zoom.value = 2 ** Number(event.currentTarget.value);
            }}
          />
        </label>
        <IconButton icon="close" label={t('Close')} onClick={() => dialog.current?.close()} />
      </header>
      <div
        class="image-stage"
        tabIndex={0}
        role="region"
        aria-label={t('The image, which scrolls')}
      >
        {item !== undefined && (
          <Picture
            run={run}
            item={item}
            mask={maskFor(props.items, item)}
            appearance={{ sidePx, isPixelated: props.isPixelated, hasOverlays: true }}
          />
        )}
      </div>
      <ItemCaption run={run} item={item} step={props.step} isOneOfMany />
    </dialog>
  );
}
