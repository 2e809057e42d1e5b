/** The frames of one kind of media: one for each name and run, with the item near the step that is shown. */
import type { JSX } from 'preact';
import type { KindProps } from './kind-view.ts';
import { mediaOf, type GalleryItem, type GalleryKind, type MediaRun } from './media-feed.ts';
import { MediaPanel } from './media-panel.tsx';
import { itemNear } from './media-steps.ts';

type ItemOf<K extends GalleryKind> = Extract<GalleryItem, { readonly kind: K }>;

/** What is drawn in a frame. */
export type FramedItem<K extends GalleryKind> = {
  readonly run: MediaRun;
  readonly item: ItemOf<K>;
  /** All items of this name in this run, in the order of their steps. */
  readonly items: readonly ItemOf<K>[];
};

/** A frame is empty where its run has no such item. */
export function MediaGrid<K extends GalleryKind>(
  props: KindProps & {
    readonly kind: K;
    /** The class of the element around all frames. */
    readonly class: string;
    /** What the head of a frame says beside its step. */
    readonly more?: (item: ItemOf<K> | undefined) => string | undefined;
    readonly children: (framed: FramedItem<K>) => JSX.Element;
  },
): JSX.Element {
  const { children, keys, kind, more, runs, step } = props;
  return (
    <div class={props.class} data-runs={runs.length}>
      {keys.flatMap((key) =>
        runs.map((run) => {
          const items = mediaOf(run, kind).filter((one) => one.key === key);
          const item = itemNear(items, step.value);
          return (
            <MediaPanel
              key={`${run.runId} ${key}`}
              name={key}
              run={run}
              item={item}
              step={step.value}
              isOneOfMany={runs.length > 1}
              more={more?.(item)}
            >
              {item !== undefined && children({ run, item, items })}
            </MediaPanel>
          );
        }),
      )}
    </div>
  );
}
