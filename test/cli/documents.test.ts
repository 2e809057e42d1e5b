/** `quark views` and `quark reports`: documents of a project, listed, made of files, exported, removed. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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

test('a report is made of a file, shown, exported, removed and restored', async () => {
  expect((await run('reports', 'digits')).stdout).toBe('No reports.\n');
  writeFileSync(join(folder, 'found.md'), '# What *we* found\n\nSmall rates <b>win</b>.\n');
  expect((await run('reports', 'digits', '--new', 'found.md')).stdout).toMatch(
    /^Saved What we found as report_/,
  );
  expect((await run('reports', 'digits')).stdout).toMatch(/^REPORT .*\nWhat we found +report_/);
  expect((await run('reports', 'digits', 'What we found')).stdout).toBe(
    '# What we found\n\nSmall rates &lt;b&gt;win&lt;/b&gt;.\n',
  );
  const json = await run('reports', 'digits', 'What we found', '--json');
  const found = JSON.parse(json.stdout) as { readonly id: string; readonly blocks: unknown[] };
  const blocks = [...found.blocks, { kind: 'runs', where: '', columns: ['status'] }];
  writeFileSync(join(folder, 'live.json'), JSON.stringify({ title: 'Live', blocks }));
  expect(await run('reports', 'digits', '--new', 'live.json')).toMatchObject({ code: 0 });
  expect((await run('reports', 'digits', 'Live')).stdout).toContain('| completed |');
  expect(await run('reports', 'digits', 'Live', '--html', 'live.html')).toMatchObject({ code: 0 });
  const html = readFileSync(join(folder, 'live.html'), 'utf8');
  expect(html).toContain('<td>completed</td>');
  expect(html).not.toContain('<b>win');
  expect((await run('reports', 'digits', found.id, '--rm')).stdout).toContain('--undelete');
  expect((await run('reports', 'digits', found.id)).stderr).toContain('has no report');
  expect((await run('reports', 'digits', '--deleted')).stdout).toContain('What we found');
  expect((await run('reports', 'digits', 'What we found', '--undelete')).stdout).toBe(
    'Restored What we found.\n',
  );
  expect(JSON.parse((await run('reports', 'digits', '--json')).stdout)).toHaveLength(2);
});

test('reports that are none, and options that contradict each other, are refused', async () => {
  expect(await run('reports', 'digits', 'Live', '--rm', '--undelete')).toMatchObject({ code: 2 });
  expect(await run('reports', 'digits', 'Live', '--title', 'x')).toMatchObject({ code: 2 });
  expect(await run('reports', 'digits', '--html', '-')).toMatchObject({ code: 2 });
  writeFileSync(join(folder, 'bare.md'), 'No heading.');
  expect(await run('reports', 'digits', '--new', 'bare.md')).toMatchObject({ code: 2 });
  expect(await run('reports', 'digits', '--new', 'bare.md', '--title', 'Live')).toMatchObject({
    code: 0,
  });
  expect((await run('reports', 'digits', 'Live', '--rm')).stderr).toContain('Several reports');
  writeFileSync(join(folder, 'bad.json'), '{"title":"x","blocks":[{"kind":"script"}]}');
  const bad = await run('reports', 'digits', '--new', 'bad.json');
  expect(bad.stderr).toContain('report.blocks[0].kind');
  writeFileSync(join(folder, 'large.md'), `# Large\n${'x'.repeat(600_000)}`);
  expect((await run('reports', 'digits', '--new', 'large.md')).stderr).toContain('at most');
  expect((await run('reports', 'nobody', '--new', 'found.md')).stderr).toContain('no project');
});
