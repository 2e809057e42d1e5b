/** A run that is read again and again while its page is open. */
import { useSignal, type ReadonlySignal, type Signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { isQuarkError, type Store } from 'quark-sdk';
import { isGrowing } from '../../dropped/dropped-files.ts';
import { keepPolling } from '../../parts/polling.ts';
import { adding, setterOf } from '../../parts/signals.ts';
import { afterPaint, nextTurn, urgently } from '../../parts/turns.ts';
import { RunFeed } from '../../series/run-feed.ts';
import { seriesReader, type ReadSeries } from '../../series/series-reader.ts';

const LIVE_POLL_MS = 1000;
const ENDED_POLL_MS = 5000;
/** While files are imported into the store. */
const GROWING_POLL_MS = 200;
/** How often curves are drawn while a long run is read. */
const SHOW_EVERY_MS = 200;

/** What reads samples in a worker, whose code comes when it is needed; on this thread where no worker can be had. */
function samplesOf(store: Store): ReadSeries {
  return async (query) => {
    try {
      const { samplesInWorker } = await import('../../dropped/analysis.ts');
      return await samplesInWorker(store)(query);
    } catch (error) {
      if (isQuarkError(error)) throw error;
      return seriesReader(store)(query);
    }
  };
}

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

type Signals = {
  readonly feed: Signal<RunFeed | undefined>;
  readonly revision: Signal<number>;
  readonly nowMs: Signal<number>;
  readonly error: Signal<unknown>;
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
    const reading = new AbortController();
    const stop = keepPolling(
      () => readOn(store, runId, { feed, revision, nowMs, error }, reading.signal),
      () => {
        if (isGrowing(store)) return GROWING_POLL_MS;
        return feed.peek()?.isLive === true ? livePollMs : ENDED_POLL_MS;
      },
      setterOf(error),
    );
    return () => {
      reading.abort();
      stop();
      feed.peek()?.close();
    };
  }, [store, runId, attempt.value]);
  return { feed, revision, nowMs, error, retry: adding(attempt, 1) };
}

/**
 * Opens the run, or polls it for new rows. A long run takes several polls, each in a task of its own. The page is redrawn between
 * them every {@link SHOW_EVERY_MS}.
 */
async function readOn(
  store: Store,
  runId: string,
  { feed, revision, nowMs, error }: Signals,
  signal: AbortSignal,
): Promise<void> {
  let hasNews = feed.peek() === undefined;
  const known = feed.peek() ?? (await urgently(RunFeed.open(store, runId, samplesOf(store))));
  let shownAtMs = 0;
  const show = (): void => {
    if (signal.aborted) return;
    if (hasNews) revision.value += 1;
    hasNews = false;
    feed.value = known;
    nowMs.value = Date.now();
    error.value = undefined;
    shownAtMs = performance.now();
  };
  // What is shown comes between two polls.
  known.follow(() => {
    hasNews = true;
    show();
  });
  if (hasNews) show();
  else hasNews = (await known.poll()).metrics;
  shownAtMs = performance.now();
  // The overview is painted before the first poll.
  if (known.hasMore && !signal.aborted) await afterPaint();
  while (known.hasMore) {
    await nextTurn();
    if (signal.aborted) return;
    hasNews = (await known.poll()).metrics || hasNews;
    if (performance.now() - shownAtMs >= SHOW_EVERY_MS) show();
  }
  show();
}
