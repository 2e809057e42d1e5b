/** What a text is compared with. Pure. */
import type { MediaItem } from 'quark-sdk/media';
import { mediaOf, type MediaRun } from '../media-feed.ts';
import { itemNear } from '../media-steps.ts';

/** What is shown of texts: themselves, or what differs from the step before, the first step, a chosen step, or another run. */
export const TEXT_MODES = ['text', 'before', 'first', 'step', 'run'] as const;
/** One of {@link TEXT_MODES}. */
export type TextMode = (typeof TEXT_MODES)[number];

/** A text to compare with. */
export type BaseText = { readonly run: MediaRun; readonly item: MediaItem<'text'> };

/**
 * The text that `item` is compared with; undefined where there is none, or where it is the same.
 *
 * @param of `items`: the texts of this name and run, ascending by position; `step`: the chosen one; `baseRun`: the chosen run, whose
 *   text is the one at the position of `item` or nearest to it
 */
export function baseText(of: {
  readonly mode: TextMode;
  readonly key: string;
  readonly run: MediaRun;
  readonly items: readonly MediaItem<'text'>[];
  readonly item: MediaItem<'text'>;
  readonly step: number | undefined;
  readonly baseRun: MediaRun | undefined;
}): BaseText | undefined {
  const { baseRun, item, items, key, mode, run } = of;
  if (mode === 'text') return undefined;
  if (mode === 'run') {
    if (baseRun === undefined || baseRun === run) return undefined;
    const others = mediaOf(baseRun, 'text').filter((one) => one.key === key);
    const found = itemNear(others, item.step ?? item.epoch ?? 0);
    return found === undefined ? undefined : { run: baseRun, item: found };
  }
  const found =
    mode === 'before'
      ? items[items.indexOf(item) - 1]
      : mode === 'first'
        ? items[0]
        : itemNear(items, of.step);
  return found === undefined || found === item ? undefined : { run, item: found };
}
