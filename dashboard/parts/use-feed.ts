/** A feed that is read for as long as a component is there. */
import { useSignal, type ReadonlySignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { keepPolling } from './polling.ts';

const LIVE_POLL_MS = 1500;
const ENDED_POLL_MS = 10_000;

/** What can be read again and again. */
export interface Feed {
  /** True when something new came. */
  poll(): Promise<boolean>;
}

/** How the reading of a feed stands. */
export type FeedWatch = {
  /** Changes when something came. */
  readonly revision: ReadonlySignal<number>;
  readonly error: ReadonlySignal<unknown>;
  /** Whether it was read once. */
  readonly isRead: ReadonlySignal<boolean>;
};

/** Reads the feed now and every so often, more often while its run is live. */
export function useFeed(feed: Feed, isLive: boolean): FeedWatch {
  const revision = useSignal(0);
  const error = useSignal<unknown>(undefined);
  const isRead = useSignal(false);
  /** A feed appends what it reads: two readings at once would append it twice. */
  const underWay = useRef<Promise<unknown> | undefined>(undefined);
  useEffect(
    () =>
      keepPolling(
        async () => {
          await underWay.current;
          const reading = feed.poll();
          underWay.current = reading.catch(() => undefined);
          const hasNew = await reading;
          isRead.value = true;
          error.value = undefined;
          if (hasNew) revision.value += 1;
        },
        () => (isLive ? LIVE_POLL_MS : ENDED_POLL_MS),
        (failure) => {
          error.value = failure;
        },
      ),
    [feed, isLive],
  );
  return { revision, error, isRead };
}
