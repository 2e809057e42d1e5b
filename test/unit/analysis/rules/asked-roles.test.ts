/** Roles that somebody gives: in settings, with a run, with an import. */
import { expect, test } from 'vitest';
import { createMemoryStore, openRun, startRun, MetricsLogger } from 'quark-sdk';
import { AnalyzerEngine, loadRunColumns, PhaseAnalyzer, sayRoles } from 'quark-sdk/analysis';
import { importRuns } from 'quark-sdk/exchange';

const csv = (): File =>
  new File(
    [
      [
        'step,objective,other',
        ...Array.from({ length: 60 }, (_, i) => `${i},${3 - i / 30},${1 + (i % 2)}`),
      ].join('\n'),
    ],
    'run.csv',
  );
const inputOf = (file: File) => ({
  path: file.name,
  sizeBytes: file.size,
  modifiedAtMs: 0,
  slice: async (from: number, to: number) =>
    new Uint8Array(await file.slice(from, to).arrayBuffer()),
  stream: async function* () {
    yield new Uint8Array(await file.arrayBuffer());
  },
});

test('an import remembers roles, and says which metric is not there', async () => {
  const store = createMemoryStore();
  const roles = { trainLoss: 'other', valLoss: 'nothing' };
  const { problems, runs } = await importRuns([inputOf(csv())], store, { roles });
  expect(problems.map(({ reason }) => reason).join()).toMatch(
    /no metric "nothing" for the role valLoss; it has: /u,
  );
  const reader = await openRun(store, runs[0]?.runId ?? '');
  expect((await loadRunColumns(reader)).run.roles).toEqual({ trainLoss: 'other' });
  const { roles: found } = await new AnalyzerEngine(reader).analyze({ persist: false });
  expect(found.trainLoss).toMatchObject({ keys: ['other'], sureness: 'asked' });
});

test('an analysis takes roles, remembers them, and refuses those of no metric', async () => {
  const store = createMemoryStore();
  const { runs } = await importRuns([inputOf(csv())], store);
  const runId = runs[0]?.runId ?? '';
  const asked = new AnalyzerEngine(await openRun(store, runId), { roles: { trainLoss: 'other' } });
  const first = await asked.analyze({ persist: false });
  expect(sayRoles(first.roles)).toBe('other as training loss (asked)');
  expect((await loadRunColumns(await openRun(store, runId))).run.roles).toEqual({});
  await asked.analyze();
  const again = await new AnalyzerEngine(await openRun(store, runId)).analyze({ persist: false });
  expect(again.roles.trainLoss?.keys).toEqual(['other']);
  expect(again.toDict()).toMatchObject({
    roles: { train_loss: { keys: ['other'], sureness: 'asked' } },
  });
  const reader = await openRun(store, runId);
  for (const roles of [{ trainLoss: 'lost' }, { reward: 'lost' }]) {
    const rule =
      /config\.roles\.(trainLoss|reward) must be a metric of the run: objective, other; got "lost"/u;
    await expect(new AnalyzerEngine(reader, { roles }).analyze()).rejects.toThrow(rule);
    await expect(new PhaseAnalyzer(reader, { roles }).analyze()).rejects.toThrow(rule);
  }
  expect(() => new AnalyzerEngine(reader, { roles: { valLoss: '' } })).toThrow(
    /config\.roles\.valLoss/u,
  );
  expect(() => new AnalyzerEngine(reader, { roles: { valLoss: 'a', trainLoss: 'a' } })).toThrow(
    /no other role/u,
  );
});

test('a session gives roles to metrics that it has yet to log', async () => {
  const store = createMemoryStore();
  const session = await startRun({
    project: 'p',
    storage: store,
    roles: { trainLoss: 'energy', reward: null },
  });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 40; step++) metrics.log('energy', 5 - step / 10, { step });
  for (let step = 0; step < 40; step++) metrics.log('reward', step, { step });
  const { roles } = await new AnalyzerEngine(session).analyze();
  expect(sayRoles(roles)).toBe('energy as training loss (asked)');
  await session.close();
  await expect(
    startRun({ project: 'p', storage: store, roles: { trainLoss: '' } }),
  ).rejects.toThrow(/roles\.trainLoss/u);
});
