// Installs what a folder of tests needs besides: compilers, runtimes, apps of other people.
import { spawnSync } from 'node:child_process';

/** Installs what package.json of the folder names. Versions are exact, and there is no lock file: it would name binaries of every system. */
export function installIn(folder) {
  const { status } = spawnSync('npm', ['install', '--no-package-lock', '--no-audit', '--no-fund'], {
    cwd: folder,
    shell: process.platform === 'win32',
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? 1);
}
