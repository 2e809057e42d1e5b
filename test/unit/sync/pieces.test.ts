import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { QuarkError, SessionStoreError } from '../../../src/base/errors.ts';
import type { RowBatch } from '../../../src/codecs/arrow/vectors.ts';
import { Backoff, kindOfFailure, retryAfterMs } from '../../../src/sync/failures.ts';
import { areSameRuns, mergeRuns, toRemoteForm, type RunForm } from '../../../src/sync/merge-run.ts';
import { RequestSize } from '../../../src/sync/send-run.ts';
import { RowDigest } from '../../../src/sync/row-digest.ts';
import { spaceOf } from '../../../src/sync/space-name.ts';
import { runs } from '../../support/property.ts';
import { runOf } from '../../support/segments.ts';

test.each([
  [undefined, 'default'],
  ['.', 'default'],
  ['../..', 'default'],
  ['/home/user/secret/my runs/', 'my-runs'],
  ['C:\\data\\experiments', 'experiments'],
  ['file:///data/a%20b?synchronous=full', 'a-b'],
  ['idb:digits', 'digits'],
  ['idb:', 'default'],
  ['50%', '50-'],
  ['...', 'default'],
  ['%2e%2e%2fetc', 'etc'],
  ['x'.repeat(200), 'x'.repeat(128)],
])('the space of %j is %j', (place, name) => {
  expect(spaceOf(place)).toBe(name);
});

test('failures are sorted by what can be done about them', () => {
  const of = (reason: 'unreachable' | 'unauthorised' | 'rejected', details = {}) =>
    kindOfFailure(new SessionStoreError(reason, 'x', { details }));
  expect(of('unreachable')).toBe('retry');
  expect(of('unauthorised')).toBe('user');
  expect(of('rejected', { segment: 'a/b/c/0' })).toBe('permanent');
  // A captive portal answers with a page: nothing is given up because of it.
  expect(of('rejected', { status: 200, where: 'https://x/' })).toBe('user');
  expect(kindOfFailure(new QuarkError('invalid_input', 'x'))).toBe('permanent');
  expect(kindOfFailure(new TypeError('x'))).toBe('retry');
  const busy = new SessionStoreError('busy', 'x', { details: { retryAfterMs: 1500 } });
  expect(retryAfterMs(busy)).toBe(1500);
});

test('pauses grow to a bound, are spread from nothing on, and are never shorter than asked for', () => {
  const longest = new Backoff(500, 60_000, () => 1);
  let nowMs = 1_700_000_000_000;
  const pauses = Array.from({ length: 50 }, () => {
    const pauseMs = longest.next(nowMs);
    nowMs += pauseMs;
    return pauseMs;
  });
  // Never longer than it has been quiet for.
  expect(pauses.slice(0, 6)).toEqual([500, 1000, 2000, 3500, 7000, 14_000]);
  expect(pauses.at(-1)).toBe(60_000);
  // A clock that is turned back makes none longer.
  expect(longest.next(nowMs - 86_400_000)).toBe(2000);
  longest.reset();
  expect(longest.next(nowMs)).toBe(500);
  expect(new Backoff(500, 60_000, () => 0).next(nowMs, 1500)).toBe(1500);
});

test('what does not get through is made smaller, and larger again when it does', () => {
  const size = new RequestSize();
  const whole = size.bytes;
  size.failed(whole);
  expect(size.bytes).toBe(whole / 2);
  // A small one that fails says that large ones do too.
  size.failed(100_000);
  expect(size.bytes).toBe(50_000);
  for (let i = 0; i < 20; i++) size.failed(1_000);
  expect(size.bytes).toBe(8_192);
  for (let i = 0; i < 20; i++) size.arrived();
  expect(size.bytes).toBe(whole);
});

describe('run documents', () => {
  const run = (fields: object, change: Partial<RunForm> = {}): RunForm =>
    runOf({ document: JSON.stringify({ id: 'run_1', ...fields }), ...change });
  const nobody = { isLocalLive: false, isRemoteLive: false };

  test('take what changed on either side', () => {
    const base = run({ tags: ['a', 'b'], note: 1 }, { tags: ['a', 'b'] });
    const local = run({ tags: ['a', 'b', 'c'], note: 1 }, { tags: ['a', 'b', 'c'] });
    const remote = run({ tags: ['b', 'd'], note: 2 }, { tags: ['b', 'd'] });
    const merged = mergeRuns(base, local, remote, nobody);
    expect(merged.tags).toEqual(['b', 'c', 'd']);
    expect(JSON.parse(merged.document)).toMatchObject({ tags: ['b', 'c', 'd'], note: 2 });
  });

  test('a run that ended here while the service was away has ended; one that goes on elsewhere goes on', () => {
    const of = (status: string, ended: string | null): RunForm =>
      run({ status, ended_at: ended }, { status });
    const running = of('running', null);
    const done = of('completed', '2026-01-01T00:00:00.000Z');
    expect(mergeRuns(running, done, running, nobody).status).toBe('completed');
    expect(
      mergeRuns(of('interrupted', null), done, running, { ...nobody, isRemoteLive: true }).status,
    ).toBe('running');
    expect(mergeRuns(running, running, done, { ...nobody, isLocalLive: true }).status).toBe(
      'running',
    );
    expect(mergeRuns(running, running, done, nobody).status).toBe('completed');
  });

  test('leave without the path of this machine', () => {
    const here = run({ run_path: '/home/user/x/.quark/runs/run_1', project_id: 'project_1' });
    const there = toRemoteForm(here, 'prj_9');
    expect(JSON.parse(there.document)).toMatchObject({
      run_path: 'runs/run_1',
      project_id: 'prj_9',
    });
    expect(areSameRuns(here, there)).toBe(false);
  });
});

describe('checksums of rows', () => {
  const row = fc.record({
    step: fc.option(fc.nat(), { nil: null }),
    value: fc.option(fc.double(), { nil: null }),
    key: fc.constantFrom('a', 'b', 'ab'),
  });
  type Row = { step: number | null; value: number | null; key: string };
  const batchOf = (rows: readonly Row[]): RowBatch => ({
    rowCount: rows.length,
    columns: new Map([
      [
        'step',
        { kind: 'number', values: Float64Array.from(rows, (one) => one.step ?? Number.NaN) },
      ],
      [
        'value',
        {
          kind: 'f64',
          values: Float64Array.from(rows, (one) => one.value ?? 0),
          isNull: Uint8Array.from(rows, (one) => (one.value === null ? 1 : 0)),
        },
      ],
      ['key', { kind: 'text', values: rows.map((one) => one.key) }],
    ]),
  });
  const digest = (parts: readonly (readonly Row[])[]): string => {
    const sum = new RowDigest();
    for (const part of parts) sum.add(batchOf(part));
    return `${sum.rows} ${sum.checksum}`;
  };

  test('do not depend on cuts and order, and change with any value, row or doubling', () => {
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 30 }), fc.nat(), (rows, at) => {
        const cut = at % rows.length;
        const whole = digest([rows]);
        expect(digest([rows.slice(cut), rows.slice(0, cut).toReversed()])).toBe(whole);
        const one = rows[cut];
        if (one === undefined) return;
        const others = rows.filter((_, i) => i !== cut);
        expect(digest([others])).not.toBe(whole);
        expect(digest([rows, [one]])).not.toBe(whole);
        expect(digest([others, [{ ...one, key: `${one.key}x` }]])).not.toBe(whole);
        const other = { ...one, step: one.step === null ? 0 : null };
        expect(digest([others, [other]])).not.toBe(whole);
      }),
      runs(200),
    );
  });
});
