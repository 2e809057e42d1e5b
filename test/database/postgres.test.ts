/** What is special about PostgreSQL: addresses, refusals, retries, and commits whose end nobody knows. */
import { connect, createServer, type Server, type Socket } from 'node:net';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { longTest } from '../support/long.ts';
import {
  openPostgresSpaces,
  openPostgresStorage,
} from '../../src/store/sql/node/postgres-storage.ts';
import { openStorage } from '../../src/location/open-storage.ts';
import { sql, sqlOne, numberCell } from '../../src/store/sql/sql-database.ts';
import { SQL_LAYOUT_VERSION } from '../../src/store/sql/sql-layout.ts';
import type { StoreSpaces } from '../../src/store/sql/sql-store.ts';
import type { Store } from '../../src/store/store.ts';
import { makeSchema, openSpace, type TestSchema } from '../support/postgres.ts';
import { mergeOf, RUN_ID, runOf, segmentOf } from '../support/segments.ts';

let schema: TestSchema;

beforeAll(async () => {
  schema = await makeSchema();
}, 120_000);
afterAll(() => schema.remove());

/** The message and all that is told with an error. */
async function failureOf(work: Promise<unknown>): Promise<{ reason: unknown; text: string }> {
  const error: unknown = await work.then(
    () => new Error('It did not fail.'),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof Error)) throw new Error('Something else was thrown.');
  const details = 'details' in error ? error.details : {};
  const cause = error.cause instanceof Error ? `${error.cause.message} ${error.cause.stack}` : '';
  return {
    reason: 'reason' in error ? error.reason : undefined,
    text: `${error.message} ${error.stack} ${JSON.stringify(details)} ${cause}`,
  };
}

describe('opening', () => {
  test('by openStorage; the address it shows opens it again, given the password by other ways', async () => {
    const store = await openStorage(schema.uri.replace('postgresql:', 'postgres:'));
    const { password, username, host } = new URL(schema.uri);
    expect(store.uri).toBe(`postgresql://${username}@${host}/postgres`);
    expect(store.uri).not.toContain(password);
    expect(store.location.dbPath).toBe(store.uri);
    await store.close();
  });

  test.each([
    ['postgresql://quark:s3cret@[bad/db', 'invalid_input'],
    ['postgresql://quark:s3cret@127.0.0.1:99999/db', 'invalid_input'],
    ['postgresql://quark:s3cret@127.0.0.1:1/db?prepare=maybe', 'invalid_input'],
  ])('%s is refused without showing the password', async (uri, code) => {
    await expect(openPostgresStorage(uri)).rejects.toMatchObject({ code });
    expect((await failureOf(openPostgresStorage(uri))).text).not.toContain('s3cret');
  });

  test('nobody there, a wrong password, no such database: told apart, without the password', async () => {
    const gone = 'postgresql://quark:s3cret@127.0.0.1:1/db';
    const wrong = new URL(schema.uri);
    wrong.password = 's3cret';
    const nowhere = new URL(schema.uri);
    nowhere.pathname = '/not_there';
    const quick = { retryTimeoutMs: 0 };
    const unreachable = await failureOf(openPostgresSpaces(gone, quick));
    const unauthorised = await failureOf(openPostgresSpaces(wrong.href, quick));
    const missing = await failureOf(openPostgresSpaces(nowhere.href, quick));
    expect([unreachable.reason, unauthorised.reason, missing.reason]).toEqual([
      'unreachable',
      'unauthorised',
      'missing',
    ]);
    expect(unreachable.text).toContain('127.0.0.1:1');
    for (const failure of [unreachable, unauthorised, missing])
      expect(failure.text).not.toContain('s3cret');
    expect(missing.text).not.toContain(nowhere.password);
  });

  test('a store that should be there and is not, is not made', async () => {
    const empty = await makeSchema();
    await expect(openPostgresStorage(empty.uri, { create: false })).rejects.toMatchObject({
      reason: 'missing',
    });
    expect(await tablesOf(empty)).toEqual([]);
    await (await openPostgresStorage(empty.uri)).close();
    await (await openPostgresStorage(empty.uri, { create: false })).close();
    await empty.remove();
  });

  test('an empty schema opened by many at the same moment', async () => {
    const empty = await makeSchema();
    const stores = await Promise.all(
      Array.from({ length: 10 }, () => openSpace(empty.uri, '', { maxConnections: 1 })),
    );
    await Promise.all(stores.map((one, i) => one.createRun(runOf({ id: `run_${i}` }))));
    expect(await stores[0]?.listRuns()).toHaveLength(stores.length);
    for (const one of stores) await one.close();
    await empty.remove();
  });

  test('tables of another program are left alone', async () => {
    const foreign = await makeSchema();
    await foreign.query('CREATE TABLE runs (something TEXT)');
    await expect(openPostgresStorage(foreign.uri)).rejects.toMatchObject({
      reason: 'corrupt',
      message: expect.stringContaining('another program') as string,
    });
    expect(await tablesOf(foreign)).toEqual(['runs']);
    await foreign.remove();
  });

  test('a newer layout is refused and stays as it is', async () => {
    const newer = await makeSchema();
    await (await openPostgresStorage(newer.uri)).close();
    await newer.query('UPDATE quark_layout SET version = version + 1');
    await expect(openPostgresStorage(newer.uri)).rejects.toMatchObject({
      reason: 'version',
      message: expect.stringContaining(`layout ${SQL_LAYOUT_VERSION + 1}`) as string,
    });
    await newer.remove();
  });

  test.each([
    { maxConnections: 0 },
    { connectTimeoutMs: -1 },
    { statementTimeoutMs: 0.5 },
    { retryTimeoutMs: Number.NaN },
    { retries: 3 },
  ])('options %j are refused', async (options) => {
    await expect(openPostgresSpaces(schema.uri, options)).rejects.toMatchObject({
      code: 'invalid_input',
    });
  });
});

