/**
 * PostgreSQL for tests: the server of `DATABASE_URL`, or one of our own for all test files of a run, started when the
 * first of them asks and ended with the run. Each file works in a schema of its own.
 */
import { fork, spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isMainThread } from 'node:worker_threads';
import pg from 'pg';
import {
  openPostgresSpaces,
  type PostgresOptions,
} from '../../src/store/sql/node/postgres-storage.ts';
import type { Store } from '../../src/store/store.ts';
import { serversFolder } from './postgres-place.mjs';

const PROGRAM = join(import.meta.dirname, 'postgres-process.mjs');
const POOLER_PROGRAM = join(import.meta.dirname, 'pgbouncer-process.mjs');
const START_MS = 90_000;

/** The address of the server for tests. */
export async function postgresUri(): Promise<string> {
  const given = process.env['DATABASE_URL'];
  if (given !== undefined && given !== '') return given;
  return sharedServer('PostgreSQL', 'run', (folder, program) => [PROGRAM, folder, program]);
}

/** The address of a PgBouncer in front of the server for tests, in transaction mode and with its defaults otherwise. */
export async function poolerUri(): Promise<string> {
  const server = await postgresUri();
  return sharedServer('PgBouncer', 'pooler', (folder, program) => [
    POOLER_PROGRAM,
    folder,
    program,
    server,
  ]);
}

/** Test files run in processes or threads of one program, and share the servers it has: the first that asks starts one. */
async function sharedServer(
  name: string,
  kind: string,
  command: (folder: string, program: string) => readonly string[],
): Promise<string> {
  const program = String(isMainThread ? process.ppid : process.pid);
  const root = serversFolder();
  const folder = join(root, `${kind}-${program}`);
  await mkdir(root, { recursive: true });
  try {
    await mkdir(folder);
    const server = spawn(process.execPath, command(folder, program), {
      detached: true,
      stdio: 'ignore',
    });
    server.unref();
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  const deadline = Date.now() + START_MS;
  for (;;) {
    const ready = await readText(join(folder, 'ready.json'));
    if (ready !== undefined) return (JSON.parse(ready) as { uri: string }).uri;
    const failed = await readText(join(folder, 'failed.txt'));
    if (failed !== undefined) throw new Error(`${name} for tests could not be started: ${failed}`);
    if (Date.now() > deadline) throw new Error(`${name} for tests did not start in time.`);
    await pause(50);
  }
}

/** A schema of its own on a server. */
export type TestSchema = {
  /** Opens the schema. */
  readonly uri: string;
  query(text: string, values?: readonly unknown[]): Promise<readonly Record<string, unknown>[]>;
  remove(): Promise<void>;
};

/** Makes an empty schema on the server for tests, or on another. */
export async function makeSchema(server?: string): Promise<TestSchema> {
  const address = server ?? (await postgresUri());
  const name = `quark_test_${randomUUID().replaceAll('-', '')}`;
  const admin = new pg.Client({ connectionString: address });
  // What the server says when it is killed under it; the next query tells.
  admin.on('error', () => undefined);
  await admin.connect();
  await admin.query(`CREATE SCHEMA ${name}`);
  await admin.query(`SET search_path TO ${name}`);
  const uri = new URL(address);
  uri.searchParams.set('options', `-c search_path=${name}`);
  return {
    uri: uri.href,
    async query(text, values = []) {
      return (await admin.query<Record<string, unknown>>(text, [...values])).rows;
    },
    async remove() {
      await admin.query(`DROP SCHEMA IF EXISTS ${name} CASCADE`);
      await admin.end();
    },
  };
}

/** An address of the server for tests, through its PgBouncer or another. */
export async function throughPooler(uri: string, pooler?: string): Promise<string> {
  const url = new URL(uri);
  url.host = new URL(pooler ?? (await poolerUri())).host;
  return url.href;
}

/** Opens a space with a pool of its own, which ends with the store. */
export async function openSpace(
  uri: string,
  space: string,
  options: PostgresOptions = {},
): Promise<Store> {
  const spaces = await openPostgresSpaces(uri, { maxConnections: 4, ...options });
  const store = spaces.store(space);
  const close = store.close.bind(store);
  store.close = async () => {
    await close();
    await spaces.close();
  };
  return store;
}

/** A server that a test may kill. */
export class DoomedServer {
  readonly uri: string;
  readonly #process: ChildProcess;

  private constructor(uri: string, process: ChildProcess) {
    this.uri = uri;
    this.#process = process;
  }

  /** Starts a PostgreSQL whose commits wait for the disk. */
  static start(): Promise<DoomedServer> {
    return DoomedServer.#run(PROGRAM, ['durable']);
  }

  /** Starts a PgBouncer in front of a server: in transaction mode, with its defaults but for these settings. */
  static startPooler(server: string, settings: object = {}): Promise<DoomedServer> {
    return DoomedServer.#run(POOLER_PROGRAM, [server, JSON.stringify(settings)]);
  }

  static async #run(program: string, args: readonly string[]): Promise<DoomedServer> {
    const folder = join(serversFolder(), `doomed-${randomUUID()}`);
    const child = fork(program, [folder, String(process.pid), ...args], { stdio: 'ignore' });
    const { uri } = await messageOf(child, 'uri');
    return new DoomedServer(String(uri), child);
  }

  /** Kills it (`SIGKILL`, or `SIGQUIT` for an immediate stop) and waits until it has started again. */
  async kill(signal: NodeJS.Signals): Promise<void> {
    const ready = messageOf(this.#process, 'ready');
    this.#process.send({ kill: signal });
    await ready;
  }

  async remove(): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#process.disconnect();
    await ended;
  }
}

function messageOf(child: ChildProcess, field: string): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    const onExit = (): void => {
      reject(new Error('The process of the server has ended.'));
    };
    const onMessage = (message: unknown): void => {
      if (typeof message !== 'object' || message === null) return;
      const told = message as Record<string, unknown>;
      if (!(field in told) && !('failed' in told)) return;
      child.off('message', onMessage);
      child.off('exit', onExit);
      if ('failed' in told) reject(new Error(String(told['failed'])));
      else resolve(told);
    };
    child.on('message', onMessage);
    child.on('exit', onExit);
  });
}

function readText(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined);
}
