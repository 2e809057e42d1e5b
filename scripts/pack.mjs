// `npm pack` of what is built, as the release, the tests of the package and those of the runtimes need it.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packedReadme, repositoryUrl } from './packed-readme.mjs';
import { root } from './run-program.mjs';

/** Files that npm takes beside those of `files`. */
const ALWAYS = ['package.json', 'LICENSE'];

/** A folder with what is packed, and the README of the package. */
function stagePackage() {
  const stage = mkdtempSync(join(tmpdir(), 'quark-stage-'));
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const names = [...ALWAYS, ...manifest.files.filter((name) => !name.startsWith('!'))];
  for (const name of names)
    cpSync(join(root, name), join(stage, name), {
      recursive: true,
      filter: (file) => !file.endsWith('.map'),
    });
  const readme = packedReadme(readFileSync(join(root, 'README.md'), 'utf8'), {
    url: repositoryUrl(manifest),
    isPacked: (file) => names.includes(file),
  });
  writeFileSync(join(stage, 'README.md'), readme);
  return stage;
}

/**
 * Packs the package into a folder, without a build before.
 *
 * @returns the path of the tarball, its bytes `size` and `unpackedSize`, and the number of its `files`
 * @throws {Error} with what npm said
 */
export function packPackage(folder) {
  const stage = stagePackage();
  try {
    const npm = process.env.npm_execpath;
    const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder];
    const printed = execFileSync(npm ? process.execPath : 'npm', npm ? [npm, ...args] : args, {
      cwd: stage,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'], // what npm says is in the error, and nowhere else
      shell: !npm && process.platform === 'win32',
    });
    const [{ entryCount, filename, size, unpackedSize }] = JSON.parse(printed);
    return { tarball: join(folder, filename), size, unpackedSize, files: entryCount };
  } finally {
    rmSync(stage, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Unpacks a tarball into `node_modules` of a project. @returns the folder of the package there */
export function unpackInto(project, tarball) {
  const installed = join(project, 'node_modules/quark-sdk');
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1']);
  return installed;
}
