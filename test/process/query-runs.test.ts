import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createMemoryStore,
  EventLogger,
  isQuarkError,
  listRuns,
  MetricsLogger,
  TrainingSession,
  type Store,
} from 'quark-sdk';
import { queryRuns } from 'quark-sdk/node';
import { TABLES } from '../../src/records/tables.ts';
import { loadDuckDb } from '../../src/query/duckdb.ts';
import { layerRow, writeProbeRows } from '../support/probe-rows.ts';
import { runs } from '../support/property.ts';
import { casesOf, longTest } from '../support/long.ts';

async function recorded(
  project: string,
  write: (metrics: MetricsLogger, events: EventLogger) => void,
  store: Store = createMemoryStore(),
): Promise<{ store: Store; runId: string }> {
  const session = await TrainingSession.startRun({
    project,
    config: { optimizer: { rate: 0.01 } },
    tags: ['a', 'b'],
    storage: store,
    handleSignals: false,
  });
  write(new MetricsLogger(session), new EventLogger(session));
  await session.endRun('completed');
  return { store, runId: session.runId };
}

const refusal = (asking: Promise<unknown>): Promise<unknown> =>
  asking.then(
    (result) => expect.unreachable(`It was answered: ${JSON.stringify(result)}`),
    (error: unknown) => error,
  );

