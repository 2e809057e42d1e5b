/** A pooler in between: how it is noticed, what holds behind it, and what happens when it has no room or goes away. */
import { connect, createServer, type Server, type Socket } from 'node:net';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openPostgresSpaces } from '../../src/store/sql/node/postgres-storage.ts';
import { encodeError } from '../../src/wire/wire-errors.ts';
import { numberCell, sql, sqlOne, textCell } from '../../src/store/sql/sql-database.ts';
import type { StoreSpaces } from '../../src/store/sql/sql-store.ts';
import { findPgbouncer } from '../support/pgbouncer-program.mjs';
import {
  DoomedServer,
  makeSchema,
  postgresUri,
  throughPooler,
  type TestSchema,
} from '../support/postgres.ts';
import { longTest } from '../support/long.ts';
import { RUN_ID, runOf, segmentOf } from '../support/segments.ts';

let schema: TestSchema;
const ending: (() => Promise<void>)[] = [];

async function pooler(settings: object = {}): Promise<DoomedServer> {
  const started = await DoomedServer.startPooler(await postgresUri(), settings);
  ending.push(() => started.remove());
  return started;
}

async function open(uri: string, options = {}): Promise<StoreSpaces> {
  const spaces = await openPostgresSpaces(uri, { maxConnections: 3, ...options });
  ending.push(() => spaces.close());
  return spaces;
}

/** Asks a PgBouncer itself. */
async function tell(where: DoomedServer, command: string): Promise<void> {
  const url = new URL(where.uri);
  url.pathname = '/pgbouncer';
  const admin = new pg.Client({ connectionString: url.href });
  await admin.connect();
  await admin.query(command);
  await admin.end();
}

/** What a session of the server behind a pooler has for a setting, when nobody sets it. */
async function leftBehind(uri: string, name: string): Promise<string> {
  const url = new URL(uri);
  url.search = '';
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  const { rows } = await client.query<{ value: string }>('SELECT current_setting($1) AS value', [
    name,
  ]);
  await client.end();
  return rows[0]?.value ?? '';
}

function settingOf(spaces: StoreSpaces, name: string): Promise<string> {
  return spaces.database.read(function* () {
    const [row] = yield sqlOne('SELECT current_setting(?)', name);
    return row === undefined ? '' : textCell(row, 0);
  });
}

function preparedCount(spaces: StoreSpaces): Promise<number> {
  return spaces.database.read(function* () {
    const [row] = yield sql(
      "SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'quark\\_%'",
    );
    return row === undefined ? 0 : numberCell(row, 0);
  });
}