async function tablesOf(where: TestSchema): Promise<unknown[]> {
  const rows = await where.query(
    'SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()',
  );
  return rows.map((row) => row['table_name']);
}

describe('transactions', () => {
  let spaces: StoreSpaces;
  let store: Store;
  let runCount = 0;

  beforeEach(async () => {
    spaces = await openPostgresSpaces(schema.uri, { maxConnections: 4, retryTimeoutMs: 3000 });
    store = spaces.store(`space/${++runCount}`);
    await store.createRun(runOf());
  });
  afterEach(() => spaces.close());

  test('a run that somebody holds does not hold up another one', async () => {
    await store.createRun(runOf({ id: 'run_2' }));
    await store.appendSegments([segmentOf(0), segmentOf(0, { runId: 'run_2' })]);
    const other = new pg.Client({ connectionString: schema.uri });
    await other.connect();
    await other.query('BEGIN');
    await other.query("SELECT * FROM streams WHERE run_id = 'run_1' FOR UPDATE");
    let isDone = false;
    const held = store.appendSegments([segmentOf(1)]).then((placed) => {
      isDone = true;
      return placed;
    });
    // More of them than there are connections: they wait behind each other, not in the pool.
    const behind = Array.from({ length: 8 }, (_, i) => store.appendSegments([segmentOf(i + 2)]));
    const free = await Promise.all(
      [1, 2, 3].map((batch) => store.appendSegments([segmentOf(batch, { runId: 'run_2' })])),
    );
    expect(free.map(([placed]) => placed?.firstSequence)).toEqual([10, 20, 30]);
    expect(isDone).toBe(false);
    await other.query('COMMIT');
    await other.end();
    expect((await held)[0]?.firstSequence).toBe(10);
    expect((await Promise.all(behind)).map(([placed]) => placed?.firstSequence)).toEqual(
      Array.from({ length: 8 }, (_, i) => 20 + i * 10),
    );
  });

  test('a transaction that lost a race is run again, with what the other one left', async () => {
    await schema.query('CREATE TABLE IF NOT EXISTS counters (id BIGINT PRIMARY KEY, n BIGINT)');
    await schema.query('INSERT INTO counters VALUES ($1, 0)', [runCount]);
    let attempts = 0;
    const add = (): Promise<void> =>
      spaces.database.transaction(function* () {
        attempts++;
        yield sql('SET TRANSACTION ISOLATION LEVEL SERIALIZABLE');
        const [row] = yield sqlOne('SELECT n FROM counters WHERE id = ?', runCount);
        const n = row === undefined ? 0 : numberCell(row, 0);
        // All read before the first writes. Without this wait, a fast machine may run them one after the other.
        if (attempts <= 12) yield sql('SELECT pg_sleep(0.05)');
        yield sql('UPDATE counters SET n = ? WHERE id = ?', n + 1, runCount);
      });
    await Promise.all(Array.from({ length: 12 }, add));
    expect(await schema.query('SELECT n FROM counters WHERE id = $1', [runCount])).toEqual([
      { n: '12' },
    ]);
    expect(attempts).toBeGreaterThan(12);
  });

  test('a deadlock is resolved, not told', async () => {
    await schema.query('CREATE TABLE IF NOT EXISTS pairs (id TEXT PRIMARY KEY, n BIGINT)');
    const [a, b] = [`a${runCount}`, `b${runCount}`];
    await schema.query('INSERT INTO pairs VALUES ($1, 0), ($2, 0)', [a, b]);
    const touch = (first: string, second: string): Promise<void> =>
      spaces.database.transaction(function* () {
        yield sql('UPDATE pairs SET n = n + 1 WHERE id = ?', first);
        yield sql('SELECT pg_sleep(0.05)');
        yield sql('UPDATE pairs SET n = n + 1 WHERE id = ?', second);
      });
    await Promise.all([touch(a, b), touch(b, a)]);
    expect(await schema.query('SELECT n FROM pairs WHERE id IN ($1, $2)', [a, b])).toEqual([
      { n: '2' },
      { n: '2' },
    ]);
  });

  test('work that throws changes nothing, and the connection is used again', async () => {
    const work = spaces.database.transaction(function* () {
      yield sql("UPDATE runs SET status = 'failed'");
      throw new Error('on purpose');
    });
    await expect(work).rejects.toMatchObject({ reason: 'failed' });
    expect((await store.findRun(RUN_ID))?.status).toBe('running');
  });

  test('a server that refuses to begin is given nothing to change', async () => {
    const query = Reflect.get(pg.Client.prototype, 'query') as (...args: unknown[]) => unknown;
    const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function refuse(
      this: pg.Client,
      ...args: unknown[]
    ) {
      const [text] = args;
      const isBegin = typeof text === 'string' && text.startsWith('BEGIN');
      return Reflect.apply(query, this, isBegin ? ['BEGIN NONSENSE'] : args);
    });
    try {
      const run = await store.findRun(RUN_ID);
      if (run === undefined) throw new Error('It was made.');
      for (const change of [
        () => store.updateRun({ ...run, status: 'failed' }),
        () => store.createRun(runOf({ id: 'run_2' })),
        () => store.appendSegments([segmentOf(0)]),
        () => store.renewLease(RUN_ID, 'holder', 60_000),
      ])
        await expect(change()).rejects.toMatchObject({ code: 'store_failed' });
    } finally {
      spy.mockRestore();
    }
    expect(await store.listRuns()).toMatchObject([{ id: RUN_ID, status: 'running', revision: 1 }]);
    expect(await store.listLeases()).toEqual([]);
    expect(await store.listSegments({ runId: RUN_ID, table: 'metrics' })).toEqual([]);
    await store.appendSegments([segmentOf(0)]);
  });

  test('a whole number that is not exact is damage, not a wrong number', async () => {
    const work = spaces.database.read(function* () {
      const [row] = yield sql('SELECT 9007199254740993::bigint');
      return row;
    });
    await expect(work).rejects.toMatchObject({ reason: 'corrupt' });
  });

  test('a value that the server does not take is refused, and nothing beside it is written', async () => {
    const work = spaces.database.transaction(function* () {
      yield sql("UPDATE runs SET status = 'failed'");
      yield sql('UPDATE runs SET document = ?', 'not\u0000fine');
    });
    await expect(work).rejects.toMatchObject({ reason: 'rejected' });
    expect((await store.findRun(RUN_ID))?.status).toBe('running');
  });

  test('a lock that is held for too long ends as "busy", and says that nothing was written', async () => {
    const impatient = await openPostgresSpaces(schema.uri, {
      statementTimeoutMs: 100,
      retryTimeoutMs: 0,
    });
    const mine = impatient.store(`space/${runCount}`);
    await store.appendSegments([segmentOf(0)]);
    const other = new pg.Client({ connectionString: schema.uri });
    await other.connect();
    await other.query('BEGIN');
    await other.query('SELECT * FROM streams FOR UPDATE');
    await expect(mine.appendSegments([segmentOf(1)])).rejects.toMatchObject({
      reason: 'busy',
      message: expect.stringContaining('nothing was written') as string,
    });
    await other.query('COMMIT');
    await other.end();
    expect(await mine.appendSegments([segmentOf(1)])).toMatchObject([{ firstSequence: 10 }]);
    await impatient.close();
  });

  test('a connection that the server ends is replaced without a word', async () => {
    await store.appendSegments([segmentOf(0)]);
    await schema.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'quark'",
    );
    expect(await store.appendSegments([segmentOf(1)])).toMatchObject([{ firstSequence: 10 }]);
  });
});

