// Steps of `npm run campaign -- runtimes`: tests of the SQLite store on the SQLite of Node, in the versions of Node that
// `npm run matrix` installs. See test/runtimes/builtin-sqlite.mjs.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './run-program.mjs';

/** Not those that read a store by the functions of the native package: test/kill/upgrade-kill.test.ts. */
const FILES = [
  'test/contract/builtin-sqlite.isolated.test.ts',
  'test/contract/sqlite-store.test.ts',
  'test/contract/sqlite-objects-store.long.test.ts',
  'test/contract/before/stores.isolated.test.ts',
  'test/unit/node/file-storage.test.ts',
  'test/unit/node/commit-group.test.ts',
  'test/unit/doctor/doctor.test.ts',
  'test/unit/session/fencing.isolated.test.ts',
  'test/unit/store',
  'test/unit/backup',
  'test/property/blob-sweep.test.ts',
  'test/process/read-only.test.ts',
  'test/process/session-process.test.ts',
  'test/kill/sqlite-kill.test.ts',
  'test/kill/backup-kill.test.ts',
  'test/kill/deletion-kill.test.ts',
  'test/kill/merge-kill.test.ts',
  'test/kill/migrations.test.ts',
  'test/faults/full-folder.test.ts',
  'test/faults/kill-maintenance.test.ts',
];
const PRELOADED = pathToFileURL(join(root, 'test/runtimes/builtin-sqlite.mjs')).href;

function stepOf(version) {
  const modules = join(root, 'test/runtimes/node_modules', `node${version}`, 'bin');
  const node = ['node', 'node.exe'].map((name) => join(modules, name)).find(existsSync);
  return {
    name: `Node ${version}`,
    files: FILES,
    vitest: [node, join(root, 'node_modules/vitest/vitest.mjs')],
    env: {
      NODE_OPTIONS: `--disable-warning=ExperimentalWarning --import ${PRELOADED}`,
      QUARK_WHOLE: '1',
    },
    missing: node === undefined ? `Node ${version} is not installed` : undefined,
  };
}

export const builtinSteps = ['22', '24', '26'].map(stepOf);
