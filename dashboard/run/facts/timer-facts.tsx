/** What the timers of a run measured. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { TimerStatistics } from 'quark-sdk/profiler';
import { Button } from '../../parts/controls.tsx';
import { formatCount, formatMeasuredSpan } from '../../parts/format.ts';
import { adding } from '../../parts/signals.ts';
import { t, tn } from '../../parts/t.ts';
import { whenQuiet } from '../../parts/turns.ts';
import type { RunFeed } from '../../series/run-feed.ts';
import { Folding } from './folding.tsx';

/** Type of the event by which a writer tells what its timers have measured. */
const TIMER_SUMMARY = 'timer_summary';
/** Timers that are there at first: a run may have a thousand. */
const SHOWN_TIMERS = 12;
const SHOWN_MORE = 100;

/** A section of the facts; nothing for a run without timers. Those that took longest come first. */
export function TimerFacts(props: {
  readonly feed: RunFeed;
  /** The clock of the page: the feed is the same object while it grows. */
  readonly nowMs: number;
}): JSX.Element | null {
  const { feed } = props;
  const timers = useSignal<readonly TimerStatistics[]>([]);
  const shownCount = useSignal(SHOWN_TIMERS);
  const toldCount = feed.events.filter(({ eventType }) => eventType === TIMER_SUMMARY).length;
  useEffect(() => {
    let isGone = false;
    // The page says elsewhere what cannot be read.
    whenQuiet()
      .then(() => timersOf(feed, toldCount))
      .then(
        (found) => {
          if (!isGone) timers.value = found;
        },
        () => undefined,
      );
    return () => {
      isGone = true;
    };
  }, [feed, toldCount]);
  if (timers.value.length === 0) return null;
  const hiddenCount = timers.value.length - shownCount.value;
  return (
    <Folding title={t('Timers')}>
      <dl class="fact-list">
        {timers.value.slice(0, shownCount.value).map((timer) => (
          <div key={timer.name} class="fact">
            <dt class="quiet">{timer.name}</dt>
            <dd>
              <TimerText timer={timer} />
            </dd>
          </div>
        ))}
      </dl>
      {hiddenCount > 0 && (
        <Button isSmall class="fact-more" onClick={adding(shownCount, SHOWN_MORE)}>
          {t('Show {count} more', { count: formatCount(Math.min(hiddenCount, SHOWN_MORE)) })}
        </Button>
      )}
    </Folding>
  );
}

async function timersOf(feed: RunFeed, toldCount: number): Promise<readonly TimerStatistics[]> {
  if (toldCount === 0) return [];
  const { readTimers } = await import('quark-sdk/profiler');
  const timers = await readTimers(feed.reader);
  return timers.toSorted((a, b) => b.totalMs - a.totalMs);
}

function TimerText({ timer }: { readonly timer: TimerStatistics }): JSX.Element {
  const { count, maxMs, meanMs, minMs, p50Ms, p90Ms, stdMs, totalMs } = timer;
  if (count === 0) return <span class="quiet">{t('not measured yet')}</span>;
  const all = {
    std: formatMeasuredSpan(stdMs),
    total: formatMeasuredSpan(totalMs),
    median: formatMeasuredSpan(p50Ms),
    p90: formatMeasuredSpan(p90Ms),
    least: formatMeasuredSpan(minMs),
    most: formatMeasuredSpan(maxMs),
  };
  return (
    <>
      {formatMeasuredSpan(meanMs)}
      <span class="quiet">
        {' '}
        {tn(
          count,
          '± {std}, {times} time, {total} in all',
          '± {std}, {times} times, {total} in all',
          {
            ...all,
            times: formatCount(count),
          },
        )}
        <br />
        {t('median {median}, 90 % under {p90}, least {least}, most {most}', all)}
      </span>
    </>
  );
}
