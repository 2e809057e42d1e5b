// Builds small apps of frameworks with the packed package, starts them, drives them over HTTP and in Chromium, and prints a table;
// `--record` writes it to docs/policy.md, `--only NAME` tries the rows that begin so, as in "Next 16.4, none". Needs a build, Chromium, and the registry:
// each app is installed, with exact versions, into a folder of its own, half a gigabyte for all. Frameworks that need a later Node than
// this are built and run by that of test/runtimes.
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { packPackage } from '../../scripts/pack.mjs';
import { recordTable, tableText } from '../../scripts/record-table.mjs';
import { root } from '../../scripts/run-program.mjs';
import { APPS } from './apps.mjs';
import { answered, driveEdge, drivePage, driveServer } from './drive.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const LIMIT_MS = 300_000;
const COLUMNS = ['framework', 'setting', 'builds', 'part', 'runs', 'workers', 'wasm', 'storage'];
const QUIET = { CI: '1', NEXT_TELEMETRY_DISABLED: '1', NUXT_TELEMETRY_DISABLED: '1' };

const { values: options } = parseArgs({
  options: { record: { type: 'boolean' }, only: { type: 'string', default: '' } },
});

/** The Node of an app: this one, or a later one. */
function nodeOf({ node: least = 20 }) {
  if (Number(process.versions.node.split('.')[0]) >= least) return process.execPath;
  const later = join(here, '../runtimes/node_modules/node24/bin/node');
  if (existsSync(later)) return later;
  throw new Error(`it needs Node ${least}, which "npm run matrix" installs in test/runtimes`);
}

/** Runs a command to its end. @throws with the lines of it that tell of errors */
function ended(command, args, cwd, env = {}) {
  const { error, status, stderr, stdout } = spawnSync(command, args, {
    cwd,
    env: { ...process.env, ...QUIET, ...env },
    encoding: 'utf8',
    timeout: LIMIT_MS,
    killSignal: 'SIGKILL',
    shell: process.platform === 'win32',
  });
  if (status === 0) return;
  const said = `${stdout}\n${stderr}`.split('\n').filter((line) => /error|fatal/i.test(line));
  throw new Error(said.slice(0, 3).join(' / ') || String(error ?? status));
}

function install(app, tarball) {
  const folder = mkdtempSync(join(tmpdir(), 'quark-framework-'));
  const { packages, type } = app;
  const dependencies = { ...packages, 'quark-sdk': `file:${tarball}` };
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'app', private: true, type, dependencies }),
  );
  ended('npm', ['install', '--no-package-lock', '--no-audit', '--no-fund'], folder);
  return folder;
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Starts a server, works with it, and ends it with all that it started. */
async function withServer(node, args, { cwd, env }, work) {
  const port = await freePort();
  // Next in development serves its scripts to pages of this name only.
  const base = `http://${args.at(-1) === 'dev' ? 'localhost' : '127.0.0.1'}:${port}`;
  const child = spawn(node, args, {
    cwd,
    env: { ...process.env, ...QUIET, PORT: port, HOST: '127.0.0.1', ORIGIN: base, ...env },
    stdio: 'ignore',
    detached: true,
  });
  const isGone = new Promise((resolve) => child.once('exit', resolve));
  try {
    await answered(base, child);
    return await work(base);
  } finally {
    try {
      process.kill(-Number(child.pid), 'SIGKILL');
    } catch {
      child.kill('SIGKILL'); // it has ended
    }
    await isGone;
  }
}

/** The files of an app, as a user would have them, in the folder that its packages were installed into. */
function lay(folder, app, way) {
  for (const name of ['.next', '.output', '.nuxt', '.svelte-kit', 'app', 'src', 'build', 'data'])
    rmSync(join(folder, name), { recursive: true, force: true });
  rmSync(join(folder, 'next.config.mjs'), { force: true });
  for (const name of [app.folder, ...(way.adds ?? [])])
    cpSync(join(here, name), name === 'next-edge' ? join(folder, 'app/api/edge') : folder, {
      recursive: true,
    });
  cpSync(join(here, 'check.js'), join(folder, 'check.js'));
}

