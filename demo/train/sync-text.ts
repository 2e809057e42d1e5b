/** How far records are on their way to a service, in words: a short one that is read aloud, and what changes every second. */
import type { SyncStatus } from 'quark-sdk';
import { countText, formatCount, formatDuration } from '../../dashboard/parts/format.ts';
import type { Destination } from '../../dashboard/sources/destination.ts';
import { t, tn } from '../../dashboard/parts/t.ts';

/** How a state looks; each has a shape of its own, not only a colour. */
export type SyncTone = 'off' | 'ready' | 'sent' | 'sending' | 'waiting' | 'blocked';

/** A state in words. */
export type SyncText = {
  readonly tone: SyncTone;
  /** Changes with the state only. */
  readonly headline: string;
  readonly detail: string;
};

/** Why runs stay in this browser. */
const REASONS: Readonly<Record<Exclude<Destination['kind'], 'service'>, () => string>> = {
  no_service: () => t('Runs stay in this browser: no service is behind this page.'),
  needs_key: () => t('Runs stay in this browser. Give your key under “Runs” to send them on.'),
  takes_nothing: () =>
    t('Runs stay in this browser: the server of this page takes no records from you.'),
  unreachable: () => t('Runs stay in this browser: the service of this page could not be asked.'),
};

/** What is shown before there is a run, and of a run that is sent nowhere. */
export function destinationText(destination: Destination): SyncText {
  if (destination.kind !== 'service')
    return { tone: 'off', headline: t('Sync off'), detail: REASONS[destination.kind]() };
  return {
    tone: 'ready',
    headline: t('Sync on'),
    detail: t('Runs are stored in this browser and sent to {host}.', {
      host: hostOf(destination.url),
    }),
  };
}

/** The same while a run is shown that is sent nowhere: it stays so, whatever has changed since it began. */
export function unsentText(destination: Destination): SyncText {
  if (destination.kind !== 'service') return destinationText(destination);
  return {
    tone: 'off',
    headline: t('Sync off'),
    detail: t('This run stays in this browser; the next one is sent to {host}.', {
      host: hostOf(destination.url),
    }),
  };
}

/** What runs of earlier visits left to be sent; undefined when there is nothing. */
export function leftoverText(status: SyncStatus, nowMs: number): SyncText | undefined {
  if (status.pendingRuns === 0) return undefined;
  const text = syncText(status, nowMs);
  const left = tn(status.pendingRuns, 'Left by an earlier run.', 'Left by {count} earlier runs.', {
    count: formatCount(status.pendingRuns),
  });
  return { ...text, detail: `${left} ${text.detail}` };
}

/** A status in words, as it is at `nowMs`. */
export function syncText(status: SyncStatus, nowMs: number): SyncText {
  const { acknowledgedRows, pendingRows } = status;
  const kept =
    pendingRows === 0
      ? ''
      : `${t('{rows} kept in this browser.', { rows: countText(pendingRows, 'row') })} `;
  switch (status.state) {
    case 'off':
      return destinationText({ kind: 'no_service' });
    case 'idle':
      return refusedText(status) ?? sentText(status);
    case 'uploading':
      return {
        tone: 'sending',
        headline: t('Sending'),
        detail:
          pendingRows === 0
            ? t('{rows} sent, the state of the run to go.', {
                rows: countText(acknowledgedRows, 'row'),
              })
            : t('{rows} to go.', { rows: countText(pendingRows, 'row') }),
      };
    case 'waiting':
      return {
        tone: 'waiting',
        headline: t('Waiting for the service'),
        detail: `${waitReason(status)} ${kept}${nextAttempt(status, nowMs)}`,
      };
    case 'blocked':
      return {
        tone: 'blocked',
        headline: t('Sync blocked'),
        detail: `${remedy(status)} ${kept}${nextAttempt(status, nowMs)}`,
      };
  }
}

function sentText({ acknowledgedRows, uri }: SyncStatus): SyncText {
  const rows = countText(acknowledgedRows, 'row');
  return {
    tone: 'sent',
    headline: t('All sent'),
    detail: uri === null ? `${rows}.` : t('{rows} at {host}.', { rows, host: hostOf(uri) }),
  };
}

/** What the service will never take is no longer waited for: that is not the same as sent. */
function refusedText({
  lastError,
  pendingRows,
  refusedSegments,
}: SyncStatus): SyncText | undefined {
  const refusedRows = refusedSegments.reduce((sum, { rowCount }) => sum + rowCount, pendingRows);
  if (refusedRows === 0) return undefined;
  const why = refusedSegments[0]?.message ?? lastError?.message ?? '';
  return {
    tone: 'blocked',
    headline: t('Not everything was taken'),
    detail: t('The service refused {rows}; they stay in this browser. {why}', {
      rows: countText(refusedRows, 'row'),
      why,
    }).trim(),
  };
}

function waitReason({ lastError }: SyncStatus): string {
  switch (lastError?.reason) {
    case undefined:
    case 'unreachable':
      return t('It cannot be reached.');
    case 'busy':
      return t('It is busy.');
    case 'full':
      return t('It has no room left.');
    default:
      return sentence(lastError?.message ?? '');
  }
}

/** What somebody has to do; it is tried again all the same. */
function remedy({ lastError, uri }: SyncStatus): string {
  const host = uri === null ? t('the service') : hostOf(uri);
  switch (lastError?.reason) {
    case 'unauthorised':
      return t(
        'The service does not take your key. Sign in under “Runs” with one that may write; what is left is sent then.',
      );
    case 'version':
      return t(
        'The service speaks another version. Load this page again; if that does not help, update the service.',
      );
    case 'read_only':
      return t('The service takes no records now. Its operator has to allow writing.');
    case 'unknown_scheme':
      return t(
        'What answers at {host} is not a Quark service. Look at its address and at proxies.',
        { host },
      );
    default:
      return sentence(lastError?.message ?? t('The service refuses.'));
  }
}

function nextAttempt({ nextAttemptAtMs }: SyncStatus, nowMs: number): string {
  const leftMs = nextAttemptAtMs === null ? 0 : nextAttemptAtMs - nowMs;
  if (leftMs <= 0) return t('Trying again now.');
  // Whole seconds: the next poll is a second away.
  return t('Next attempt in {span}.', {
    span: formatDuration(Math.ceil(leftMs / 1000) * 1000).replace(/\.0 s$/, ' s'),
  });
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function hostOf(uri: string): string {
  try {
    return new URL(uri).host;
  } catch {
    return uri;
  }
}
