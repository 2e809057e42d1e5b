/** What the program of a run printed, read in the page's worker, and read on while the run goes on. */
import { useSignal, type ReadonlySignal } from '@preact/signals';
import { readConsoleInWorker } from '../../dropped/analysis.ts';
import { isGrowing } from '../../dropped/dropped-files.ts';
import { usePolling, type Polling } from '../../parts/hooks.ts';
import type { RunFeed } from '../../series/run-feed.ts';
import { withLaterLines, type ConsoleAnswer } from '../../worker/console-columns.ts';

/** Lines that the page has at a time, the latest ones. */
export const MOST_LINES = 200_000;

const LIVE_POLL_MS = 2000;
const ENDED_POLL_MS = 30_000;
/** Captures in several processes store their lines at different moments: the last seconds are read again. */
const AGAIN_MS = 10_000;

/** The console as far as it was read. */
export type ConsoleReading = Polling & {
  readonly answer: ReadonlySignal<ConsoleAnswer | undefined>;
};

/** Reads the console now, and on for as long as the component is there. */
export function useConsole(feed: RunFeed): ConsoleReading {
  const answer = useSignal<ConsoleAnswer | undefined>(undefined);
  const { store } = feed.reader;
  const polling = usePolling(
    async () => {
      const known = answer.peek();
      const lastMs = known?.columns.timesMs.at(-1);
      const fromMs = lastMs === undefined ? -Infinity : lastMs - AGAIN_MS;
      const later = await readConsoleInWorker(store, feed.run.id, MOST_LINES, fromMs);
      if (known !== undefined && isSame(known, later)) return;
      const columns =
        known === undefined
          ? later.columns
          : withLaterLines(known.columns, later.columns, fromMs, MOST_LINES);
      answer.value = { ...later, columns };
    },
    () => (feed.isLive || isGrowing(store) ? LIVE_POLL_MS : ENDED_POLL_MS),
    [feed, feed.isLive],
  );
  return { ...polling, answer };
}

function isSame(a: ConsoleAnswer, b: ConsoleAnswer): boolean {
  return (
    a.storedLines === b.storedLines &&
    a.droppedLines === b.droppedLines &&
    a.problems.length === b.problems.length
  );
}
