/** `quark views`: listing, exporting, importing and removing saved views. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStorage, startRun } from 'quark-sdk';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { saveView } from '../../src/workspace.ts';
import { quark } from './fake-io.ts';

const folder = mkdtempSync(join(tmpdir(), 'quark-views-'));
const run = (...args: string[]): ReturnType<typeof quark> => quark(args, { cwd: folder });

beforeAll(async () => {
  const session = await startRun({ project: 'digits', storageDir: folder });
  await session.endRun();
  await session.close();
  const store = await openStorage(folder);
  const panels = [{ metrics: ['train/loss'], formulas: ['val/loss - train/loss'] }];
  await saveView(store, {
    project: 'digits',
    name: 'Losses',
    sections: [{ title: 'Loss', panels }],
  });
  await store.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('a view goes out as a file, comes back under another name, is chosen and removed', async () => {
  expect((await run('views', 'digits')).stdout).toMatch(/^VIEW .*\nLosses +- /);
  expect(await run('views', 'digits', 'Losses', '--export', 'out.json')).toMatchObject({ code: 0 });
  const out = JSON.parse(readFileSync(join(folder, 'out.json'), 'utf8')) as object;
  expect(out).toMatchObject({ name: 'Losses', sections: [{ title: 'Loss' }] });
  expect((await run('views', 'digits', 'Mine', '--import', 'out.json')).stdout).toBe(
    'Saved Mine.\n',
  );
  expect(await run('views', 'digits', 'Mine', '--import', 'out.json', '--private')).toMatchObject({
    code: 0,
  });
  expect((await run('views', 'digits')).stdout).toMatch(/Mine +- +you .*\nMine +- +all /);
  expect(await run('views', 'digits', 'Mine', '--rm')).toMatchObject({ code: 0 });
  expect((await run('views', 'digits')).stdout).not.toContain(' you ');
  expect(await run('views', 'digits', 'Mine', '--default')).toMatchObject({ code: 0 });
  const { stdout } = await run('views', 'digits', '--json');
  expect(JSON.parse(stdout)).toMatchObject([
    { name: 'Losses', default: false, revision: 1 },
    { name: 'Mine', default: true },
  ]);
  expect(await run('views', 'digits', 'Mine', '--rm')).toMatchObject({ code: 0 });
  expect((await run('views', 'digits', 'Mine', '--rm')).stderr).toContain('has no view "Mine"');
  expect(JSON.parse((await run('views', 'digits', '--json')).stdout)).toHaveLength(1);
});

test('options that contradict each other, and a view that is none, are refused', async () => {
  expect(await run('views', 'digits', 'Losses', '--rm', '--default')).toMatchObject({ code: 2 });
  expect(await run('views', 'digits', 'Losses')).toMatchObject({ code: 2 });
  expect(await run('views', 'digits', '--rm')).toMatchObject({ code: 2 });
  expect(await run('views', 'digits', '--private')).toMatchObject({ code: 2 });
  const missing = await run('views', 'nobody', '--import', 'out.json');
  expect(missing.stderr).toContain('There is no project "nobody"');
});
