import { expect, test } from 'vitest';
import { bytesInput, importRuns, type ImportReport } from 'quark-sdk/exchange';
import { createMemoryStore, openRun, type Store } from 'quark-sdk';

const ROWS = 200;

/** A table whose steps begin at `first`; with steps that are none, which are told when its run is complete. */
function table(path: string, { badSteps = 0, first = 0, tail = '' } = {}) {
  const rows = Array.from({ length: ROWS }, (_, i) =>
    i < badSteps ? `-${i + 1},${i}` : `${first + i},${Math.sin(i)}`,
  );
  return bytesInput(path, `step,loss\n${rows.join('\n')}\n${tail}`);
}

const files = [
  table('runs/a.csv', { badSteps: 3 }),
  table('runs/b.csv', { tail: 'x,y,z\n' }),
  table('runs/b.csv', { tail: 'x,y,z\n' }),
  bytesInput('runs/empty.csv', 'step,loss\n'),
  table('runs/c.csv', { badSteps: 1, first: 100 }),
  table('runs/d.csv'),
];

/** Every completion takes longer than the reading of the files after it; the first takes longest. */
function slow(): Store {
  const store = createMemoryStore();
  let waitMs = 40;
  const updateRun: Store['updateRun'] = async (change) => {
    waitMs -= 5;
    await new Promise((resolve) => {
      setTimeout(resolve, waitMs);
    });
    return store.updateRun(change);
  };
  return new Proxy(store, {
    get(target, name): unknown {
      if (name === 'updateRun') return updateRun;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

async function columnsOf(store: Store, { runs }: Pick<ImportReport, 'runs'>) {
  return Promise.all(
    runs.map(async ({ runId }) => {
      const { steps, values } = await (await openRun(store, runId)).readMetricColumns();
      return { steps, values };
    }),
  );
}

test('files that are read while those before are completed have the ids, order, problems and rows of files one after another', async () => {
  const store = slow();
  const counts: number[] = [];
  const together = await importRuns(files, store, {
    onProgress: ({ runCount }) => counts.push(runCount),
  });
  const single = createMemoryStore();
  const alone: ImportReport[] = [];
  for (const file of files) alone.push(await importRuns([file], single));
  expect(together.runs).toEqual(alone.flatMap(({ runs }) => runs));
  expect(together.runs.map(({ isNew }) => isNew)).toEqual([true, true, false, true, true]);
  expect(together.problems).toEqual(alone.flatMap(({ problems }) => problems));
  expect(together.problems.length).toBeGreaterThan(3);
  expect(await columnsOf(store, together)).toEqual(await columnsOf(single, together));
  expect(counts).toEqual(counts.toSorted((a, b) => a - b));
  expect(counts.at(-1)).toBe(together.runs.length);
});

test('a store that fails while a run is completed ends the import with its error', async () => {
  const store = createMemoryStore();
  const failing = new Proxy(store, {
    get(target, name): unknown {
      if (name === 'updateRun') return () => Promise.reject(new Error('the disk is gone'));
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  await expect(importRuns(files, failing)).rejects.toThrow('the disk is gone');
  const again = await importRuns(files, store);
  expect(again.runs.every(({ isComplete }) => isComplete)).toBe(true);
});
