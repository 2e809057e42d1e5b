/** How far a run is, as one line, from what its page has read: nothing is asked of the store. */
import type { ProgressPoint, RunProgress } from 'quark-sdk/profiler';
import { formatCount, formatRest } from '../../parts/format.ts';
import type { RunFeed } from '../../series/run-feed.ts';
import type { SampleSeries } from '../../series/series.ts';
import { t } from '../../parts/t.ts';

/** Points that the rate is computed of, the most recent ones: as many as `readProgress` reads. */
const MAX_POINTS = 20_000;

/** Type of the event by which a run says how long it is. */
const TRAINING_TOTAL = 'training_total';

/** How far the run is; undefined where it does not say how long it is. The code is loaded for runs that do. */
export async function progressOfFeed(feed: RunFeed): Promise<RunProgress | undefined> {
  if (!feed.events.some(({ eventType }) => eventType === TRAINING_TOTAL)) return undefined;
  const { progressOf, trainingTotalOf } = await import('quark-sdk/profiler');
  const total = trainingTotalOf(feed.events);
  return total === undefined ? undefined : progressOf(recentPoints(feed.series.all()), total);
}

/** The last points of the metric that has most of them. */
function recentPoints(all: readonly SampleSeries[]): readonly ProgressPoint[] {
  let most: SampleSeries | undefined;
  for (const series of all)
    if (!Number.isNaN(series.last?.step ?? Number.NaN) && series.length > (most?.length ?? 0))
      most = series;
  if (most === undefined) return [];
  const { epochs, length, steps, timesMs } = most;
  const points: ProgressPoint[] = [];
  for (let at = Math.max(0, length - MAX_POINTS); at < length; at += 1) {
    const step = steps[at] ?? Number.NaN;
    if (Number.isNaN(step)) continue;
    points.push({ step, epoch: epochs[at] ?? Number.NaN, timeMs: timesMs[at] ?? Number.NaN });
  }
  return points;
}

/** `epoch 3 of 10, 42 s left`; steps where the run counts no epochs. Undefined where nothing is known. */
export function liveProgressText({
  epoch,
  remainingMs,
  share,
  steps,
  totalEpochs,
  totalSteps,
}: RunProgress): string | undefined {
  if (share === null) return undefined;
  const parts: string[] = [];
  // People count epochs from 1.
  if (epoch !== null && totalEpochs !== null)
    parts.push(
      t('epoch {epoch} of {epochs}', {
        epoch: formatCount(Math.min(epoch + 1, totalEpochs)),
        epochs: formatCount(totalEpochs),
      }),
    );
  else if (steps !== null && totalSteps !== null)
    parts.push(
      t('step {step} of {steps}', {
        step: formatCount(steps),
        steps: formatCount(totalSteps),
      }),
    );
  if (remainingMs !== null && remainingMs > 0)
    parts.push(t('{span} left', { span: formatRest(remainingMs) }));
  return parts.length === 0 ? undefined : parts.join(', ');
}
