/** Rows over HTTP: what the exports and readers give, as one stream. */
import { tableFromIPC } from 'apache-arrow';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exportTableJsonLines } from '../../src/exchange/export/table-export.ts';
import type { TableName } from '../../src/exchange/export/table-names.ts';
import { readMetricColumns } from '../../src/read/metric-columns.ts';
import { TABLES } from '../../src/records/tables.ts';
import { concatBatches } from '../../src/segment/batch-ops.ts';
import { decodeBatches } from '../../src/segment/decode.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { Store } from '../../src/store/store.ts';
import { valuesOf } from '../support/batches.ts';
import { runs } from '../support/property.ts';
import { metricSegmentOf } from '../support/real-segments.ts';
import { allRows, recordRun, validBatch } from '../support/recorded-run.ts';
import { RUN_ID, runOf } from '../support/segments.ts';
import { handlerOf } from './filled-store.ts';

function ask(store: Store, runId: string, table: string, query = ''): Promise<Response> {
  const path = `http://127.0.0.1/api/v1/runs/${runId}/tables/${table}/rows${query}`;
  return handlerOf(store)(new Request(path));
}

async function text(answer: Promise<Response>): Promise<string> {
  const response = await answer;
  expect(response.status).toBe(200);
  return response.text();
}

/** Two keys in turn, 20 batches of 10 rows. */
async function withMetrics(batches = 20): Promise<Store> {
  const store = createMemoryStore();
  await store.createRun(runOf());
  for (let i = 0; i < batches; i++)
    await store.appendSegments([
      metricSegmentOf(i, { key: i % 2 === 0 ? 'train/loss' : 'val/acc' }),
    ]);
  return store;
}

