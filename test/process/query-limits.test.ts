/** What ends a query that does not end by itself. DuckDB is the real one. */
import { describe, expect, it } from 'vitest';
import { createMemoryStore, isQuarkError, type QuarkError } from 'quark-sdk';
import { queryRuns, type QueryOptions } from 'quark-sdk/node';
import { findDuckDb } from '../../src/query/duckdb.ts';
import { queryProcesses, residentMib, SHOWS_PROCESSES } from '../support/query-processes.ts';
import { casesOf, longTest } from '../support/long.ts';

const ENDLESS = 'select count(*) from range(1000000000) a, range(1000000000) b';
/** Makes what DuckDB neither interrupts nor counts as memory. */
const HUGE = ["select repeat('x', 2000000000)", "select length(repeat('x', 2000000000))"];

async function failure(sql: string, options: QueryOptions): Promise<QuarkError> {
  try {
    await queryRuns(createMemoryStore(), sql, options);
  } catch (error) {
    if (isQuarkError(error)) return error;
    throw error;
  }
  return expect.unreachable('It was answered.');
}

describe('the time limit', () => {
  it.each(casesOf([ENDLESS, ...HUGE], 1))('ends %s', async (sql) => {
    const error = await failure(sql, { timeoutMs: 1_000, maxMemoryMib: 4_096 });
    expect(error.code).toBe('invalid_input');
    expect(error.details).toMatchObject({ option: 'timeoutMs', limit: 1_000 });
    expect(error.message).toMatch(/time limit of 1 s.*timeoutMs.*--timeout/);
  });

  it('holds for a store that does not answer', async () => {
    const store = createMemoryStore();
    const silent = new Proxy(store, {
      get: (target, name) =>
        name === 'listRuns' ? () => new Promise(() => undefined) : Reflect.get(target, name),
    });
    await expect(
      queryRuns(silent, 'select * from metrics', { timeoutMs: 1_000 }),
    ).rejects.toMatchObject({ details: { option: 'timeoutMs' } });
  });

  it('is not longer than a timer can be', async () => {
    const error = await failure('select 1', { timeoutMs: 2 ** 31 });
    expect(error.details).toMatchObject({ field: 'timeoutMs' });
  });
});

describe.runIf(SHOWS_PROCESSES)('the process', () => {
  it.each(casesOf(HUGE, 1))('of %s is killed by an abort', async (sql) => {
    const controller = new AbortController();
    const asking = failure(sql, { signal: controller.signal, maxMemoryMib: 4_096 });
    await expect.poll(() => residentMib(process.pid)).toBeGreaterThan(300);
    controller.abort(new Error('enough'));
    const error = await asking;
    expect(error.code).toBe('aborted');
    expect(error.cause).toEqual(new Error('enough'));
    await expect.poll(() => queryProcesses(process.pid)).toEqual([]);
  });

  longTest('is killed when it takes more memory than it may', async () => {
    const error = await failure(HUGE[1] ?? '', { maxMemoryMib: 64 });
    expect(error.code).toBe('invalid_input');
    expect(error.details).toMatchObject({ option: 'maxMemoryMib', limit: 64 });
    expect(error.message).toMatch(/64 MiB.*maxMemoryMib.*--max-memory/);
  });

  it('has ended with its query', async () => {
    expect((await queryRuns(createMemoryStore(), 'select 1')).rows).toEqual([[1]]);
    await expect.poll(() => queryProcesses(process.pid)).toEqual([]);
  });

  it('that is killed by someone else fails the query', async () => {
    const asking = failure(ENDLESS, {});
    await expect.poll(() => queryProcesses(process.pid)).toHaveLength(1);
    process.kill(queryProcesses(process.pid)[0] ?? Number.NaN, 'SIGABRT');
    const error = await asking;
    expect(error.code).toBe('invalid_input');
    expect(error.message).toContain('SIGABRT');
  });
});

describe('the answer', () => {
  it('fails where it is larger than its limit', async () => {
    const sql = "select repeat('x', 100000) from range(100)";
    const error = await failure(sql, { maxResultMib: 5 });
    expect(error.code).toBe('invalid_input');
    expect(error.details).toMatchObject({ option: 'maxResultMib', limit: 5 });
    expect(error.message).toMatch(/5 MiB.*maxResultMib.*--max-result/);
    const { rows } = await queryRuns(createMemoryStore(), sql, { maxResultMib: 10 });
    const text = 'x'.repeat(100_000);
    expect(rows).toEqual(Array.from({ length: 100 }, () => [text]));
  });

  it('comes in parts, in order and whole, up to its last row', async () => {
    const sql = "select i, repeat('y', 100) from range(30000) t(i) order by i";
    const whole = await queryRuns(createMemoryStore(), sql, { maxRows: 30_000 });
    expect(whole.isCut).toBe(false);
    expect(whole.rows.map(([i]) => i)).toEqual(Array.from({ length: 30_000 }, (_, i) => i));
    const cut = await queryRuns(createMemoryStore(), sql, { maxRows: 29_999 });
    expect([cut.rows.length, cut.isCut]).toEqual([29_999, true]);
  });

  it('has its values as they are: dates, lists, structs, blobs, NaN, large integers', async () => {
    const { rows } = await queryRuns(
      createMemoryStore(),
      `select timestamp '2024-02-29 12:34:56.789', date '2024-02-29', [1.5, 'nan'::double, -0.0::double, null],
              {'a': {'b': [1]}}, ''::blob, 170141183460469231731687303715884105727::hugeint, map {'k': 1}, uuid '00000000-0000-0000-0000-000000000001'`,
    );
    expect(rows).toEqual([
      [
        '2024-02-29T12:34:56.789Z',
        '2024-02-29T00:00:00.000Z',
        [1.5, Number.NaN, -0, null],
        { a: { b: [1] } },
        new Uint8Array(),
        170141183460469231731687303715884105727n,
        [{ key: 'k', value: 1 }],
        '00000000-0000-0000-0000-000000000001',
      ],
    ]);
  });
});

it('says how to install DuckDB where it is not found', () => {
  const missing = (): string => {
    throw new Error("Cannot find package '@duckdb/node-api'");
  };
  expect(() => findDuckDb(missing)).toThrow(
    "Queries need the package @duckdb/node-api, which could not be loaded (Cannot find package '@duckdb/node-api'). " +
      'Install it with: npm install @duckdb/node-api',
  );
});
