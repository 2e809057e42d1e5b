// What it takes to find runs, and to show a table of them: among 10,000 in a folder, and the same over HTTP, or in PostgreSQL.
//
// --postgres           asks a PostgreSQL that is started for it; --database URL another one, which has to be empty
// --runs N             10,000 unless given; beyond that, in PostgreSQL, runs are copied in SQL
// --against FOLDER     another build, such as build/dist-before: both are asked in turn, each a store of its own
// --only TEXT          questions with this text in their name
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { questionsOf } from './find/questions.mjs';
import { filledStore, indexedMs } from './find/runs-to-find.mjs';
import { interleaved, report } from './harness.mjs';
import { startPostgres } from './service/processes.mjs';

const ROUNDS = 9;
const option = (name) => {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
};
const runs = Number(option('--runs') ?? 10_000);
const only = option('--only') ?? '';
const server = process.argv.includes('--postgres') ? await startPostgres() : undefined;
const database = server?.uri ?? option('--database');
const folders = [];

async function loaded(folder) {
  const at = (name) => pathToFileURL(resolve(folder, name)).href;
  const { findRuns, openStorage } = await import(at('index.js'));
  return { folder, findRuns, openStorage, workspace: await import(at('workspace.js')) };
}

/** A build with a store of its own, and what it took to fill that. */
async function side(build, name) {
  if (database === undefined) {
    const folder = mkdtempSync(join(tmpdir(), 'quark-find-'));
    folders.push(folder);
    const filled = await filledStore({
      build,
      uri: `file:${folder}`,
      runs: Math.min(runs, 10_000),
    });
    const indexed = await indexedMs({ build, store: filled.store, folder });
    return { ...filled, build, indexed, folder };
  }
  const { default: pg } = await import('pg');
  const admin = new pg.Client({ connectionString: database });
  await admin.connect();
  await admin.query(`CREATE DATABASE find_${name}`);
  await admin.end();
  const url = new URL(database);
  url.pathname = `/find_${name}`;
  const client = new pg.Client({ connectionString: url.href });
  let isOpen = false;
  const execute = async (text) => {
    if (!isOpen) await client.connect();
    isOpen = true;
    await client.query(text);
  };
  const filled = await filledStore({ build, uri: url.href, runs, execute });
  await client.end();
  return { ...filled, build };
}

/** `quark serve` over a folder, and a store that asks it. */
async function overHttp({ build, folder }) {
  const cli = resolve(build.folder, 'cli.js');
  const child = spawn(process.execPath, [cli, 'serve', folder, '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  for await (const part of child.stdout) {
    said += part;
    const [uri] = /http:\/\/[\w.]+:\d+/.exec(said) ?? [];
    if (uri !== undefined) return { store: await build.openStorage(uri), stop: () => child.kill() };
  }
  throw new Error(`The service did not start: ${said}`);
}

const builds = { now: await loaded('dist') };
const other = option('--against');
if (other !== undefined) builds.before = await loaded(other);
const sides = {};
for (const [name, build] of Object.entries(builds)) sides[name] = await side(build, name);

const cases = {};
const add = (name, kind, { build, store }) => {
  for (const [what, ask] of Object.entries(questionsOf({ ...build, store }))) {
    const title = `${kind}${what}${other === undefined ? '' : `, ${name}`}`;
    if (title.includes(only)) cases[title] = ask;
  }
};
for (const [name, one] of Object.entries(sides)) add(name, '', one);
const services = [];
if (database === undefined)
  for (const [name, one] of Object.entries(sides)) {
    const served = await overHttp(one);
    services.push(served);
    add(name, 'HTTP, ', { build: one.build, store: served.store });
  }
// Those of one question stand beside each other.
const inTurn = Object.fromEntries(
  Object.keys(cases)
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map((title) => [title, cases[title]]),
);
const times = await interleaved(inTurn, ROUNDS);
await report(`find${database === undefined ? '' : '-postgres'}`, [
  { what: 'processes that wait, at the end', value: loadavg()[0], unit: '' },
  ...Object.entries(sides).flatMap(([name, { createdMs, indexed, recorded }]) => [
    { what: `${recorded} runs created, ${name}`, value: createdMs, unit: 'ms' },
    ...(indexed === undefined
      ? []
      : [{ what: `facts of an old database, ${name}`, value: indexed, unit: 'ms' }]),
  ]),
  ...Object.entries(times).map(([what, value]) => ({
    what,
    value,
    unit: 'ms',
    target: 'under 100',
  })),
]);
for (const { store, stop } of services) {
  await store.close();
  stop();
}
for (const { store } of Object.values(sides)) await store.close();
await server?.stop();
for (const folder of folders) rmSync(folder, { recursive: true, force: true });
