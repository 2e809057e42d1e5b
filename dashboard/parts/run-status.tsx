/** How a run stands, and how long it took. */
import type { JSX } from 'preact';
import { hasTimes, type RunSummary } from 'quark-sdk';
import { formatDuration } from './format.ts';
import { t } from './t.ts';

/** Order of the filter chips: a running run with a live writer is "live". */
export const SHOWN_STATUSES = ['live', 'completed', 'interrupted', 'failed'] as const;

/** One of {@link SHOWN_STATUSES}. */
export type ShownStatus = (typeof SHOWN_STATUSES)[number];

const STATUSES = {
  importing: { label: () => t('Importing'), tone: 'accent', shape: '' },
  live: { label: () => t('Live'), tone: 'live', shape: '' },
  completed: { label: () => t('Completed'), tone: 'done', shape: '' },
  failed: { label: () => t('Failed'), tone: 'bad', shape: 'dot-diamond' },
  interrupted: { label: () => t('Interrupted'), tone: 'paused', shape: 'dot-square' },
} as const;

/** How a run stands. */
export function shownStatus(summary: Pick<RunSummary, 'effectiveStatus'>): ShownStatus {
  return summary.effectiveStatus === 'running' ? 'live' : summary.effectiveStatus;
}

/** What a status is called. */
export function statusLabel(status: ShownStatus): string {
  return STATUSES[status].label();
}

/** How a run stands, as a word with a coloured dot. */
export function StatusChip(props: { readonly status: ShownStatus | 'importing' }): JSX.Element {
  const { status } = props;
  const { label, tone, shape } = STATUSES[status];
  return (
    <span class={`status status-${status} tone-${tone}`} data-status={status}>
      <span class={`dot ${shape}`} aria-hidden="true" />
      {label()}
    </span>
  );
}

/** How long a run took, or has taken so far, in milliseconds. */
export function runSpanMs(
  summary: Omit<RunSummary, 'problem'>,
  nowMs: number,
  lastActivityMs?: number,
): number {
  const startMs = Date.parse(summary.run.startedAt);
  if (summary.isLive) return nowMs - startMs;
  if (summary.run.endedAt !== null) return Date.parse(summary.run.endedAt) - startMs;
  return Math.max(lastActivityMs ?? 0, Date.parse(summary.run.updatedAt)) - startMs;
}

/** How long a run took, in words. Imported files without times say nothing of it. */
export function spanText(run: RunSummary['run'], spanMs: number): string {
  return hasTimes(run) ? formatDuration(spanMs) : '–';
}
