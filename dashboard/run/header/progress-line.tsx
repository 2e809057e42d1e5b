/** How far a run that goes on is, and how long the rest of it takes. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { formatAgo } from '../../parts/format.ts';
import { ProgressBar } from '../../parts/notices.tsx';
import { t } from '../../parts/t.ts';
import type { RunFeed } from '../../series/run-feed.ts';
import { progressOfFeed, liveProgressText } from './progress-text.ts';

/** How often the rate is computed again, in milliseconds. */
const AGAIN_MS = 2000;

/** What is said of a run that goes on. */
type Told = { readonly text: string; readonly share: number | undefined };

/** One line; nothing for a run that has ended. The line of one that does not say how long it is tells when its last value came. */
export function RunProgressLine(props: {
  readonly feed: RunFeed;
  readonly nowMs: number;
}): JSX.Element | null {
  const { feed, nowMs } = props;
  const told = useSignal<Told | undefined>(undefined);
  useEffect(() => {
    let isGone = false;
    if (feed.isLive)
      // What cannot be computed is not said.
      progressOfFeed(feed).then(
        (progress) => {
          const text = progress === undefined ? undefined : liveProgressText(progress);
          if (!isGone)
            told.value =
              text === undefined ? undefined : { text, share: progress?.share ?? undefined };
        },
        () => undefined,
      );
    return () => {
      isGone = true;
    };
  }, [feed, feed.isLive, Math.floor(nowMs / AGAIN_MS)]);
  if (!feed.isLive) return null;
  const { share, text } = told.value ?? {};
  return (
    <p class="run-progress quiet row gap-12">
      {share !== undefined && <ProgressBar label={t('Progress of the training')} share={share} />}
      <span>{text ?? t('last value {ago}', { ago: formatAgo(feed.lastActivityMs, nowMs) })}</span>
    </p>
  );
}