describe.skipIf(findPgbouncer() === undefined)('pgbouncer (skipped where there is none)', () => {
  beforeAll(async () => {
    schema = await makeSchema();
  }, 120_000);
  afterAll(() => schema.remove());
  afterEach(async () => {
    for (const end of ending.splice(0).toReversed()) await end();
  });

  test.each([
    ['defaults', 'with its defaults', {}],
    ['session', 'in session mode', { pool_mode: 'session' }],
    [
      'silent',
      'that keeps parameters to itself',
      {
        ignore_startup_parameters:
          'statement_timeout, idle_in_transaction_session_timeout, options',
      },
    ],
  ])(
    '%s: %s is noticed: settings hold, and nothing is left in a session',
    async (space, _name, settings) => {
      // One session for everybody: what stays in it is found.
      const where = await pooler({ ...settings, default_pool_size: 1 });
      const uri = await throughPooler(schema.uri, where.uri);
      const spaces = await open(uri, { statementTimeoutMs: 4321 });
      expect(await settingOf(spaces, 'statement_timeout')).toBe('4321ms');
      expect(await settingOf(spaces, 'idle_in_transaction_session_timeout')).toBe('1min');
      expect(await settingOf(spaces, 'search_path')).toMatch(/^quark_test_/);
      const store = spaces.store(space);
      await store.createRun(runOf());
      await store.appendSegments([segmentOf(0), segmentOf(1)]);
      expect(await store.listSegments({ runId: RUN_ID, table: 'metrics' })).toHaveLength(2);
      expect(await preparedCount(spaces)).toBe(0);
      await spaces.close();
      expect(await leftBehind(uri, 'statement_timeout')).toBe('0');
      expect(await leftBehind(uri, 'search_path')).toBe('"$user", public');
    },
  );

  test('a server without a pooler gets statements by name, and its settings once', async () => {
    const spaces = await open(schema.uri, { maxConnections: 1 });
    expect(await preparedCount(spaces)).toBeGreaterThan(0);
    expect(await settingOf(spaces, 'statement_timeout')).toBe('1min');
  });

  test('a pooler that is moved in between later is noticed', async () => {
    const where = await pooler({
      ignore_startup_parameters: 'statement_timeout, idle_in_transaction_session_timeout, options',
      default_pool_size: 2,
    });
    const forwarder = await Forwarder.to(schema.uri);
    ending.push(() => forwarder.close());
    const spaces = await open(forwarder.uri);
    const store = spaces.store('moved');
    await store.createRun(runOf());
    forwarder.target = new URL(where.uri);
    forwarder.cut();
    await Promise.all(
      Array.from({ length: 12 }, (_, batch) => store.appendSegments([segmentOf(batch)])),
    );
    expect(await preparedCount(spaces)).toBe(0);
    expect(await settingOf(spaces, 'search_path')).toMatch(/^quark_test_/);
    const found = await store.listSegments({ runId: RUN_ID, table: 'metrics' });
    expect(found.map(({ batchNumber }) => batchNumber).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 12 }, (_, batch) => batch),
    );
  });

  test('options of an address hold for every statement, whatever their values', async () => {
    const uri = new URL(await throughPooler(schema.uri));
    const path = `"${String(uri.searchParams.get('options')).split('=')[1]}",\\ Public,"a""b"`;
    uri.searchParams.set(
      'options',
      `-c search_path=${path} --work-mem=5MB -c application_name=it's\\ \\\\`,
    );
    uri.searchParams.set('lock_timeout', '777');
    const spaces = await open(uri.href);
    expect(await settingOf(spaces, 'search_path')).toMatch(/^quark_test_\w+, public, "a""b"$/);
    expect(await settingOf(spaces, 'work_mem')).toBe('5MB');
    expect(await settingOf(spaces, 'application_name')).toBe("it's \\");
    expect(await settingOf(spaces, 'lock_timeout')).toBe('777ms');
    uri.searchParams.set('lock_timeout', 'soon');
    await expect(openPostgresSpaces(uri.href)).rejects.toMatchObject({ code: 'invalid_input' });
  });

  test('pooler=true is not looked for, pooler=false is taken at its word', async () => {
    const through = await throughPooler(schema.uri);
    const spaces = await open(`${schema.uri}&pooler=true`);
    expect(await settingOf(spaces, 'statement_timeout')).toBe('1min');
    expect(await preparedCount(spaces)).toBe(0);
    await expect(openPostgresSpaces(`${through}&pooler=false`)).rejects.toMatchObject({
      reason: 'failed',
      message: expect.stringContaining('A pooler is in between') as string,
    });
    await expect(openPostgresSpaces(`${through}&pooler=maybe`)).rejects.toMatchObject({
      code: 'invalid_input',
    });
  });

  test('statement mode, in which there are no transactions, is refused in words that say so', async () => {
    const where = await pooler({ pool_mode: 'statement' });
    await expect(
      openPostgresSpaces(await throughPooler(schema.uri, where.uri)),
    ).rejects.toMatchObject({
      reason: 'failed',
      message: expect.stringContaining('pool_mode = transaction') as string,
    });
  });

  test('databases and users that it does not know are told apart', async () => {
    const wrong = new URL(await throughPooler(schema.uri));
    wrong.password = 's3cret';
    await expect(openPostgresSpaces(wrong.href)).rejects.toMatchObject({ reason: 'unauthorised' });
    wrong.username = 'nobody_here';
    await expect(openPostgresSpaces(wrong.href)).rejects.toMatchObject({ reason: 'unauthorised' });
    const missing = new URL(await throughPooler(schema.uri));
    missing.pathname = '/not_there';
    await expect(openPostgresSpaces(missing.href, { retryTimeoutMs: 0 })).rejects.toMatchObject({
      reason: 'missing',
    });
  });

  test('an empty schema opened by many at the same moment', async () => {
    const empty = await makeSchema();
    ending.push(() => empty.remove());
    const uri = await throughPooler(empty.uri);
    const all = await Promise.all(
      Array.from({ length: 8 }, () => open(uri, { maxConnections: 1 })),
    );
    await Promise.all(all.map((one, i) => one.store('').createRun(runOf({ id: `run_${i}` }))));
    expect(await all[0]?.store('').listRuns()).toHaveLength(all.length);
  });

  test('a statement is ended by the server after its time, and the connection is used again', async () => {
    const uri = await throughPooler(schema.uri);
    const spaces = await open(uri, { statementTimeoutMs: 150, retryTimeoutMs: 0 });
    const sleep = spaces.database.read(function* () {
      yield sql('SELECT pg_sleep(60)');
    });
    await expect(sleep).rejects.toMatchObject({ reason: 'busy', details: { code: '57014' } });
    const change = spaces.database.transaction(function* () {
      yield sql("UPDATE runs SET status = 'slept' WHERE pg_sleep(60) IS NOT NULL");
      yield sql('SELECT pg_sleep(60)');
    });
    await expect(change).rejects.toMatchObject({ reason: 'busy' });
    expect(await spaces.store('').listRuns()).toBeInstanceOf(Array);
  });

  test('no room for another connection: tried again until there is, and told as "busy" when there is none', async () => {
    const where = await pooler({ max_client_conn: 2 });
    const uri = await throughPooler(schema.uri, where.uri);
    const spaces = await open(uri, { maxConnections: 1 });
    const store = spaces.store('room');
    await store.createRun(runOf());
    const guest = new pg.Client({ connectionString: where.uri });
    await guest.connect();
    const refused: unknown = await openPostgresSpaces(uri, { retryTimeoutMs: 0 }).catch(
      (error: unknown) => error,
    );
    expect(refused).toMatchObject({ reason: 'busy' });
    // What a client of a service is told.
    expect(encodeError(refused)).toMatchObject({ status: 503, retryAfterSeconds: 1 });
    const late = open(uri, { maxConnections: 1 });
    await store.appendSegments([segmentOf(0)]);
    await guest.end();
    expect(await (await late).store('room').listRuns()).toHaveLength(1);
  });

  test('a pooler that waits, connects anew, drops idle sessions, or is killed, is a pause', async () => {
    const where = await pooler({
      server_idle_timeout: 1,
      query_wait_timeout: 1,
      server_login_retry: 1,
    });
    const uri = await throughPooler(schema.uri, where.uri);
    const spaces = await open(uri);
    const store = spaces.store('pause');
    await store.createRun(runOf());
    let batch = 0;
    const append = async (): Promise<void> => {
      await store.appendSegments([segmentOf(batch++)]);
    };
    await append();
    const impatient = await open(uri, { maxConnections: 1, retryTimeoutMs: 0 });
    await tell(where, 'PAUSE');
    const waiting = [append(), append(), store.listRuns()];
    // Who has waited in the queue for as long as one may is told to go.
    await expect(impatient.store('pause').listRuns()).rejects.toMatchObject({ reason: 'busy' });
    await tell(where, 'RESUME');
    await Promise.all(waiting);
    await tell(where, 'RECONNECT');
    await append();
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      const during = [append(), append()];
      await where.kill(signal);
      await Promise.all(during);
      await append();
    }
    const placed = await store.listSegments({ runId: RUN_ID, table: 'metrics' });
    expect(placed.map((one) => one.firstSequence)).toEqual(
      Array.from({ length: batch }, (_, i) => i * 10),
    );
  });

  longTest(
    'a pooler that asks the server again only after 15 s is a pause, though its queue is left after one',
    async () => {
      const forwarder = await Forwarder.to(await postgresUri());
      ending.push(() => forwarder.close());
      const where = await DoomedServer.startPooler(forwarder.uri, { query_wait_timeout: 1 });
      ending.push(() => where.remove());
      const spaces = await open(await throughPooler(schema.uri, where.uri));
      const store = spaces.store('login');
      await store.createRun(runOf());
      const { target } = forwarder;
      const nobody = await Forwarder.to(schema.uri);
      forwarder.target = new URL(nobody.uri);
      await nobody.close();
      forwarder.cut();
      const appended = store.appendSegments([segmentOf(0)]);
      // The pooler meets nobody, and rests.
      await expect(
        openPostgresSpaces(await throughPooler(schema.uri, where.uri), { retryTimeoutMs: 0 }),
      ).rejects.toMatchObject({ code: 'store_failed' });
      forwarder.target = target;
      await appended;
      expect(await store.listSegments({ runId: RUN_ID, table: 'metrics' })).toHaveLength(1);
    },
  );
});

/** A port behind which the server can be changed. */
class Forwarder {
  target: URL;
  uri = '';
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;

  private constructor(target: URL) {
    this.target = target;
    this.#server = createServer((client) => {
      const server = connect(Number(this.target.port), this.target.hostname);
      for (const [one, other] of [
        [client, server],
        [server, client],
      ] as const) {
        this.#sockets.add(one);
        one.on('error', () => undefined);
        one.on('close', () => other.destroy());
        one.pipe(other);
      }
    });
  }

  static async to(uri: string): Promise<Forwarder> {
    const url = new URL(uri);
    const forwarder = new Forwarder(new URL(uri));
    await new Promise<void>((resolve) => {
      forwarder.#server.listen(0, '127.0.0.1', resolve);
    });
    const address = forwarder.#server.address();
    if (typeof address !== 'object' || address === null) throw new Error('It listens.');
    url.port = String(address.port);
    forwarder.uri = url.href;
    return forwarder;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }
}
