import { describe, expect, it } from 'vitest';
import {
  destinationText,
  syncText,
  unsentText,
  type SyncText,
} from '../../../demo/train/sync-text.ts';
import { SYNC_OFF, type SyncStatus } from '../../../src/store/sync-control.ts';

const NOW = 1_800_000_000_000;
const URL = 'https://quark.example.com:8443';

function errorText(status: Partial<SyncStatus>): SyncText {
  return syncText({ ...SYNC_OFF, uri: URL, ...status }, NOW);
}
const problem = (
  reason: string,
  message = 'As the service says',
): NonNullable<SyncStatus['lastError']> => ({ reason, message, atMs: NOW });
const refused = {
  runId: 'run_a',
  table: 'metrics',
  writerId: 'w',
  batchNumber: 3,
  rowCount: 40,
  reason: 'rejected',
  message: 'The name is too long.',
};

describe('what the page says of the way to the service', () => {
  it('says where runs go before there is one', () => {
    expect(destinationText({ kind: 'service', url: URL, userKey: undefined })).toEqual({
      tone: 'ready',
      headline: 'Sync on',
      detail: 'Runs are stored in this browser and sent to quark.example.com:8443.',
    });
    const offs = (['no_service', 'needs_key', 'takes_nothing', 'unreachable'] as const).map(
      (kind) => destinationText({ kind }),
    );
    expect(new Set(offs.map(({ detail }) => detail)).size).toBe(4);
    for (const off of offs) {
      expect(off).toMatchObject({ tone: 'off', headline: 'Sync off' });
      expect(off.detail).toContain('stay in this browser');
    }
    expect(offs[1]?.detail).toContain('Give your key');
  });

  it('does not take a run that was begun without a service for one that is sent', () => {
    const text = unsentText({ kind: 'service', url: URL, userKey: undefined });
    expect(text.headline).toBe('Sync off');
    expect(text.detail).toContain('the next one is sent to quark.example.com:8443');
    expect(unsentText({ kind: 'no_service' })).toEqual(destinationText({ kind: 'no_service' }));
    expect(errorText({ state: 'off' })).toEqual(destinationText({ kind: 'no_service' }));
  });

  it('says that all is sent, and how much', () => {
    expect(errorText({ state: 'idle', acknowledgedRows: 12_345 })).toEqual({
      tone: 'sent',
      headline: 'All sent',
      detail: '12,345 rows at quark.example.com:8443.',
    });
  });

  it('says how much is to be sent', () => {
    expect(errorText({ state: 'uploading', pendingRuns: 1, pendingRows: 1234 })).toEqual({
      tone: 'sending',
      headline: 'Sending',
      detail: '1,234 rows to go.',
    });
    expect(errorText({ state: 'uploading', pendingRows: 1 }).detail).toBe('1 row to go.');
    expect(
      errorText({ state: 'uploading', pendingRuns: 1, pendingRows: 0, acknowledgedRows: 9 }).detail,
    ).toBe('9 rows sent, the state of the run to go.');
  });

  it('says why it waits and when it tries again', () => {
    const waiting = {
      state: 'waiting',
      pendingRows: 20,
      lastError: problem('unreachable'),
      nextAttemptAtMs: NOW + 6_400,
    } as const;
    expect(errorText(waiting)).toEqual({
      tone: 'waiting',
      headline: 'Waiting for the service',
      detail: 'It cannot be reached. 20 rows kept in this browser. Next attempt in 7 s.',
    });
    const detail = (over: Partial<SyncStatus>): string => errorText({ ...waiting, ...over }).detail;
    expect(detail({ nextAttemptAtMs: NOW - 5 })).toMatch(/Trying again now\.$/);
    expect(detail({ nextAttemptAtMs: NOW + 125_000 })).toMatch(/Next attempt in 2m 05s\.$/);
    expect(detail({ lastError: problem('busy') })).toMatch(/^It is busy\. /);
    expect(detail({ lastError: problem('full') })).toMatch(/^It has no room left\. /);
    expect(detail({ lastError: problem('failed') })).toMatch(/^As the service says\. /);
    expect(detail({ pendingRows: 0 })).toBe('It cannot be reached. Next attempt in 7 s.');
  });

  it('says what to do where waiting does not help', () => {
    const blocked = (reason: string): SyncText =>
      errorText({
        state: 'blocked',
        pendingRows: 7,
        lastError: problem(reason),
        nextAttemptAtMs: NOW + 60_000,
      });
    const todo = {
      unauthorised: /^The service does not take your key\. Sign in /,
      version: /^The service speaks another version\. Load this page again/,
      read_only: /^The service takes no records now\. /,
      unknown_scheme: /^What answers at quark\.example\.com:8443 is not a Quark service\. /,
      rejected: /^As the service says\. /,
    };
    for (const [reason, said] of Object.entries(todo)) {
      expect(blocked(reason)).toMatchObject({ tone: 'blocked', headline: 'Sync blocked' });
      expect(blocked(reason).detail).toMatch(said);
      expect(blocked(reason).detail).toMatch(/7 rows kept in this browser\. Next attempt in 1m/);
    }
  });

  it('does not call sent what the service has refused', () => {
    expect(errorText({ state: 'idle', acknowledgedRows: 60, refusedSegments: [refused] })).toEqual({
      tone: 'blocked',
      headline: 'Not everything was taken',
      detail: 'The service refused 40 rows; they stay in this browser. The name is too long.',
    });
    // The run as a whole: nothing of it is waited for any more, and nothing has arrived.
    const whole = errorText({
      state: 'idle',
      pendingRows: 100,
      lastError: problem('too_large', 'The configuration is too large.'),
    });
    expect(whole.headline).toBe('Not everything was taken');
    expect(whole.detail).toContain('100 rows; they stay in this browser. The configuration is');
  });
});
