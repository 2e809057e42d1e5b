// Runs the packed package in every runtime and prints a table of what works there; `--record` writes it to docs/policy.md. Needs a build
// and `node_modules` here, which `npm run matrix` installs: a few hundred megabytes of binaries. A runtime without a binary
// for this machine is a row that says so.
import { spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ENTRIES } from '../../scripts/entries.mjs';
import { installIn } from '../../scripts/install-in.mjs';
import { packPackage, unpackInto } from '../../scripts/pack.mjs';
import { recordTable, tableText } from '../../scripts/record-table.mjs';
import { root } from '../../scripts/run-program.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const modules = join(here, 'node_modules');
const LIMIT_MS = 180_000;

const COLUMNS = [
  'entries',
  'records',
  'goes on without a store',
  'analysis',
  'telemetry',
  'kernels',
  'wasm',
  'workers',
];

/** What a runtime cannot do, in words. A part that answers otherwise is a failure. */
const WORKERD = {
  entries: 'those of pages, in a bundle',
  wasm: 'compiles no code from bytes: the kernels compute in JavaScript, with the same bits',
  workers: 'has none',
};

/** The first of several files that answers `--version`. */
function binaryOf(...candidates) {
  return candidates
    .map((path) => join(modules, path))
    .find((path) => existsSync(path) && spawnSync(path, ['--version']).status === 0);
}

/** A binary below a package that has one for each system, in `bin/` or beside its manifest. */
function platformBinary(scope, name) {
  const folder = join(modules, scope);
  if (!existsSync(folder)) return undefined;
  const paths = readdirSync(folder).flatMap((own) => [
    `${scope}/${own}/bin/${name}`,
    `${scope}/${own}/${name}`,
  ]);
  return binaryOf(...paths);
}

/** A user's project with the packed package and what it depends on. */
function makeProject() {
  const project = mkdtempSync(join(tmpdir(), 'quark-runtimes-'));
  const installed = unpackInto(project, packPackage(project).tarball);
  const { dependencies, optionalDependencies } = JSON.parse(
    readFileSync(join(installed, 'package.json'), 'utf8'),
  );
  const link = (from, name) => {
    const target = join(project, 'node_modules', name);
    mkdirSync(dirname(target), { recursive: true });
    symlinkSync(join(from, name), target, 'junction');
  };
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies }))
    link(join(root, 'node_modules'), name);
  link(join(root, 'node_modules'), 'vitest');
  link(modules, 'jsdom');
  for (const name of readdirSync(here))
    if (name.endsWith('program.mjs')) cpSync(join(here, name), join(project, name));
  writeFileSync(join(project, 'package.json'), JSON.stringify({ type: 'module', private: true }));
  return project;
}