describe('queryRuns', () => {
  longTest('has every table of the records, with its fields and types', async () => {
    const { store } = await recorded('p', () => undefined);
    // Each query has a process, so that all tables are one.
    const names = [...TABLES.keys()];
    const all = await queryRuns(
      store,
      names
        .map((name) => `select '${name}', column_name from (describe ${name}) t(column_name)`)
        .join(' union all '),
    );
    for (const [name, table] of TABLES)
      expect(all.rows.filter(([of]) => of === name).map(([, column]) => column)).toEqual([
        ...table.storedNames.values(),
      ]);
    const { rows } = await queryRuns(store, 'describe metrics');
    const described = [
      'run_id VARCHAR',
      'sequence BIGINT',
      'timestamp TIMESTAMP',
      'metric_key VARCHAR',
      'namespace VARCHAR',
      'metric_name VARCHAR',
      'value DOUBLE',
      'step BIGINT',
      'epoch BIGINT',
      'description VARCHAR',
      'metadata JSON',
    ].map((line) => line.split(' '));
    expect(rows.map((row) => row.slice(0, 2))).toEqual(described);
  });

  it('keeps every number to the bit, and tells missing from NaN', async () => {
    const number = fc.oneof(
      fc.double(),
      fc.constantFrom(Number.NaN, Infinity, -Infinity, -0, Number.MIN_VALUE),
    );
    const place = fc.maxSafeNat();
    const row = fc.tuple(number, fc.option(place));
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 90 }), async (all) => {
        const { store, runId } = await recorded('p', (metrics) => {
          for (const [value, step] of all)
            metrics.log('train/loss', value, step === null ? { epoch: 1 } : { step });
        });
        const { rows, columns } = await queryRuns(
          store,
          'select value, step, run_id, sequence from metrics order by sequence',
        );
        expect(columns.map(({ type }) => type)).toEqual(['DOUBLE', 'BIGINT', 'VARCHAR', 'BIGINT']);
        expect(rows).toHaveLength(all.length);
        for (const [at, [value, step]] of all.entries()) {
          expect(Object.is(rows[at]?.[0], value)).toBe(true);
          expect(rows[at]?.slice(1)).toEqual([step, runId, at]);
        }
      }),
      runs(8),
    );
  });

  it('answers over many runs, with joins, JSON, lists and times', async () => {
    const store = createMemoryStore();
    for (const [at, project] of ['digits', 'speech'].entries()) {
      await recorded(
        project,
        (metrics, events) => {
          for (let step = 0; step < 5000; step += 1)
            metrics.log('train/loss', 2 - step / 10_000 + at, {
              step,
              epoch: Math.floor(step / 1000),
            });
          events.log('user_log', {
            severity: 'warning',
            step: 7,
            payload: { message: 'Ünïcode 💡' },
          });
        },
        store,
      );
    }
    const best = await queryRuns(
      store,
      `select project_name, min(value) as best, count(*) as points, max(epoch) as epochs,
              json_extract(config, '$.optimizer.rate') as rate, tags, started_at
       from metrics join runs on runs.id = run_id group by all order by best`,
    );
    expect(best.columns.map(({ name }) => name)).toEqual([
      'project_name',
      'best',
      'points',
      'epochs',
      'rate',
      'tags',
      'started_at',
    ]);
    const started = (await listRuns(store)).map(({ run }) => run.startedAt).toSorted();
    expect(best.rows.map((row) => row.slice(0, 6))).toEqual([
      ['digits', 2 - 0.4999, 5000, 4, '0.01', ['a', 'b']],
      ['speech', 3 - 0.4999, 5000, 4, '0.01', ['a', 'b']],
    ]);
    expect(best.rows.map((row) => row[6])).toEqual(started);
    expect(
      (
        await queryRuns(
          store,
          "select payload->>'message' from events where event_type = 'user_log'",
        )
      ).rows,
    ).toEqual([['Ünïcode 💡'], ['Ünïcode 💡']]);
    const [run] = await listRuns(store);
    const one = await queryRuns(store, 'select distinct run_id from metrics', {
      runIds: [run?.run.id ?? ''],
    });
    expect(one.rows).toEqual([[run?.run.id]]);
    expect(
      (await queryRuns(store, 'select id, effective_status, is_live from runs')).rows.map((row) =>
        row.slice(1),
      ),
    ).toEqual([
      ['completed', false],
      ['completed', false],
    ]);
    const cut = await queryRuns(store, 'select step from metrics order by step', { maxRows: 3 });
    expect([cut.rows.length, cut.isCut]).toEqual([3, true]);
    // A table that is named by text alone is there as well.
    expect(
      (await queryRuns(store, "select count(*) from query_table('met' || 'rics')")).rows,
    ).toEqual([[10_000]]);
  });

  it('has the parts of keys', async () => {
    const { store } = await recorded('p', (metrics) => {
      for (const key of ['loss', 'train/loss', 'a/b/c']) metrics.log(key, 1, { step: 1 });
    });
    const { rows } = await queryRuns(
      store,
      'select metric_key, namespace, metric_name from metrics',
    );
    expect(rows).toEqual([
      ['loss', null, 'loss'],
      ['train/loss', 'train', 'loss'],
      ['a/b/c', 'a/b', 'c'],
    ]);
  });

  it('has what probes recorded', async () => {
    const store = createMemoryStore();
    const session = await TrainingSession.startRun({
      project: 'layers',
      config: {},
      storage: store,
      handleSignals: false,
    });
    await writeProbeRows(session, {
      layers: [layerRow({ moduleName: 'conv', step: 3, mean: Number.NaN })],
      parameters: [],
      distributions: [],
    });
    await session.endRun('completed');
    const { rows } = await queryRuns(store, 'select module_name, step, mean from layer_summaries');
    expect(rows).toEqual([['conv', 3, Number.NaN]]);
  });

  it('gives large integers as they are', async () => {
    const { store } = await recorded('p', () => undefined);
    const { rows } = await queryRuns(
      store,
      `select 9007199254740993, 12, 1.50::decimal(5, 2), interval 3 day, {'a': [1, null]}, null, true, 'x'::blob`,
    );
    expect(rows).toEqual([
      [
        9007199254740993n,
        12,
        1.5,
        { months: 0, days: 3, micros: 0 },
        { a: [1, null] },
        null,
        true,
        Uint8Array.of(120),
      ],
    ]);
  });

  describe('is closed to the outside', () => {
    let store: Store;
    let root: string;
    beforeAll(async () => {
      ({ store } = await recorded('p', (metrics) => metrics.log('loss', 1, { step: 1 })));
      root = await mkdtemp(join(tmpdir(), 'quark-query-'));
      await writeFile(join(root, 'secret.csv'), 'a\n1\n');
    });
    afterAll(() => rm(root, { recursive: true, force: true }));

    it.each(
      casesOf(
        [
          (path: string) => `select * from read_csv('${path}')`,
          (path: string) => `copy metrics to '${path}.out'`,
          (path: string) => `attach '${path}.db' as other`,
          () => 'install httpfs',
          () => 'set enable_external_access = true',
          () => "select * from read_csv('https://127.0.0.1:9/x.csv')",
          () => 'drop table metrics',
          () => 'select 1; select 2',
          () => 'select missing from metrics',
          (path: string) => `select * from '${path}'`,
          (path: string) => `select content from read_text('${path}')`,
          (path: string) => `select * from glob('${path}*')`,
          (path: string) => `from query('select * from read_csv(''${path}'')')`,
          () => 'load httpfs',
          () => 'set lock_configuration = false',
          () => 'pragma enable_external_access',
          () => 'create table x (a int)',
          () => 'selec value from metrics',
        ],
        4,
      ),
    )('refuses %s', async (make) => {
      const error = await refusal(queryRuns(store, make(join(root, 'secret.csv'))));
      expect(isQuarkError(error, 'invalid_input')).toBe(true);
    });

    it('ends when it is asked to', async () => {
      const controller = new AbortController();
      const asking = refusal(
        queryRuns(store, 'select count(*) from range(1000000) a, range(1000000) b', {
          signal: controller.signal,
        }),
      );
      // The question is under way once its tables are filled; to abort before that ends it as well.
      setTimeout(() => controller.abort(), 0);
      expect(isQuarkError(await asking, 'aborted')).toBe(true);
    });
  });

  it('refuses what makes no sense before it opens a database', async () => {
    const { store } = await recorded('p', () => undefined);
    const field = async (asking: Promise<unknown>): Promise<unknown> => {
      const error = await refusal(asking);
      return isQuarkError(error, 'invalid_input') ? error.details['field'] : error;
    };
    expect(await field(queryRuns(store, '  '))).toBe('sql');
    expect(await field(queryRuns(store, 'select 1', { maxRows: 0 }))).toBe('maxRows');
    // @ts-expect-error -- no such option
    expect(await field(queryRuns(store, 'select 1', { rows: 1 }))).toBe('options.rows');
  });

  it('says how to install the package where it is missing', async () => {
    const error = await refusal(loadDuckDb(() => Promise.reject(new Error('Cannot find package'))));
    expect(error).toMatchObject({
      code: 'unsupported',
      details: { install: 'npm install @duckdb/node-api' },
    });
    expect(isQuarkError(await refusal(loadDuckDb(async () => ({}))), 'unsupported')).toBe(true);
  });
});
