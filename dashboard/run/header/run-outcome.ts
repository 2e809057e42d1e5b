/** How a run ended, in a sentence: the first thing to know of one that did not complete. */
import type { EventRecord, RunReader } from 'quark-sdk';
import { runEnding } from 'quark-sdk/workspace';
import { formatCount } from '../../parts/format.ts';
import { t } from '../../parts/t.ts';

/** How it ended. */
export type RunOutcome = {
  /** `Failed at step 199`. */
  readonly text: string;
  /** What the program said of it; undefined where it said nothing. */
  readonly reason: string | undefined;
  readonly isFailure: boolean;
};

/** What is known of a run and its end. */
type EndedRun = {
  readonly status: RunReader['effectiveStatus'];
  readonly run: Pick<RunReader['run'], 'statusReason'>;
  readonly events: readonly Pick<EventRecord, 'eventType' | 'payload' | 'severity' | 'step'>[];
  /** The furthest step and epoch of any metric; NaN where there is none. */
  readonly position: { readonly step: number };
};

/** How a run ended that was to go on; undefined for one that completed, or goes on. */
export function runOutcome({ events, position, run, status }: EndedRun): RunOutcome | undefined {
  if (status !== 'failed' && status !== 'interrupted') return undefined;
  const ending = runEnding({ status, statusReason: run.statusReason }, events);
  const step = ending.step ?? (Number.isNaN(position.step) ? null : position.step);
  const isFailure = status === 'failed';
  return { text: endText(isFailure, step), reason: ending.reason ?? undefined, isFailure };
}

function endText(isFailure: boolean, at: number | null): string {
  if (at === null) return isFailure ? t('Failed') : t('Interrupted');
  const step = formatCount(at);
  return isFailure
    ? t('Failed at step {step}', { step })
    : t('Interrupted at step {step}', { step });
}