/** Runs a program of the project and gives the JSON that it printed last. */
function runProgram(project, binary, args) {
  const data = join(project, `data-${Math.random().toString(36).slice(2)}`);
  const ended = spawnSync(binary, [...args, data, ...ENTRIES], {
    cwd: project,
    encoding: 'utf8',
    timeout: LIMIT_MS,
    killSignal: 'SIGKILL',
  });
  const last = ended.stdout?.trim().split('\n').at(-1) ?? '';
  if (ended.status !== 0 || !last.startsWith('{'))
    throw new Error(
      `it ended with ${ended.signal ?? ended.status}: ${ended.stderr?.slice(0, 2000)}`,
    );
  return JSON.parse(last);
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Asks until somebody answers. */
async function answerOf(url, child) {
  const endsAtMs = Date.now() + LIMIT_MS;
  while (Date.now() < endsAtMs) {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`);
    const answer = await fetch(url, { signal: AbortSignal.timeout(LIMIT_MS) }).catch(
      () => undefined,
    );
    if (answer) return answer;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('it does not answer');
}

async function runWorkerd(project, binary, compatibilityDate) {
  const bundled = spawnSync(
    join(modules, '.bin/esbuild'),
    [
      'workerd-program.mjs',
      '--bundle',
      '--format=esm',
      '--conditions=workerd,worker,browser',
      '--outfile=workerd-bundle.mjs',
      '--log-level=warning',
    ],
    { cwd: project, encoding: 'utf8', shell: process.platform === 'win32' },
  );
  if (bundled.status !== 0) throw new Error(bundled.stderr);
  const port = await freePort();
  writeFileSync(
    join(project, 'workerd.capnp'),
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [ (name = "main", worker = .walk) ],
  sockets = [ (name = "http", address = "127.0.0.1:${port}", http = (), service = "main") ]
);
const walk :Workerd.Worker = (
  modules = [ (name = "main", esModule = embed "workerd-bundle.mjs") ],
  compatibilityDate = "${compatibilityDate}",
);
`,
  );
  const child = spawn(binary, ['serve', 'workerd.capnp'], { cwd: project, stdio: 'ignore' });
  try {
    const answer = await answerOf(`http://127.0.0.1:${port}/`, child);
    if (!answer.ok) throw new Error(`it answers ${answer.status}: ${await answer.text()}`);
    return { entries: WORKERD.entries, ...(await answer.json()) };
  } finally {
    child.kill('SIGKILL');
  }
}

const node = (version) => binaryOf(`node${version}/bin/node`, `node${version}/bin/node.exe`);
const deno = ['run', '-A', '--node-modules-dir=manual'];

/** Every runtime: its name, how to find it, how it walks, and what it cannot do. */
const RUNTIMES = [
  [
    `Node ${process.versions.node}`,
    () => process.execPath,
    (project, binary) => runProgram(project, binary, ['node-program.mjs']),
  ],
  ...['22', '24', '26'].map((version) => [
    `Node ${version}`,
    () => node(version),
    (project, binary) => runProgram(project, binary, ['node-program.mjs']),
  ]),
  [
    'Node 24 with jsdom 31',
    () => node('24'),
    (project, binary) => runProgram(project, binary, ['jsdom-program.mjs']),
  ],
  [
    'Bun 1.4',
    () => binaryOf('bun/bin/bun.exe', '.bin/bun'),
    (project, binary) => runProgram(project, binary, ['node-program.mjs']),
  ],
  [
    'Deno 2.9',
    () => platformBinary('@deno', 'deno') ?? binaryOf('.bin/deno'),
    (project, binary) => runProgram(project, binary, [...deno, 'node-program.mjs']),
  ],
  [
    'workerd, compatible with 2026-11-01',
    () => platformBinary('@cloudflare', 'workerd'),
    (project, binary) => runWorkerd(project, binary, '2026-11-01'),
    WORKERD,
  ],
  [
    'workerd, compatible with 2025-01-01',
    () => platformBinary('@cloudflare', 'workerd'),
    (project, binary) => runWorkerd(project, binary, '2025-01-01'),
    WORKERD,
  ],
];

async function rowOf(project, [name, find, work, cannot = {}]) {
  const binary = find();
  if (binary === undefined)
    return { name, cells: COLUMNS.map(() => 'not installed'), isFailed: false };
  let said;
  try {
    said = await work(project, binary);
  } catch (error) {
    said = Object.fromEntries(COLUMNS.map((column) => [column, `failed: ${error.message}`]));
  }
  const failed = COLUMNS.filter((column) => said[column] !== true && cannot[column] === undefined);
  for (const column of failed) console.error(`${name}, ${column}: ${said[column]}`);
  const cells = COLUMNS.map((column) =>
    said[column] === true ? 'yes' : (cannot[column] ?? `**${String(said[column]).slice(0, 80)}**`),
  );
  return { name, cells, isFailed: failed.length > 0 };
}

if (!existsSync(modules)) installIn(here);
const project = makeProject();
try {
  const rows = [];
  for (const runtime of RUNTIMES) rows.push(await rowOf(project, runtime));
  const table = tableText(
    ['runtime', ...COLUMNS],
    rows.map(({ name, cells }) => [name, ...cells]),
  );
  console.log(table);
  if (process.argv.includes('--record')) recordTable('runtimes', table);
  process.exitCode = rows.some(({ isFailed }) => isFailed) ? 1 : 0;
} finally {
  rmSync(project, { recursive: true, force: true, maxRetries: 3 });
}