/** A way to the server that ends the connection at a moment of its choice. */
class Cutter {
  /** Whether the next COMMIT is the last thing that gets through, or does not get through. */
  mode: 'open' | 'after commit' | 'before commit' = 'open';
  cuts = 0;
  /** Whether nobody gets through at all, and how many have tried. */
  isShut = false;
  refused = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(target: URL) {
    this.#server = createServer((client) => {
      if (this.isShut) {
        this.refused++;
        client.destroy();
        return;
      }
      const server = connect(Number(target.port), target.hostname);
      for (const socket of [client, server]) {
        this.#sockets.add(socket);
        socket.on('error', () => undefined);
        socket.on('close', () => {
          client.destroy();
          server.destroy();
        });
      }
      let isDeaf = false;
      client.on('data', (data) => {
        const isCommit = this.mode !== 'open' && data.includes('COMMIT\0');
        if (isCommit) {
          this.cuts++;
          isDeaf = true;
          const isLost = this.mode === 'before commit';
          this.mode = 'open';
          if (isLost) {
            client.destroy();
            return;
          }
        }
        if (this.isShut) client.destroy();
        else server.write(data);
      });
      server.on('data', (data) => {
        // The server has answered: it has committed. Nobody is told.
        if (isDeaf) client.destroy();
        else client.write(data);
      });
    });
  }

  static async before(uri: string): Promise<{ cutter: Cutter; uri: string }> {
    const url = new URL(uri);
    const cutter = new Cutter(new URL(uri));
    await new Promise<void>((resolve) => {
      cutter.#server.listen(0, '127.0.0.1', resolve);
    });
    const address = cutter.#server.address();
    if (typeof address !== 'object' || address === null) throw new Error('It listens.');
    url.port = String(address.port);
    return { cutter, uri: url.href };
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }
}

