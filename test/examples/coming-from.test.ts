/** The conditions that docs/coming-from.md names, run as they stand there: each finds the run that it describes. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  createMemoryStore,
  findRuns,
  MetricsLogger,
  startRun,
  type FindRunsQuery,
  type Store,
} from 'quark-sdk';

const page = readFileSync(new URL('../../docs/coming-from.md', import.meta.url), 'utf8');
const store: Store = createMemoryStore();

beforeAll(async () => {
  for (const [name, lr, last] of [
    ['base', 0.01, 0.2],
    ['other', 0.5, 0.9],
  ] as const) {
    const session = await startRun({
      project: 'digits',
      name,
      storage: store,
      handleSignals: false,
      config: { lr, optimizer: lr < 0.1 ? 'adam' : 'sgd' },
      groups: lr < 0.1 ? ['idea_4573'] : [],
      tags: lr < 0.1 ? ['workers=8', 'keep'] : ['workers=2'],
    });
    new MetricsLogger(session).log('val/loss', last, { step: 0 });
    await session.endRun(lr < 0.1 ? 'completed' : 'failed');
    await session.close();
  }
});
afterAll(() => store.close());

const queries = [...page.matchAll(/`findRuns\(store, (\{[^`]*\})\)`/g)].map(
  ([, text = '']) => text,
);

test('the page has conditions for users of W&B, MLflow, Aim and Track', () => {
  expect(queries.length).toBeGreaterThanOrEqual(10);
});

test.each(queries)('findRuns(store, %s)', async (text) => {
  // Written as JavaScript: names without quotes, texts in single ones.
  const json = text.replace(/(\$?\w+)(?=:)/g, '"$1"').replace(/'/g, '"');
  const query = JSON.parse(json) as FindRunsQuery;
  const found = await findRuns(store, query);
  expect(found.map(({ run }) => run.name)).toEqual(['base']);
});