/** What a part comes to, as cells of a row. */
async function part(name, storage, work) {
  try {
    const { workers, wasm } = await work();
    return {
      isFailed: false,
      cells: [name, 'yes', workers, wasm === 'wasm' ? 'yes' : wasm, storage],
    };
  } catch (error) {
    const reason = error.message.split('\n')[0].slice(0, 200).replaceAll('|', '/');
    return { isFailed: true, cells: [name, `no: ${reason}`, '', '', storage] };
  }
}

/** A service that a route of the edge runtime records to. */
const withService = (data, work) =>
  withServer(
    process.execPath,
    ['--input-type=module', '-e', SERVICE],
    { cwd: root, env: { QUARK_DATA: data } },
    work,
  );
const SERVICE = `
import { spawn } from 'node:child_process';
spawn(process.execPath, ['dist/cli.js', 'serve', process.env.QUARK_DATA, '--port', process.env.PORT], { stdio: 'ignore' });
setInterval(() => undefined, 1000);
`;

async function driven(folder, node, way) {
  const env = { QUARK_DIR: join(folder, 'data') };
  const file = (path) => join(folder, 'node_modules', path);
  let [cwd, args] = [folder, []];
  if (way.carries) {
    // Out of the project: what was not traced is not there.
    const moved = mkdtempSync(join(tmpdir(), 'quark-standalone-'));
    cpSync(join(folder, '.next/standalone'), moved, { recursive: true });
    for (const [from, to] of way.carries)
      cpSync(join(folder, from), join(moved, to), { recursive: true });
    [cwd, args] = [moved, ['server.js']];
  } else if (way.server) args = [way.server];
  else args = [file(way.start[0]), ...way.start.slice(1)];
  try {
    if (way.edge)
      return await withService(join(folder, 'served'), (url) =>
        withServer(node, args, { cwd, env: { ...env, QUARK_URL: url } }, async (base) => [
          await part('route', 'a service', async () => {
            await driveEdge(base, way.edge);
            return { workers: 'has none', wasm: 'not asked' };
          }),
        ]),
      );
    return await withServer(node, args, { cwd, env }, async (base) => [
      await part('server', 'SQLite', () => driveServer(base)),
      await part('page', 'IndexedDB', () => drivePage(base)),
    ]);
  } finally {
    if (cwd !== folder) rmSync(cwd, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Rows of one way: a server and a page, or why there are none. */
async function rowsOf(app, folder, way) {
  let builds = way.build ? 'no' : 'as it is asked';
  try {
    const node = nodeOf(app);
    lay(folder, app, way);
    if (way.build) {
      ended(node, [join(folder, 'node_modules', way.build[0]), ...way.build.slice(1)], folder);
      builds = 'yes';
    }
    const parts = await driven(folder, node, way);
    return parts.map(({ isFailed, cells }) => ({
      isFailed,
      cells: [app.name, way.setting, builds, ...cells],
    }));
  } catch (error) {
    const reason = error.message.split('\n')[0].slice(0, 200).replaceAll('|', '/');
    return [
      { isFailed: true, cells: [app.name, way.setting, builds, `no: ${reason}`, '', '', '', ''] },
    ];
  }
}

function waysOf({ name, ways }) {
  return ways.filter(({ setting }) => `${name}, ${setting}`.startsWith(options.only));
}

async function tried(app, tarball) {
  let folder;
  try {
    folder = install(app, tarball);
  } catch (error) {
    const cells = [
      app.name,
      '',
      `not installed: ${error.message.slice(0, 120)}`,
      '',
      '',
      '',
      '',
      '',
    ];
    return [{ isFailed: true, cells }];
  }
  const rows = [];
  for (const way of waysOf(app)) {
    const found = await rowsOf(app, folder, way);
    for (const { cells } of found) console.log(cells.join(' | '));
    rows.push(...found);
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  return rows;
}

const work = mkdtempSync(join(tmpdir(), 'quark-frameworks-'));
try {
  const { tarball } = packPackage(work);
  const rows = [];
  for (const app of APPS.filter((one) => waysOf(one).length > 0))
    rows.push(...(await tried(app, tarball)));
  const table = tableText(
    COLUMNS,
    rows.map(({ cells }) => cells),
  );
  console.log(`\n${table}`);
  if (options.record) recordTable('frameworks', table);
  process.exitCode = rows.some(({ isFailed }) => isFailed) ? 1 : 0;
} finally {
  rmSync(work, { recursive: true, force: true, maxRetries: 3 });
}
