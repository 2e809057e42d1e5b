/** How far a run that goes on is, and how long the rest of it takes. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { RunFeed } from '../series/run-feed.ts';
import { progressOfFeed, liveProgressText } from './progress-text.ts';

/** How often the rate is computed again, in milliseconds. */
const AGAIN_MS = 2000;

/** One line; nothing for a run that has ended, or does not say how long it is. */
export function RunProgressLine(props: {
  readonly feed: RunFeed;
  readonly nowMs: number;
}): JSX.Element | null {
  const { feed, nowMs } = props;
  const text = useSignal<string | undefined>(undefined);
  useEffect(() => {
    let isGone = false;
    if (feed.isLive)
      // A line that cannot be computed is not there.
      progressOfFeed(feed).then(
        (progress) => {
          if (!isGone) text.value = progress === undefined ? undefined : liveProgressText(progress);
        },
        () => undefined,
      );
    return () => {
      isGone = true;
    };
  }, [feed, feed.isLive, Math.floor(nowMs / AGAIN_MS)]);
  if (!feed.isLive || text.value === undefined) return null;
  return <p class="run-progress quiet">{text.value}</p>;
}
