/** What the command line deletes in a folder is in the audit log of that folder. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import { artifactSegmentOf } from '../support/artifact-segments.ts';
import { recordRun, runWith } from '../support/recorded-run.ts';
import { quark, type Ran } from './fake-io.ts';

let folder: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quark-audit-'));
  const store = await openFileStorage(folder);
  for (const id of ['run_a', 'run_b', 'run_c']) await recordRun([], store, runWith({ id }));
  await store.appendSegments([artifactSegmentOf(0, [['1'.repeat(64)]], { runId: 'run_c' })]);
  await store.close();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const run = (...args: string[]): Promise<Ran> => quark(args, { cwd: folder });

type Line = {
  readonly action: string;
  readonly target_id: string;
  readonly from: string;
  readonly detail: { readonly by: string; readonly failed?: string };
};

async function lines(): Promise<readonly Line[]> {
  return JSON.parse((await run('audit', '--storage-dir', folder, '--json')).stdout);
}

it('with who did it, in the order of the acts', async () => {
  writeFileSync(join(folder, 'rules.json'), '{"rules":[{"act":"archive","olderThanDays":36500}]}');
  for (const [command, code] of [
    [['rm', 'run_a', 'run_b', '--dry-run'], 0],
    [['retention', 'plan', 'rules.json'], 0],
    [['gc', '--dry-run'], 0],
    [['rm', 'run_a'], 0],
    [['undelete', 'run_a'], 0],
    [['rm', 'run_b', '--archive'], 0],
    [['rm', 'run_c', '--artifact', 'a0', '--yes'], 0],
    [['rm', 'run_c', '--table', 'artifacts', '--yes'], 0],
    [['gc'], 0],
    [['retention', 'set', 'rules.json'], 0],
    [['retention', 'apply'], 0],
    [['retention', 'clear'], 0],
  ] as const)
    expect(await run(...command)).toMatchObject({ code });
  const all = await lines();
  expect(all.map(({ action, target_id }) => [action, target_id])).toEqual([
    ['run.delete', 'run_a'],
    ['run.restore', 'run_a'],
    ['run.archive', 'run_b'],
    ['artifact.delete', 'run_c'],
    ['table.delete', 'run_c'],
    ['blob.sweep', 'default'],
    ['retention.set', 'default'],
    ['retention.apply', 'default'],
    ['retention.set', 'default'],
  ]);
  for (const { detail, from } of all) {
    expect(from).toBe('command line');
    expect(detail.by).toBe(userInfo().username);
  }
});

it('a project, each of its runs, and their purge', async () => {
  expect(await run('rm', '--project', 'digits', '--all', '--purge-now', '--yes')).toMatchObject({
    code: 0,
  });
  const acts = (await lines()).map(({ action, target_id }) => `${action} ${target_id}`);
  expect(acts.filter((act) => act !== 'run.purge default')).toEqual([
    'project.delete digits',
    ...acts.filter((act) => act.startsWith('run.delete')),
  ]);
  expect(acts.filter((act) => act.startsWith('run.delete')).toSorted()).toEqual([
    'run.delete run_a',
    'run.delete run_b',
    'run.delete run_c',
  ]);
  expect(acts).toContain('run.purge default');
});

it('an act that fails has a second line, which says why', async () => {
  expect(await run('rm', 'run_c', '--artifact', 'nobody', '--yes')).not.toMatchObject({ code: 0 });
  expect((await lines()).map(({ action, detail }) => [action, detail.failed])).toEqual([
    ['artifact.delete', undefined],
    ['artifact.delete', 'artifact_not_found'],
  ]);
});
