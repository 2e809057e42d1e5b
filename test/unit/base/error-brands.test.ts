/** Errors are known by what they are made of, over copies of the package, workers and the wire. */
import { Worker } from 'node:worker_threads';
import { once } from 'node:events';
import { afterEach, expect, test, vi } from 'vitest';
import * as errors from '../../../src/base/errors.ts';
import { decodeError, encodeError } from '../../../src/wire/wire-errors.ts';

afterEach(() => void vi.resetModules());

/** A second copy of the module, as a second version of the package in one program has it. */
async function otherCopy(): Promise<typeof errors> {
  vi.resetModules();
  return import('../../../src/base/errors.ts');
}

const made = (from: typeof errors) =>
  [
    ['QuarkError', from.invalidInput('step', -1, 'a non-negative integer')],
    ['SessionStoreError', new from.SessionStoreError('full', 'no room')],
    ['RunNotFoundError', new from.RunNotFoundError('run_x', 'memory:')],
    ['InvalidRunStateError', new from.InvalidRunStateError('it has ended', {})],
    ['SchemaValidationError', new from.SchemaValidationError('no')],
    ['SchemaMigrationError', new from.SchemaMigrationError('no')],
  ] as const;

test('an error of another copy is an instance of its class, and of no other', async () => {
  const other = await otherCopy();
  expect(other.QuarkError).not.toBe(errors.QuarkError);
  for (const [name, error] of made(other)) {
    expect(errors.isQuarkError(error, error.code)).toBe(true);
    expect(error instanceof errors.QuarkError).toBe(true);
    for (const [ownName, { constructor: Own }] of made(errors))
      expect(error instanceof Own, `${name} as ${ownName}`).toBe(
        ownName === 'QuarkError' || ownName === name,
      );
  }
  expect(errors.isStoreError(made(other)[1][1], 'full')).toBe(true);
});

test('other errors are no instances, and a class of a program goes by itself', () => {
  class OwnError extends errors.SessionStoreError {}
  const own = new OwnError('busy', 'mine');
  expect(own instanceof OwnError && own instanceof errors.SessionStoreError).toBe(true);
  expect(new errors.SessionStoreError('busy', 'not mine') instanceof OwnError).toBe(false);
  const system = Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
  for (const value of [system, new Error('x'), null, undefined, 'aborted', { code: 'aborted' }])
    expect(value instanceof errors.QuarkError).toBe(false);
});

test('an error that went over the wire, or from a worker as an object, is known', async () => {
  const { body, status } = encodeError(errors.invalidInput('step', -1, 'positive'));
  expect(decodeError(status, body, 'http://x') instanceof errors.QuarkError).toBe(true);
  const gone = encodeError(new errors.RunNotFoundError('run_x', 'memory:'));
  expect(decodeError(gone.status, gone.body, 'x') instanceof errors.RunNotFoundError).toBe(true);
  const full = encodeError(new errors.SessionStoreError('full', 'no room'));
  expect(errors.isStoreError(decodeError(full.status, full.body, 'x'), 'full')).toBe(true);
  const worker = new Worker(
    `const e = Object.assign(new Error('no'), { code: 'store_failed', details: { reason: 'busy' } });
     require('node:worker_threads').parentPort.postMessage({ ...e, message: e.message });`,
    { eval: true },
  );
  const [received] = await once(worker, 'message');
  expect(errors.isStoreError(received, 'busy')).toBe(true);
  expect(received instanceof errors.SessionStoreError).toBe(true);
});
