// The build of an earlier commit, made once: its sources in build/upgrade/COMMIT, with the packages of this folder.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** The commit before databases had an identity and runs could be deleted. */
export const OLD_COMMIT = 'fd465ea';

/**
 * The folder `dist` of a build of the commit.
 *
 * @param {string} commit
 * @returns {{ dist: string } | { missing: string }} `missing` says why there is none
 */
export function oldBuild(commit = OLD_COMMIT) {
  const folder = join(ROOT, 'build/upgrade', commit);
  const dist = join(folder, 'dist');
  if (existsSync(join(dist, 'cli.js')) && existsSync(join(dist, 'demo'))) return { dist };
  const draft = `${folder}-${process.pid}`;
  try {
    mkdirSync(draft, { recursive: true });
    const sources = execFileSync('git', ['archive', commit], { cwd: ROOT, maxBuffer: 1 << 30 });
    execFileSync('tar', ['-x', '-C', draft], { input: sources });
    symlinkSync(join(ROOT, 'node_modules'), join(draft, 'node_modules'), 'junction');
    const run = (...args) => execFileSync('npm', ['run', ...args], { cwd: draft, stdio: 'pipe' });
    run('wasm');
    execFileSync(join(ROOT, 'node_modules/.bin/vite'), ['build'], { cwd: draft, stdio: 'pipe' });
    run('build:demo');
    rmSync(folder, { recursive: true, force: true });
    renameSync(draft, folder);
    return { dist };
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    return { missing: `commit ${commit} could not be built: ${String(error).split('\n')[0]}` };
  }
}
