import { expect, test } from 'vitest';
import { SessionStoreError } from '../../../src/base/errors.ts';
import { decodeError, encodeError } from '../../../src/wire/wire-errors.ts';

const lost = (details: Record<string, string>): SessionStoreError =>
  new SessionStoreError('unreachable', 'postgres://10.0.0.7/secret cannot be reached', { details });

test('a store that was lost: nothing was changed, unless that is not known', () => {
  const known = encodeError(lost({}));
  expect(known.body.message).toContain('Nothing was changed');
  expect(known.body.details).toEqual({ reason: 'unreachable' });

  const unknown = encodeError(lost({ outcome: 'unknown', host: '10.0.0.7' }));
  expect(unknown.status).toBe(known.status);
  expect(unknown.body.message).toContain('It is not known whether this was written: ask again');
  expect(unknown.body.message).not.toContain('Nothing was changed');
  expect(JSON.stringify(unknown)).not.toContain('10.0.0.7');

  const told = decodeError(unknown.status, unknown.body, 'https://service.test/');
  expect(told).toMatchObject({ reason: 'unreachable', message: unknown.body.message });
  expect(told.details['outcome']).toBe('unknown');
});
