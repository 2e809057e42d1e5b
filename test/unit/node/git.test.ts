import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { readGit } from '../../../src/session/platforms/node/git.ts';

let directory: string;

const git = (...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args], {
    cwd: directory,
  })
    .toString()
    .trim();

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'quark-git-'));
  vi.stubEnv('GIT_CEILING_DIRECTORIES', tmpdir());
  // Worker threads cannot change the directory, so the call that asks for it is replaced.
  vi.spyOn(process, 'cwd').mockReturnValue(directory);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  rmSync(directory, { recursive: true });
});

test('the commit of the working directory is found, and its absence is no error', async () => {
  const unknown = { commit: null, branch: null, hasChanges: null };
  expect(await readGit()).toEqual(unknown);
  git('init', '-q', '-b', 'some/branch');
  expect(await readGit()).toEqual(unknown);
  writeFileSync(join(directory, 'a'), '1');
  git('add', 'a');
  git('commit', '-q', '-m', 'a');
  const commit = git('rev-parse', 'HEAD');
  expect(await readGit()).toEqual({ commit, branch: 'some/branch', hasChanges: false });
  writeFileSync(join(directory, 'not added'), '1');
  expect(await readGit()).toMatchObject({ hasChanges: false });
  writeFileSync(join(directory, 'a'), '2');
  expect(await readGit()).toEqual({ commit, branch: 'some/branch', hasChanges: true });
  git('checkout', '-q', '--detach');
  expect(await readGit()).toEqual({ commit, branch: 'HEAD', hasChanges: true });
});

test('who asks at the same time shares one process, who asks later has the state of then', async () => {
  git('init', '-q');
  writeFileSync(join(directory, 'a'), '1');
  git('add', 'a');
  git('commit', '-q', '-m', 'a');
  const before = git('rev-parse', 'HEAD');
  const answers = [readGit(), readGit(), readGit()];
  expect(new Set(await Promise.all(answers)).size).toBe(1);
  for (const answer of answers) expect((await answer).commit).toBe(before);
  git('commit', '-q', '--allow-empty', '-m', 'b');
  const { commit } = await readGit();
  expect(commit).not.toBe(before);
  expect(commit).toBe(git('rev-parse', 'HEAD'));
});
