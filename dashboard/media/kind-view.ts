/** What the view of a kind of media is given. */
import type { Signal } from '@preact/signals';
import type { MediaRun } from './media-feed.ts';

/** The media of one kind. */
export type KindProps = {
  readonly runs: readonly MediaRun[];
  /** The names that are shown. */
  readonly keys: readonly string[];
  /** The step that is shown; undefined: the last one. */
  readonly step: Signal<number | undefined>;
};
