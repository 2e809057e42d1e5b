import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { nodePlatform } from '../../../src/node/platform.ts';

test('the Git commit of the working directory is found, and its absence is no error', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'quark-git-'));
  const before = process.cwd();
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args], {
      cwd: directory,
    })
      .toString()
      .trim();
  // Worker threads cannot change the directory, so the call that asks for it is replaced.
  const spy = vi.spyOn(process, 'cwd').mockReturnValue(directory);
  vi.stubEnv('GIT_CEILING_DIRECTORIES', tmpdir());
  try {
    expect(await nodePlatform.gitCommit()).toBeNull();
    git('init', '-q');
    expect(await nodePlatform.gitCommit()).toBeNull();
    writeFileSync(join(directory, 'a'), '1');
    git('add', 'a');
    git('commit', '-q', '-m', 'a');
    expect(await nodePlatform.gitCommit()).toBe(git('rev-parse', 'HEAD'));
    expect(await nodePlatform.environment()).toMatchObject({
      platform: 'node',
      git_has_changes: false,
    });
    writeFileSync(join(directory, 'a'), '2');
    expect(await nodePlatform.environment()).toMatchObject({ git_has_changes: true });
  } finally {
    spy.mockRestore();
    vi.unstubAllEnvs();
    rmSync(directory, { recursive: true });
  }
  expect(process.cwd()).toBe(before);
});
