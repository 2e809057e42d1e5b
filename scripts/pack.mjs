// `npm pack` of what is built, as the release, the tests of the package and those of the runtimes need it.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from './run-program.mjs';

/**
 * Packs the package into a folder, without a build before.
 *
 * @returns the path of the tarball, and its bytes `size` and `unpackedSize`
 * @throws {Error} with what npm said
 */
export function packPackage(folder) {
  const npm = process.env.npm_execpath;
  const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder];
  const printed = execFileSync(npm ? process.execPath : 'npm', npm ? [npm, ...args] : args, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'], // what npm says is in the error, and nowhere else
    shell: !npm && process.platform === 'win32',
  });
  const [{ filename, size, unpackedSize }] = JSON.parse(printed);
  return { tarball: join(folder, filename), size, unpackedSize };
}
