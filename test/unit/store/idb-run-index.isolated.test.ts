/** Questions about the runs of a database are answered from memory, and see what other tabs change. */
import 'fake-indexeddb/auto';
import { expect, test } from 'vitest';
import { findRunIds, findRunRows } from '../../../src/read/finding/run-table.ts';
import { openIdbStorage } from '../../../src/store/idb/idb-store.ts';
import { runOf } from '../../support/segments.ts';

const nameOf = (name: string): { readonly document: string } => ({
  document: JSON.stringify({ name }),
});

test('a page gets the newest rows before all runs are read, and later answers have each change of another tab', async () => {
  const uri = 'idb:run-index';
  const writer = await openIdbStorage(uri);
  for (let i = 0; i < 450; i++)
    await writer.createRun(runOf({ id: `r${i}`, startedAtMs: i, ...nameOf(`n${i}`) }));
  await writer.archiveRun('r449');

  // Counts the archived runs, for the next page.
  const first = await openIdbStorage(uri);
  expect(await findRunIds(first, { where: 'name ~ "n44%"' })).toMatchObject({ total: 10 });
  const newest = { ids: ['r448', 'r447'], total: 449 };
  for (const list of ['active', 'archived', 'any'] as const) {
    const page = await openIdbStorage(uri);
    const cold = await findRunRows(page, { list, limit: 2 });
    const warm = await findRunRows(page, { list, limit: 2 });
    expect(cold).toEqual(warm);
    if (list === 'active')
      expect({ ids: cold.rows.map(({ id }) => id), total: cold.total }).toEqual(newest);
    await page.close();
  }

  const names = async (): Promise<readonly (string | null)[]> => {
    const orderBy = [{ by: 'name', direction: 'descending' as const }];
    return (await findRunRows(first, { orderBy, limit: 3 })).rows.map(({ name }) => name);
  };
  expect(await names()).toEqual(['n99', 'n98', 'n97']);
  const run = (await writer.findRun('r7')) ?? expect.fail('no run');
  await writer.updateRun({ ...run, ...nameOf('z') });
  await writer.deleteRun('r99');
  expect(await names()).toEqual(['z', 'n98', 'n97']);
  await writer.restoreRun('r99');
  await writer.archiveRun('r98');
  expect(await names()).toEqual(['z', 'n99', 'n97']);
  // More changes than are remembered one by one.
  for (let i = 450; i < 550; i++)
    await writer.createRun(runOf({ id: `r${i}`, startedAtMs: i, ...nameOf(`zz${i}`) }));
  expect(await names()).toEqual(['zz549', 'zz548', 'zz547']);
  const all = await writer.notes?.list('');
  expect(all).toEqual([]);
  await Promise.all([first.close(), writer.close()]);
});