describe('rows over HTTP', () => {
  it('are all rows of every table, in Arrow and as JSON lines', async () => {
    for (const table of TABLES.values()) {
      await fc.assert(
        fc.asyncProperty(fc.array(validBatch(table, 9), { maxLength: 4 }), async (batches) => {
          const store = createMemoryStore();
          const reader = await recordRun([[table.table, batches]], store);
          const expected = await allRows(reader, table);

          const arrow = await ask(store, reader.run.id, table.table);
          expect(arrow.headers.get('content-type')).toBe('application/vnd.apache.arrow.stream');
          const bytes = new Uint8Array(await arrow.arrayBuffer());
          const rows = concatBatches(decodeBatches(table, bytes));
          expect(rows.rowCount).toBe(expected.rowCount);
          for (const [name, column] of expected.columns)
            expect(valuesOf(rows.columns.get(name), rows.rowCount), name).toEqual(
              valuesOf(column, expected.rowCount),
            );
          const foreign = tableFromIPC(bytes);
          expect(foreign.numRows).toBe(expected.rowCount);
          expect(Array.from(foreign.getChild('sequence') ?? [])).toEqual(
            valuesOf(expected.columns.get('sequence'), expected.rowCount),
          );

          let lines = '';
          for await (const piece of exportTableJsonLines(reader, table.table as TableName))
            lines += piece;
          expect(await text(ask(store, reader.run.id, table.table, '?format=jsonl'))).toBe(lines);
        }),
        runs(3),
      );
    }
  });

  it('of several batches are read by another implementation of Arrow', async () => {
    const store = await withMetrics(3);
    // Large segments are batches of their own, with dictionaries of their own.
    await store.appendSegments([
      metricSegmentOf(50, { rowCount: 65_000, key: 'third' }),
      metricSegmentOf(51, { rowCount: 65_000, key: 'fourth' }),
    ]);
    const response = await ask(store, RUN_ID, 'metrics');
    const table = tableFromIPC(new Uint8Array(await response.arrayBuffer()));
    expect(table.batches.length).toBeGreaterThan(1);
    const keys = Array.from(table.getChild('metric_key') ?? [], String);
    expect([keys[0], keys[10], keys[29], keys[30], keys[65_030]]).toEqual([
      'train/loss',
      'val/acc',
      'train/loss',
      'third',
      'fourth',
    ]);
  });

  it('match what is asked for, as readers match', async () => {
    const store = await withMetrics();
    const bound = fc.option(fc.nat(220), { nil: undefined });
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          stepMin: bound,
          stepMax: bound,
          sequenceMin: bound,
          limit: fc.option(fc.integer({ min: 1, max: 230 }), { nil: undefined }),
          metricKey: fc.constantFrom(undefined, 'train/loss', 'none'),
          namespace: fc.constantFrom(undefined, 'val'),
          metricName: fc.constantFrom(undefined, 'acc', 'loss'),
        }),
        async (filter) => {
          fc.pre((filter.stepMin ?? 0) <= (filter.stepMax ?? 1_000));
          const expected = await readMetricColumns({ store, runId: RUN_ID }, filter);
          const query = new URLSearchParams({ format: 'jsonl' });
          for (const [name, value] of Object.entries(filter))
            if (value !== undefined)
              query.set(
                name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`),
                String(value),
              );
          const lines = (await text(ask(store, RUN_ID, 'metrics', `?${query.toString()}`)))
            .split('\n')
            .filter((line) => line !== '')
            .map((line) => JSON.parse(line) as { sequence: number; metric_key: string });
          expect(lines.map((line) => line.sequence)).toEqual([...expected.sequences]);
          expect(lines.map((line) => line.metric_key)).toEqual(
            [...expected.keyIndex].map((at) => expected.keys[at]),
          );
        },
      ),
      runs(100),
    );
  });

  it.each([
    ['metrics', '?format=csv', 'format'],
    ['metrics', '?step_min=x', 'step_min'],
    ['metrics', '?step_min=-1', 'step_min'],
    ['metrics', '?step_min=5&step_max=4', 'stepMin'],
    ['metrics', '?limit=0', 'limit'],
    ['metrics', '?limit=2000000', 'limit'],
    ['metrics', '?metrickey=a', 'metrickey'],
    ['metrics', '?metric_key=a&metric_key=b', 'metric_key'],
    ['metrics', '?damaged=maybe', 'damaged'],
    ['metrics', '?__proto__=1', '__proto__'],
    ['metrics', '?run_id=1', 'run_id'],
    ['nothing', '', 'table'],
  ])('of %s with %s are refused, naming %s', async (table, query, field) => {
    const response = await ask(await withMetrics(1), RUN_ID, table, query);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: 'invalid_input', details: { field } });
  });

  it('of a run that is not there are none', async () => {
    expect((await ask(createMemoryStore(), 'nobody', 'metrics')).status).toBe(404);
  });

  it('break off at damage unless it is to be passed over', async () => {
    const whole = await withMetrics(3);
    const damaged: Store = Object.assign(Object.create(whole) as Store, {
      listSegments: whole.listSegments.bind(whole),
      findRun: whole.findRun.bind(whole),
      readSegments: async (asked: Parameters<Store['readSegments']>[0]) => {
        const reads = await whole.readSegments(asked);
        return reads.map((read, i) => (i === 1 ? { kind: 'damaged', reason: 'short' } : read));
      },
    });
    const failures: unknown[] = [];
    const handler = handlerOf(damaged, { onFailure: (error) => failures.push(error) });
    const rows = (query: string): Promise<Response> =>
      handler(new Request(`http://127.0.0.1/api/v1/runs/${RUN_ID}/tables/metrics/rows${query}`));
    expect((await rows('?format=jsonl')).status).toBe(500);
    // Arrow alike: what is wrong before the first rows has a status, too.
    expect((await rows('')).status).toBe(500);
    expect(failures).toHaveLength(2);
    const rest = await text(rows('?format=jsonl&damaged=skip'));
    expect(rest.split('\n')).toHaveLength(21);
  });

  it('that nobody reads on are not made', async () => {
    const store = createMemoryStore();
    await store.createRun(runOf());
    for (let i = 0; i < 5; i++)
      await store.appendSegments([metricSegmentOf(i, { rowCount: 65_536 })]);
    let reads = 0;
    const counted: Store = Object.assign(Object.create(store) as Store, {
      listSegments: store.listSegments.bind(store),
      findRun: store.findRun.bind(store),
      readSegments: (asked: Parameters<Store['readSegments']>[0]) => {
        reads += 1;
        return store.readSegments(asked);
      },
    });
    const response = await ask(counted, RUN_ID, 'metrics');
    const reader = response.body!.getReader();
    await reader.read();
    await reader.read();
    expect(reads).toBe(1);
    await reader.cancel();
    expect(reads).toBe(1);
  });
});
