/** A feed that is read for as long as a component is there. */
import { useSignal, type ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { usePolling, type Polling } from './hooks.ts';
import { ErrorNotice, Waiting } from './notices.tsx';
import { t } from './t.ts';

const LIVE_POLL_MS = 1500;
const ENDED_POLL_MS = 10_000;

/** What can be read again and again. */
export interface Feed {
  /** True when something new came. */
  poll(): Promise<boolean>;
}

/** How the reading of a feed stands. */
export type FeedReading = Polling & {
  /** Changes when something came. */
  readonly revision: ReadonlySignal<number>;
};

/** Reads the feed now and every so often, more often while its run is live. */
export function useFeed(feed: Feed, isLive: boolean): FeedReading {
  const revision = useSignal(0);
  /** A feed appends what it reads: two readings at once would append it twice. */
  const underWay = useRef<Promise<unknown> | undefined>(undefined);
  const polling = usePolling(
    async () => {
      await underWay.current;
      const reading = feed.poll();
      underWay.current = reading.catch(() => undefined);
      if (await reading) revision.value += 1;
    },
    () => (isLive ? LIVE_POLL_MS : ENDED_POLL_MS),
    [feed, isLive],
  );
  return { ...polling, revision };
}

/** What is inside once the feed was read; before that, that it is on its way, or why it cannot be read. */
export function FeedGate(props: {
  readonly reading: FeedReading;
  readonly title: string;
  readonly children: () => JSX.Element;
}): JSX.Element {
  const { error, isRead } = props.reading;
  if (isRead.value) return props.children();
  if (error.value === undefined) return <Waiting label={t('Reading')} />;
  return <ErrorNotice title={props.title} error={error.value} />;
}
