/** How far a run is, for people. */
import type { RunProgress } from '../../profiler.ts';
import { duration, fit, shortNumber, textWidth, type Style } from './text.ts';

const BAR_CHARACTERS = 24;

/** `step 250 of 1000, epoch 3 of 10, 25 %, 5:00 left`; what is not known is left out, and the time that is left of a run that is over. */
export function progressText(
  { epoch, remainingMs, share, steps, totalEpochs, totalSteps }: RunProgress,
  isLive: boolean,
): string {
  const of = (total: number | null): string => (total === null ? '' : ` of ${total}`);
  return [
    ...(steps === null ? [] : [`step ${steps}${of(totalSteps)}`]),
    // People count epochs from 1.
    ...(epoch === null ? [] : [`epoch ${shown(epoch + 1, totalEpochs)}${of(totalEpochs)}`]),
    ...(share === null ? [] : [`${Math.floor(100 * share)} %`]),
    ...(remainingMs === null || remainingMs === 0 || !isLive
      ? []
      : [`${duration(remainingMs)} left`]),
  ].join(', ');
}

function shown(epoch: number, total: number | null): number {
  return total === null ? epoch : Math.min(epoch, total);
}

/** What is shown of a run while it goes on. */
export type LiveState = {
  readonly isLive: boolean;
  readonly progress: RunProgress | undefined;
  readonly values: readonly (readonly [key: string, value: number])[];
};

/** The same with a bar, where the share is known, and the last values; at most `width` columns. */
export function progressLine(
  { isLive, progress, values }: LiveState,
  width: number,
  style: Style,
): string {
  const share = progress?.share ?? null;
  const barWidth = share === null ? 0 : Math.max(0, Math.min(BAR_CHARACTERS, width - 40));
  const filled = Math.round((share ?? 0) * barWidth);
  const bar = `${style.green('━'.repeat(filled))}${style.dim('─'.repeat(barWidth - filled))}`;
  const text = [
    ...(progress === undefined ? ['no steps yet'] : [progressText(progress, isLive)]),
    ...values.map(([key, value]) => `${key} ${shortNumber(value)}`),
  ].join('  ');
  const room = width - barWidth - (barWidth === 0 ? 0 : 2);
  const cut = textWidth(text) > room ? fit(text, room) : text;
  return barWidth === 0 ? cut : `${bar}  ${cut}`;
}

/** The same for programs. */
export function progressJson(progress: RunProgress): object {
  return {
    steps: progress.steps,
    total_steps: progress.totalSteps,
    epoch: progress.epoch,
    total_epochs: progress.totalEpochs,
    share: progress.share,
    step_ms: progress.stepMs,
    remaining_ms: progress.remainingMs,
  };
}
