/** Plain JSON of curves, and what must not be taken for it. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createMemoryStore } from '../../../../src/store/memory/memory-store.ts';
import { importRuns } from '../../../../src/exchange/import/import-runs.ts';
import { bytesInput } from '../../../../src/codecs/input.ts';
import { importText } from '../../../support/imported.ts';
import { damaged } from '../../../support/mutations.ts';
import { runs } from '../../../support/property.ts';

const KERAS = '{"loss": [0.9, 0.5, NaN], "val_loss": [1.0, null, 0.7], "lr": [0.1, 0.1, 0.01]}';

describe('JSON of curves', () => {
  test("is Keras' history: positions are epochs", async () => {
    const { report, runs: found } = await importText({ 'run7/history.json': KERAS });
    expect(report.problems).toEqual([]);
    expect(report.runs).toMatchObject([{ format: 'json', name: 'run7' }]);
    expect(found[0]?.metrics).toEqual({
      'train/loss': [
        [null, 0, 0.9],
        [null, 1, 0.5],
        [null, 2, Number.NaN],
      ],
      'val/loss': [
        [null, 0, 1],
        [null, 2, 0.7],
      ],
      'optimizer/lr': [
        [null, 0, 0.1],
        [null, 1, 0.1],
        [null, 2, 0.01],
      ],
    });
  });

  test('has counters wherever they stand, and the history in an object', async () => {
    const late = await importText({
      'a.json': '{"loss": [3, 2], "step": [10, 20], "epoch": [1, 1]}',
    });
    expect(late.runs[0]?.metrics).toEqual({
      'train/loss': [
        [10, 1, 3],
        [20, 1, 2],
      ],
    });
    const inner = await importText({ 'a.json': '{"history": {"loss": [3, 2]}}' });
    expect(inner.runs[0]?.metrics).toEqual({
      'train/loss': [
        [null, 0, 3],
        [null, 1, 2],
      ],
    });
  });

  test('is a list of objects, with runs that begin again', async () => {
    const rows = [1, 2, 1, 2].map((step, i) => ({
      step,
      loss: i,
      nested: { acc: i / 10 },
      note: 'x',
    }));
    const { report, runs: found } = await importText({ 'rows.json': JSON.stringify(rows) });
    expect(report.runs.map(({ name }) => name)).toEqual(['rows', 'rows#2']);
    expect(found[1]?.metrics).toEqual({
      'train/loss': [
        [1, null, 2],
        [2, null, 3],
      ],
      'nested/acc': [
        [1, null, 0.2],
        [2, null, 0.3],
      ],
    });
  });

  test('may be far longer than its beginning', async () => {
    const loss = Array.from({ length: 100_000 }, (_, i) => i / 8);
    const { runs: found } = await importText({
      'h.json': JSON.stringify({ loss, val_loss: loss }),
    });
    expect(found[0]?.metrics['val/loss']?.[99_999]).toEqual([null, 99_999, 12_499.875]);
  });

  test.each([
    ['settings', '{"name": "x", "version": "1.0", "betas": [0.9, 0.99]}'],
    ['a list of settings', '{"betas": [0.9, 0.99], "sizes": [1, 2, 3]}'],
    ['one object', '[{"lr": 0.1}]'],
    ['texts', '["a", "b"]'],
    ['numbers', '[1, 2, 3]'],
    ['nothing', '{}'],
    ['no JSON', '{"loss": [1, 2'],
  ])('is not %s', async (_, text) => {
    const { report } = await importText({ 'x.json': text });
    expect(report).toMatchObject({ runs: [], unknownFiles: ['x.json'] });
  });

  test('any damage ends, and is told', async () => {
    const inputs = [
      { 'history.json': KERAS },
      { 'rows.json': JSON.stringify([1, 2, 3].map((step) => ({ step, loss: 1 / step }))) },
      {
        'trainer_state.json':
          '{"best": 1, "log_history": [{"step": 1, "loss": 2}, {"step": 2, "loss": 1}]}',
      },
    ];
    await fc.assert(
      fc.asyncProperty(damaged(inputs), async (files) => {
        const { report } = await importText(files);
        expect(
          report.runs.length + report.problems.length + report.unknownFiles.length,
        ).toBeGreaterThan(0);
      }),
      runs(2000),
    );
  }, 120_000);
});

test('other options read other rows, which are another run', async () => {
  const store = createMemoryStore();
  const files = [bytesInput('t.csv', 'n,step,loss\n1,10,0.5\n2,20,0.25\n')];
  const plain = await importRuns(files, store);
  const mapped = await importRuns(files, store, { columns: { step: 'n' } });
  const named = await importRuns(files, store, { keyRules: [{ name: 'loss', key: 'val/loss' }] });
  const again = await importRuns(files, store, { columns: { step: 'n' } });
  const ids = [plain, mapped, named].map(({ runs: [run] }) => run?.runId);
  expect(new Set(ids).size).toBe(3);
  expect(again.runs).toMatchObject([{ runId: ids[1], isNew: false }]);
});