describe('a connection that is lost under a COMMIT', () => {
  let cutter: Cutter;
  let uri: string;
  let spaces: StoreSpaces;
  let store: Store;
  let space = 0;

  beforeAll(async () => {
    ({ cutter, uri } = await Cutter.before(schema.uri));
  });
  afterAll(() => cutter.close());
  beforeEach(async () => {
    cutter.cuts = 0;
    spaces = await openPostgresSpaces(uri, { maxConnections: 2, retryTimeoutMs: 5000 });
    store = spaces.store(`cut/${++space}`);
  });
  afterEach(() => spaces.close());

  test.each(['after commit', 'before commit'] as const)(
    'cut %s: every change happens once, and its caller learns what happened',
    async (mode) => {
      cutter.mode = mode;
      const run = await store.createRun(runOf({ tags: ['a'] }));
      expect(run.revision).toBe(1);

      cutter.mode = mode;
      expect(await store.updateRun({ ...run, status: 'failed' })).toEqual({
        kind: 'updated',
        run: { ...run, status: 'failed', revision: 2 },
      });
      expect((await store.findRun(RUN_ID))?.revision).toBe(2);

      cutter.mode = mode;
      const placed = await store.appendSegments([segmentOf(0), segmentOf(1)]);
      expect(placed.map((one) => one.firstSequence)).toEqual([0, 10]);

      cutter.mode = mode;
      const merged = mergeOf(placed);
      expect(await store.replaceSegments(RUN_ID, 'metrics', placed, [merged])).toBe(true);
      expect(await store.listSegments({ runId: RUN_ID, table: 'metrics' })).toEqual([
        merged.manifest,
      ]);

      cutter.mode = mode;
      await store.replaceTable(RUN_ID, 'alerts', [segmentOf(0, { table: 'alerts' })]);
      expect(await store.listSegments({ runId: RUN_ID, table: 'alerts' })).toHaveLength(1);

      cutter.mode = mode;
      await store.renewLease(RUN_ID, 'holder', 1000);
      expect(cutter.cuts).toBe(6);
    },
  );

  test('the change of somebody else is not taken for one’s own', async () => {
    const direct = await openPostgresSpaces(schema.uri, { maxConnections: 1 });
    const other = direct.store(`cut/${space}`);
    const run = await store.createRun(runOf());
    cutter.mode = 'before commit';
    // The same change by another client, between the attempts.
    const stolen = new Promise((resolve) => {
      const timer = setInterval(() => {
        if (cutter.cuts === 0) return;
        clearInterval(timer);
        resolve(other.updateRun({ ...run, status: 'failed' }));
      }, 0);
    });
    const mine = await store.updateRun({ ...run, status: 'failed' });
    const theirs = await stolen;
    const kinds = [mine, theirs].map((result) => (result as { kind: string }).kind).sort();
    expect(kinds).toEqual(['conflict', 'updated']);
    await direct.close();
  });

  longTest(
    'a server that stays away: what waits behind other work fails with it, and goes on when it is back',
    async () => {
      const hasty = await openPostgresSpaces(uri, { retryTimeoutMs: 400, maxConnections: 2 });
      const waiting = hasty.store(`cut/${space}`);
      await waiting.createRun(runOf());
      cutter.isShut = true;
      const calls = Array.from({ length: 20 }, (_, i) => waiting.appendSegments([segmentOf(i)]));
      const ends = await Promise.allSettled(calls);
      expect(new Set(ends.map((end) => end.status))).toEqual(new Set(['rejected']));
      // Each waiting for itself, they would have tried more than a hundred times.
      expect(cutter.refused).toBeLessThan(60);
      cutter.isShut = false;
      expect(await waiting.appendSegments([segmentOf(0)])).toMatchObject([{ firstSequence: 0 }]);
      await hasty.close();
    },
  );

  test('with nobody to ask any more, the error says that the end is not known', async () => {
    const hasty = await openPostgresSpaces(uri, { retryTimeoutMs: 0 });
    cutter.mode = 'after commit';
    await expect(hasty.store(`cut/${space}`).createRun(runOf())).rejects.toMatchObject({
      reason: 'unreachable',
      details: { outcome: 'unknown' },
      message: expect.stringContaining('may have been made') as string,
    });
    await hasty.close();
    // It was.
    expect(await store.findRun(RUN_ID)).toBeDefined();
  });
});
