/** `quark rm`, `quark undelete`, and the runs that they leave. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { deleteRun, listRuns, openRun, restoreRun, runSize } from '../../src/index.ts';
import { openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import type { Store, StoredRun } from '../../src/store/store.ts';
import { recordRun, runWith } from '../support/recorded-run.ts';
import { artifactSegmentOf } from '../support/artifact-segments.ts';
import { metricSegmentOf } from '../support/real-segments.ts';
import { segmentOf } from '../support/segments.ts';
import { FakeIo, quark, type Ran } from './fake-io.ts';
import { runCli } from '../../src/cli/cli.ts';

let folder: string;
let store: Store;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quark-rm-'));
  store = await openFileStorage(folder);
  for (const id of ['run_aa', 'run_ab', 'run_b'])
    await recordRun([], store, runWith({ id, tags: id === 'run_b' ? ['old'] : [] }));
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const ids = async (archived: boolean | 'any' = false): Promise<string[]> =>
  (await listRuns(store, { archived })).map(({ run }) => run.id).toSorted();
const run = (...args: string[]): Promise<Ran> => quark(args, { cwd: folder });

it('deletes one run without asking, lists it, and brings it back', async () => {
  const before = await openRun(store, 'run_aa');
  const done = await run('rm', 'run_aa');
  expect(done).toMatchObject({ code: 0, stderr: '' });
  expect(done.stdout).toMatch(/Deleted 1 run, \d.*"quark undelete" brings it back within 30 days/);
  expect(await ids()).toEqual(['run_ab', 'run_b']);
  const deleted = await run('runs', '--deleted', '--json');
  expect(JSON.parse(deleted.stdout)).toMatchObject([{ id: 'run_aa', by: null }]);
  expect((await run('runs', '--deleted')).stdout).toContain('run_aa');
  expect(await run('show', 'run_aa')).toMatchObject({ code: 3 });
  expect(await run('undelete', 'aa')).toMatchObject({
    code: 0,
    stdout: '1 run restored: run_aa\n',
  });
  const after = await openRun(store, 'run_aa');
  expect(after.run).toEqual(before.run);
  expect(await run('undelete', 'run_nobody')).toMatchObject({ code: 3 });
  expect(await run('rm', 'run_nobody')).toMatchObject({ code: 3 });
});

it('asks before many, takes no for an answer, and refuses where nobody can be asked', async () => {
  const io = new FakeIo({ cwd: folder, answer: 'n' });
  expect(await runCli(['rm', 'run_aa', 'run_b'], io)).toBe(1);
  expect(io.asked).toEqual(['Delete 2 runs? [y/N] ']);
  expect(io.out).toContain('Nothing was changed.');
  expect(await ids()).toHaveLength(3);
  const alone = await run('rm', 'run_aa', 'run_b');
  expect(alone.code).toBe(2);
  expect(alone.stderr).toContain('give --yes');
  expect(await ids()).toHaveLength(3);
  const yes = new FakeIo({ cwd: folder, answer: 'y' });
  expect(await runCli(['rm', 'run_aa', 'run_b'], yes)).toBe(0);
  expect(await ids()).toEqual(['run_ab']);
});

it('chooses by filters, says first what would go, and reports as JSON', async () => {
  const size = await runSize(store, 'run_b');
  const dry = await run('rm', '--tag', 'old', '--dry-run', '--json');
  expect(JSON.parse(dry.stdout)).toMatchObject({
    act: 'delete',
    is_done: false,
    bytes: size.bytes,
    runs: [{ id: 'run_b', bytes: size.bytes }],
  });
  expect(await ids()).toHaveLength(3);
  expect((await run('rm', '--before', '1990-01-01')).stdout).toBe('No runs.\n');
  expect(await run('rm', '--before', 'soon')).toMatchObject({ code: 2 });
  expect(await run('rm')).toMatchObject({ code: 2 });
  expect(await run('rm', 'run_b', '--tag', 'old')).toMatchObject({ code: 2 });
  expect(await run('rm', '--tag', 'old', '--yes')).toMatchObject({ code: 0 });
  expect(await ids()).toEqual(['run_aa', 'run_ab']);
  expect(await run('rm', '--before', '2100-01-01', '--yes')).toMatchObject({ code: 0 });
  expect(await ids('any')).toEqual([]);
});

it('puts runs into the archive and takes them out again', async () => {
  expect(await run('rm', '--archive', 'run_b')).toMatchObject({ code: 0 });
  expect(await ids()).toEqual(['run_aa', 'run_ab']);
  expect(await ids(true)).toEqual(['run_b']);
  expect(JSON.parse((await run('runs', '--archived', '--json')).stdout)).toHaveLength(1);
  expect(JSON.parse((await run('runs', '--json')).stdout)).toHaveLength(2);
  expect(await run('undelete', 'run_b')).toMatchObject({ code: 0 });
  expect(await ids()).toHaveLength(3);
});

it('removes the bytes at once where that is asked for', async () => {
  await store.appendSegments([segmentOf(900, { runId: 'run_aa' })]);
  const asked = await run('rm', 'run_aa', '--purge-now');
  expect(asked.code).toBe(2);
  expect(await run('rm', 'run_aa', '--purge-now', '--archive')).toMatchObject({ code: 2 });
  expect(await run('rm', 'run_aa', '--purge-now', '--yes')).toMatchObject({ code: 0 });
  expect(await run('undelete', 'run_aa')).toMatchObject({ code: 1 });
  await expect(restoreRun(store, 'run_aa')).rejects.toMatchObject({ reason: 'deleted' });
  expect(await store.findDeletedRun('run_aa')).toMatchObject({ purgedAtMs: expect.any(Number) });
});

it('removes the bytes of a deleted run before their time, after asking', async () => {
  await run('rm', 'run_aa');
  const dry = await run('rm', 'aa', '--purge-now', '--dry-run');
  expect(dry).toMatchObject({ code: 0, stdout: expect.stringContaining('Would remove') });
  const io = new FakeIo({ cwd: folder, answer: 'n' });
  expect(await runCli(['rm', 'run_aa', '--purge-now'], io)).toBe(1);
  expect(io.asked[0]).toMatch(/^Remove the bytes of 1 deleted run for good, .* until .*\? /);
  const mixed = await run('rm', 'run_aa', 'run_b', '--purge-now', '--yes');
  expect(mixed).toMatchObject({ code: 2, stderr: expect.stringContaining('one kind at a time') });
  expect((await store.findDeletedRun('run_aa'))?.purgedAtMs).toBeUndefined();
  const done = await run('rm', 'run_aa', '--purge-now', '--yes', '--json');
  expect(JSON.parse(done.stdout)).toEqual({
    act: 'purge',
    is_done: true,
    deleted_runs: ['run_aa'],
  });
  expect((await store.findDeletedRun('run_aa'))?.purgedAtMs).toBeTypeOf('number');
  expect(await run('undelete', 'run_aa')).toMatchObject({ code: 1 });
  expect(await ids()).toEqual(['run_ab', 'run_b']);
});

it('names a live run before it goes', async () => {
  await recordRun([], store, runWith({ id: 'run_live', status: 'running', endedAt: null }));
  await store.renewLease('run_live', 'session', 60_000);
  expect(await run('rm', '--before', '2100-01-01', '--dry-run', '--json')).toMatchObject({
    stdout: expect.not.stringContaining('run_live'),
  });
  const io = new FakeIo({ cwd: folder, answer: '' });
  await runCli(['rm', 'run_live'], io);
  expect(io.asked).toEqual(['Delete 1 run, of which 1 run being recorded? [y/N] ']);
  await expect(deleteRun(store, 'run_live', { keepMs: -1 })).rejects.toMatchObject({
    code: 'invalid_input',
  });
});

it('lists the keys of the artifacts of a run', async () => {
  expect(await run('artifacts', 'run_b')).toMatchObject({ code: 0, stderr: 'No artifacts.\n' });
  await store.appendSegments([
    artifactSegmentOf(0, [['a'.repeat(64)], ['b'.repeat(64)]], { runId: 'run_b' }),
  ]);
  const { code, stdout } = await run('artifacts', 'run_b');
  expect(code).toBe(0);
  expect(stdout).toMatch(/KEY +TYPE/);
  expect(stdout).toMatch(/^a1 .*art_writer_a_0_1$/m);
  const listed = JSON.parse((await run('artifacts', 'run_b', '--key', 'a0', '--json')).stdout);
  expect(listed).toMatchObject([{ artifact_key: 'a0', id: 'art_writer_a_0_0', size_bytes: 1 }]);
  expect(await run('rm', 'run_b', '--artifact', listed[0].artifact_key, '--yes')).toMatchObject({
    code: 0,
  });
  expect((await run('artifacts', 'run_b')).stdout).not.toContain('a0');
  expect((await run('artifacts', 'run_b', '--type', 'other')).stderr).toBe('No artifacts.\n');
});

it('deletes a table or an artifact of a run, after asking', async () => {
  await store.appendSegments([metricSegmentOf(0, { runId: 'run_b' })]);
  await store.appendSegments([artifactSegmentOf(0, [['1'.repeat(64)]], { runId: 'run_b' })]);
  expect(await run('rm', 'run_b', '--table', 'metrics')).toMatchObject({ code: 2 });
  expect(await run('rm', 'run_b', '--table', 'metrics', '--yes')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Deleted \d+ rows of the metrics of run_b\.\n$/),
  });
  expect(await store.listSegments({ runId: 'run_b', table: 'metrics' })).toEqual([]);
  const gone = await run('rm', 'b', '--artifact', 'a0', '--yes', '--json');
  expect(JSON.parse(gone.stdout)).toEqual({ run_id: 'run_b', table: 'artifacts', rows: 1 });
  expect(await run('rm', 'run_b', '--artifact', 'a0', '--yes')).toMatchObject({ code: 1 });
  for (const more of [
    ['--table', 'x', '--artifact', 'y'],
    ['--table', 'x', '--archive'],
    ['--table', 'x', '--days', '3'],
  ])
    expect(await run('rm', 'run_b', ...more)).toMatchObject({ code: 2 });
  expect(await ids()).toContain('run_b');
});

it('says of a deleted run when it was deleted, and what brings it back', async () => {
  await run('rm', 'run_aa');
  const again = await run('rm', 'run_aa');
  expect(again.code).toBe(3);
  expect(again.stderr).toMatch(/"run_aa" was deleted on .*"quark undelete" brings it back until/);
  await run('rm', 'run_ab', '--purge-now', '--yes');
  expect((await run('rm', 'run_ab')).stderr).toMatch(/was deleted on .* bytes have been removed/);
});

it('undelete refuses a run that is neither deleted nor in the archive', async () => {
  await run('rm', 'run_aa');
  const none = await run('undelete', 'run_aa', 'run_b');
  expect(none).toMatchObject({ code: 1, stdout: '' });
  expect(none.stderr).toContain('"run_b" is neither deleted nor in the archive');
  expect(await ids()).toEqual(['run_ab', 'run_b']);
});

it('a wrong command line names the option, its value and the rule', async () => {
  for (const [args, said] of [
    [['rm', 'run_aa', '--days', '-3'], /--days must be a whole number, from 0 to .*; got "-3"/],
    [['rm', 'run_aa', '--project', '--yes'], /--project needs a value.*--project=VALUE/],
    [['rm', '--yes'], /needs RUN, or a filter/],
    [['rm', 'run_aa', '--tag', 'old'], /either runs or filters/],
    [['rm', 'run_aa', '--archive', '--days', '3'], /--days does not go with --archive/],
    [['rm', 'run_aa', '--purge-now', '--days', '3'], /--days does not go with --purge-now/],
  ] as const)
    expect(await run(...args)).toMatchObject({ code: 2, stderr: expect.stringMatching(said) });
  expect(await ids()).toHaveLength(3);
});

it('deletes a project with all of its runs, and brings it back with the first of them', async () => {
  const project = (await listRuns(store))[0]?.run.projectName ?? '';
  await recordRun(
    [],
    store,
    runWith({ id: 'run_other', projectName: 'other', projectId: 'other' }),
  );
  await run('rm', 'run_ab', '--archive');
  const names = async (): Promise<readonly string[]> =>
    (await store.listProjects()).map(({ name }) => name);
  for (const wrong of [
    ['rm', '--all', '--yes'],
    ['rm', '--all', '--project', project, 'run_aa', '--yes'],
    ['rm', '--all', '--project', project, '--tag', 'old', '--yes'],
    ['rm', '--running', 'run_aa'],
    ['rm', '--all', '--project', project],
  ])
    expect(await run(...wrong)).toMatchObject({ code: 2 });
  const dry = await run('rm', '--project', project, '--all', '--dry-run', '--json');
  expect(JSON.parse(dry.stdout)).toMatchObject({
    is_done: false,
    project_name: project,
    runs: expect.arrayContaining(['run_aa', 'run_ab', 'run_b']) as unknown,
  });
  const io = new FakeIo({ cwd: folder, answer: 'n' });
  expect(await runCli(['rm', '--project', project, '--all'], io)).toBe(1);
  expect(io.asked).toEqual([`Delete project ${project} with 3 runs? [y/N] `]);
  expect(await ids('any')).toHaveLength(4);

  await store.createRun({ ...(await running()), projectName: project });
  await store.renewLease('run_live', 'session', 60_000);
  const refused = await run('rm', '--project', project, '--all', '--yes');
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain('run_live');
  expect(await ids('any')).toHaveLength(5);
  const done = await run('rm', '--project', project, '--all', '--running', '--yes');
  expect(done).toMatchObject({ code: 0, stderr: '' });
  expect(done.stdout).toContain(`Deleted project ${project} with 4 runs`);
  expect(await ids('any')).toEqual(['run_other']);
  expect(await names()).not.toContain(project);
  expect(await run('undelete', 'run_aa')).toMatchObject({ code: 0 });
  expect(await names()).toContain(project);
  expect(await run('rm', '--project', project, '--all', '--purge-now', '--yes')).toMatchObject({
    code: 0,
  });
  expect(await run('undelete', 'run_aa')).toMatchObject({ code: 1 });
  expect(await run('rm', '--project', 'nobody', '--all', '--yes')).not.toMatchObject({ code: 0 });
});

async function running(): Promise<Omit<StoredRun, 'revision'>> {
  const found = await store.findRun('run_aa');
  if (found === undefined) throw new Error('It was recorded.');
  return { ...found, id: 'run_live', status: 'running' };
}
