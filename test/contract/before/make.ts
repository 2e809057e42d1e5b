/**
 * Makes the fixtures of `test/fixtures/before-rooms`: `make.mjs` there bundles this and runs it in a checkout with a build, whose
 * code it then uses.
 */
import 'fake-indexeddb/auto';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { createMemoryStore, openStorage, type Store } from 'quark-sdk';
import { bytesInput, importRuns } from 'quark-sdk/exchange';
import { commands, endOf } from './commands.ts';
import { dumpDatabase, dumpSqlite } from './databases.ts';
import {
  analyze,
  checksumOf,
  contentOf,
  exportsOf,
  fixTimeAndRandomness,
  record,
  withoutMachine,
} from './scenario.ts';
import {
  inShort,
  questions,
  recordAndRead,
  recordThroughOutbox,
  TestService,
  type Exchange,
} from './traffic.ts';

type Parts = { readonly checkout: string; readonly out: string; readonly preload: string };

/**
 * What a checkout makes of the scenario. Each part wants a process of its own: what a schema says of nulls is cached from the
 * first segment that a process encodes.
 */
export const PARTS = {
  folder: makeFolder,
  file: makeImported,
  indexeddb: makeDatabase,
  traffic: makeTraffic,
};

async function makeFolder({ checkout, out, preload }: Parts): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), 'quark-before-'));
  const folder = join(scratch, 'folder');
  const open = (): Promise<Store> => openStorage(`file:${folder}`, { clock: fixed.clock });
  const fixed = fixTimeAndRandomness();
  // As recorded, then with what analysis finds.
  let store = await open();
  const runIds = await record(store, fixed);
  await store.close();
  writeJson(out, 'recorded-sqlite.json', dumpSqlite(join(folder, '.quark/quark.db')));
  store = await open();
  await analyze(store, runIds);
  await store.close();
  writeFileSync(join(out, 'quark.db.gz'), gzipSync(readFileSync(join(folder, '.quark/quark.db'))));
  store = await open();
  writeJson(out, 'store.json', { runIds, ...(await contentOf(store, runIds)) });
  const exported: Record<string, object> = {};
  for (const [index, runId] of runIds.entries())
    for (const [name, bytes] of await exportsOf(store, runId)) {
      exported[`${index}/${name}`] = checksumOf(bytes);
      if (index === 0 && name === 'run.quark') writeFileSync(join(out, 'run.quark'), bytes);
    }
  writeJson(out, 'exports.json', exported);
  await store.close();
  fixed.restore();
  const ended = commands(runIds).map((args) => {
    const program = ['--import', preload, join(checkout, 'dist/cli.js'), ...args];
    const ran = spawnSync(process.execPath, program, {
      cwd: folder,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'] ?? '', NO_COLOR: '1' },
    });
    return endOf(args, { code: ran.status ?? -1, stdout: ran.stdout, stderr: ran.stderr }, folder);
  });
  writeJson(out, 'commands.json', ended);
  rmSync(scratch, { recursive: true });
}

/** What comes out again of the file that the folder has made. */
async function makeImported({ out }: Parts): Promise<void> {
  fixTimeAndRandomness();
  const store = withoutMachine(createMemoryStore());
  const file = bytesInput('run.quark', new Uint8Array(readFileSync(join(out, 'run.quark'))));
  const { runs } = await importRuns([file], store);
  const exported = await exportsOf(store, runs[0]?.runId ?? '');
  const checksums = [...exported].map(([name, bytes]) => [name, checksumOf(bytes)] as const);
  writeJson(out, 'imported.json', Object.fromEntries(checksums));
}

async function makeDatabase({ out }: Parts): Promise<void> {
  const fixed = fixTimeAndRandomness();
  const store = await openStorage('idb:before', { clock: fixed.clock });
  await record(store, fixed);
  await store.close();
  writeJson(out, 'indexeddb.json', await dumpDatabase('before'));
}

async function makeTraffic({ out }: Parts): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), 'quark-before-'));
  const fixed = fixTimeAndRandomness();
  const service = await TestService.open(scratch);
  const runIds = await recordAndRead(service, fixed);
  const recorded = service.exchanges.splice(0).map(inShort);
  await recordThroughOutbox(service, fixed, createMemoryStore({ clock: fixed.clock }));
  const sent = service.exchanges.splice(0);
  const asked: Exchange[] = [];
  for (const question of questions(runIds)) asked.push(await service.ask(question));
  await service.close();
  writeJson(out, 'traffic.json', { runIds, recorded, sent, asked });
  rmSync(scratch, { recursive: true });
}

function writeJson(out: string, name: string, value: unknown): void {
  writeFileSync(join(out, name), linesOf(value));
}

/** JSON with a line for each item of the upper two levels. */
function linesOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return `${JSON.stringify(value)}\n`;
  const lines = (one: object): string =>
    Array.isArray(one)
      ? `[\n${one.map((item) => JSON.stringify(item)).join(',\n')}\n]`
      : JSON.stringify(one);
  if (Array.isArray(value)) return `${lines(value)}\n`;
  const fields = Object.entries(value).map(
    ([name, one]) =>
      `${JSON.stringify(name)}: ${typeof one === 'object' && one !== null ? lines(one) : JSON.stringify(one)}`,
  );
  return `{\n${fields.join(',\n')}\n}\n`;
}
