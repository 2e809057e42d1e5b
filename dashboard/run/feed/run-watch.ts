/** A run that is read again and again while its page is open. */
import { useSignal, type ReadonlySignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Store } from 'quark-sdk';
import { isGrowing } from '../../dropped/dropped-files.ts';
import { keepPolling } from '../../parts/polling.ts';
import { afterPaint, nextTask } from '../../parts/turns.ts';
import { RunFeed } from '../../series/run-feed.ts';

const LIVE_POLL_MS = 1000;
const ENDED_POLL_MS = 5000;
/** While files are imported into the store. */
const GROWING_POLL_MS = 200;
/** How often curves are drawn while a long run is read. */
const SHOW_EVERY_MS = 200;

/** A run that is being read. */
export type RunWatch = {
  readonly feed: ReadonlySignal<RunFeed | undefined>;
  /** Changes when points arrived. */
  readonly revision: ReadonlySignal<number>;
  /** Changes when anything arrived; also the clock of the page. */
  readonly nowMs: ReadonlySignal<number>;
  readonly error: ReadonlySignal<unknown>;
  readonly retry: () => void;
};

/** Opens a run and follows it for as long as the component is there. */
export function useRunWatch(
  store: Store,
  runId: string,
  livePollMs: number = LIVE_POLL_MS,
): RunWatch {
  const feed = useSignal<RunFeed | undefined>(undefined);
  const revision = useSignal(0);
  const nowMs = useSignal(Date.now());
  const error = useSignal<unknown>(undefined);
  const attempt = useSignal(0);
  useEffect(() => {
    feed.value = undefined;
    error.value = undefined;
    let isCurrent = true;
    const stop = keepPolling(
      async () => {
        let hasNews = feed.peek() === undefined;
        const known = feed.peek() ?? (await RunFeed.open(store, runId));
        if (!isCurrent) return;
        const show = (): void => {
          if (hasNews) revision.value += 1;
          hasNews = false;
          feed.value = known;
          nowMs.value = Date.now();
          error.value = undefined;
        };
        if (hasNews) show();
        else hasNews = (await known.poll()).metrics;
        let shownAtMs = performance.now();
        // What is there is drawn before more is read.
        if (known.hasMore) await afterPaint();
        // A long run comes in parts, each in a turn of its own; what is there is shown now and then.
        while (known.hasMore) {
          await nextTask();
          if (!isCurrent) return;
          hasNews = (await known.poll()).metrics || hasNews;
          if (performance.now() - shownAtMs < SHOW_EVERY_MS) continue;
          if (isCurrent) show();
          shownAtMs = performance.now();
        }
        if (isCurrent) show();
      },
      () => {
        if (isGrowing(store)) return GROWING_POLL_MS;
        return feed.peek()?.isLive === true ? livePollMs : ENDED_POLL_MS;
      },
      (failure) => {
        error.value = failure;
      },
    );
    return () => {
      isCurrent = false;
      stop();
    };
  }, [store, runId, attempt.value]);
  return {
    feed,
    revision,
    nowMs,
    error,
    retry: () => {
      attempt.value += 1;
    },
  };
}
