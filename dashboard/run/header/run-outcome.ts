/** How a run ended, in a sentence: the first thing to know of one that did not complete. */
import type { EventRecord, RunReader } from 'quark-sdk';
import { formatCount } from '../../parts/format.ts';
import { t } from '../../parts/t.ts';

/** Events about the end of a process: of sessions, and of runs that were imported. */
const ENDS = /^(?:runtime_|run_failed$|run_interrupted$)/;
/** Characters of a reason that are shown. */
const MAX_CHARS = 300;

/** How it ended. */
export type RunOutcome = {
  /** `Failed at step 199`. */
  readonly text: string;
  /** What the program said of it; undefined where it said nothing. */
  readonly reason: string | undefined;
  readonly isFailure: boolean;
};

/** How a run ended that was to go on; undefined for one that completed, or goes on. */
export function runOutcome(
  status: RunReader['effectiveStatus'],
  events: readonly Pick<EventRecord, 'eventType' | 'payload' | 'severity' | 'step'>[],
  lastStep: number,
): RunOutcome | undefined {
  if (status !== 'failed' && status !== 'interrupted') return undefined;
  const last = events.findLast(
    ({ eventType, severity }) => ENDS.test(eventType) && severity !== 'debug',
  );
  const step = last?.step ?? (Number.isNaN(lastStep) ? null : lastStep);
  const isFailure = status === 'failed';
  const where =
    step === null
      ? isFailure
        ? t('Failed')
        : t('Interrupted')
      : isFailure
        ? t('Failed at step {step}', { step: formatCount(step) })
        : t('Interrupted at step {step}', { step: formatCount(step) });
  return { text: where, reason: reasonOf(last?.payload), isFailure };
}

function reasonOf(payload: EventRecord['payload'] | undefined): string | undefined {
  const message = payload?.['message'];
  if (typeof message !== 'string') return undefined;
  const line = message.trim().split('\n', 1)[0]?.trim() ?? '';
  if (line === '') return undefined;
  return line.length > MAX_CHARS ? `${line.slice(0, MAX_CHARS)}…` : line;
}
