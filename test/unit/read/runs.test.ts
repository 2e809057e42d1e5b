import { readDownsampling } from 'quark-sdk/analysis';
import { expect, test } from 'vitest';
import {
  createMemoryStore,
  listRuns,
  MetricsLogger,
  openRun,
  resumeRun,
  startRun,
} from 'quark-sdk';

test('a run record that cannot be read hides neither its run nor the others', async () => {
  const storage = createMemoryStore();
  const good = await startRun({ project: 'good', storage });
  await good.endRun();
  const bad = await startRun({ project: 'bad', tags: ['t'], storage });
  new MetricsLogger(bad).log('a', 1, { step: 0 });
  await bad.endRun();
  const stored = await storage.findRun(bad.runId);
  if (stored === undefined) throw new Error('the run is there');
  for (const document of ['{', '[]', '{"id":7}', stored.document.replace('"tags"', '"labels"')]) {
    const now = await storage.findRun(bad.runId);
    if (now === undefined) throw new Error('the run is there');
    expect((await storage.updateRun({ ...now, document })).kind).toBe('updated');
    const summaries = await listRuns(storage);
    expect(summaries).toHaveLength(2);
    expect(summaries.find((summary) => summary.run.id === good.runId)?.problem).toBeNull();
    const summary = summaries.find(({ run }) => run.id === bad.runId);
    expect(summary).toMatchObject({
      effectiveStatus: 'completed',
      run: { projectName: 'bad', tags: ['t'] },
    });
    expect(summary?.problem).toMatch(/run/);
    const reader = await openRun(storage, bad.runId);
    expect(reader.problem).toBe(summary?.problem);
    expect(await reader.readMetrics()).toHaveLength(1);
    await expect(resumeRun({ runId: bad.runId, storage })).rejects.toMatchObject({
      code: 'schema_validation',
    });
  }
});

test('archived runs are listed where they are asked for', async () => {
  const storage = createMemoryStore();
  const ids: string[] = [];
  for (const project of ['first', 'second']) {
    const session = await startRun({ project, storage });
    await session.endRun();
    ids.push(session.runId);
  }
  const [first = '', second = ''] = ids;
  await storage.archiveRun(first);
  const listed = async (archived?: boolean | 'any'): Promise<string[]> =>
    (await listRuns(storage, { archived })).map(({ run }) => run.id).toSorted();
  expect(await listed()).toEqual([second]);
  expect(await listed(false)).toEqual([second]);
  expect(await listed(true)).toEqual([first]);
  expect(await listed('any')).toEqual(ids.toSorted());
  // Statuses that only leases tell are filtered apart.
  expect(await listRuns(storage, { archived: true, statuses: ['running'] })).toEqual([]);
  const [summary] = await listRuns(storage, { archived: true });
  expect(summary?.archivedAtMs).toBeTypeOf('number');
  const reader = await openRun(storage, first);
  expect(reader.archivedAtMs).toBe(summary?.archivedAtMs);
  await storage.restoreRun(first);
  await reader.reload();
  expect(reader.archivedAtMs).toBeUndefined();
  expect(await listed()).toEqual(ids.toSorted());
  await expect(listRuns(storage, { archived: 'yes' as never })).rejects.toMatchObject({
    code: 'invalid_input',
    details: { field: 'archived' },
  });
});

test('whether a run was downsampled is asked of a store, not of a reader', async () => {
  const storage = createMemoryStore();
  const session = await startRun({ project: 'p', storage });
  await session.endRun();
  const reader: unknown = await openRun(storage, session.runId);
  expect(await readDownsampling(storage, session.runId)).toBeUndefined();
  await expect(Reflect.apply(readDownsampling, undefined, [reader])).rejects.toMatchObject({
    code: 'invalid_input',
    details: { field: 'store' },
  });
});
