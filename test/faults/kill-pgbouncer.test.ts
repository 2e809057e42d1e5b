/**
 * Services and PostgreSQL with PgBouncer between them, in transaction mode and with its defaults otherwise. Everything
 * that takes part is killed in turn, in each round: what was acknowledged is there, once, and in order.
 */
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openPostgresStorage } from '../../src/store/sql/node/postgres-storage.ts';
import { findPgbouncer } from '../support/pgbouncer-program.mjs';
import { DoomedServer } from '../support/postgres.ts';
import { rounds } from '../support/property.ts';
import {
  buildProgram,
  pause,
  startSender,
  startService,
  type Child,
  type Program,
} from './processes.ts';
import { compareRows, type Progress, type ProgressByWriter } from './rows.ts';

const ROUNDS = rounds(2);
const SERVICES = 2;
const SENDERS = 4;
const MAX_CALM_MS = 300;
/** With fewer, PgBouncer is always killed last: that spares the 15 s it waits for a server that was away. */
const SHUFFLED_FROM_ROUNDS = 5;
/** PgBouncer tries a server that was away again after 15 s; services try for 15 s, and clients until they are answered. */
const RECOVERY_MS = 90_000;

describe.skipIf(findPgbouncer() === undefined)(
  'pgbouncer (skipped where there is none: apt-get install pgbouncer)',
  () => {
    let program: Program;
    let server: DoomedServer;
    let pooler: DoomedServer;

    beforeAll(async () => {
      [program, server] = await Promise.all([
        buildProgram('fault-program.ts'),
        DoomedServer.start(),
      ]);
      pooler = await DoomedServer.startPooler(server.uri);
    }, 120_000);

    afterAll(async () => {
      await pooler.remove();
      await server.remove();
      await program.remove();
    });

    test(
      `${ROUNDS} rounds of kills: no acknowledged row is lost, doubled or reordered`,
      async () => {
        const field = new Field(program, server, pooler);
        await field.start();
        try {
          for (let round = 0; round < ROUNDS; round++) {
            for (const kill of inOrder(field.kills())) {
              await pause(Math.random() * MAX_CALM_MS);
              await kill();
            }
            await field.recovered();
          }
        } finally {
          await field.stop();
        }
        const store = await openPostgresStorage(server.uri);
        expect(await compareRows(store, field.progress)).toEqual([]);
        await store.close();
        const rows = [...field.progress.values()].reduce((sum, one) => sum + one.acknowledged, 0);
        expect(rows).toBeGreaterThan(ROUNDS * SENDERS);
        console.log(
          `Figures: ${ROUNDS} rounds, ${field.killed} kills, ${rows} acknowledged rows compared by value: none lost, doubled or reordered`,
        );
      },
      120_000 + ROUNDS * (RECOVERY_MS + 10_000),
    );
  },
);

/** Everything that takes part, and the ways in which each of it ends. */
class Field {
  readonly progress: ProgressByWriter = new Map();
  killed = 0;
  readonly #program: Program;
  readonly #server: DoomedServer;
  readonly #pooler: DoomedServer;
  readonly #services: Child[] = [];
  readonly #ports: number[] = [];
  readonly #senders: { readonly child: Child; readonly writer: string }[] = [];
  #lives = 0;

  constructor(program: Program, server: DoomedServer, pooler: DoomedServer) {
    this.#program = program;
    this.#server = server;
    this.#pooler = pooler;
  }

  async start(): Promise<void> {
    // At the same time, on an empty database.
    for (let i = 0; i < SERVICES; i++)
      this.#services.push(startService(this.#program, { storage: this.#pooler.uri }));
    for (const service of this.#services) this.#ports.push(Number(await service.line('listening')));
    for (let i = 0; i < SENDERS; i++) this.#send(i);
    await this.recovered();
  }

  kills(): readonly (() => Promise<void>)[] {
    return [
      () => this.#killSender(),
      () => this.#killService(),
      () => this.#endBackend('by asking'),
      () => this.#endBackend('by signal'),
      () => this.#tellPooler(),
      () => this.#killed(this.#server.kill(pick(['SIGKILL', 'SIGQUIT']))),
      () => this.#killed(this.#pooler.kill(pick(['SIGKILL', 'SIGTERM', 'SIGINT']))),
    ];
  }

  /** Waits until everybody gets on with their work. */
  async recovered(): Promise<void> {
    const before = this.#senders.map(({ child }) => this.#acknowledged(child));
    for (const [i, { child }] of this.#senders.entries()) {
      await expect
        .poll(() => this.#acknowledged(child), { timeout: RECOVERY_MS })
        .toBeGreaterThan(before[i] ?? 0);
      // None has met what it should not have met.
      expect(child.isRunning, child.problems).toBe(true);
    }
  }

  async stop(): Promise<void> {
    for (const { child, writer } of this.#senders) await this.#endSender(child, writer);
    for (const service of this.#services) await service.stop();
  }

  #send(place: number): void {
    const writer = `s${place}-${this.#lives++}`;
    const uri = `http://127.0.0.1:${this.#ports[place % SERVICES]}/`;
    this.#senders[place] = { child: startSender(this.#program, { uri, writer }), writer };
  }

  async #killSender(): Promise<void> {
    const place = Math.floor(Math.random() * SENDERS);
    const sender = this.#senders[place];
    if (sender === undefined) return;
    await this.#killed(this.#endSender(sender.child, sender.writer));
    this.#send(place);
  }

  async #endSender(child: Child, writer: string): Promise<void> {
    await child.kill();
    this.progress.set(writer, progressOf(child));
  }

  async #killService(): Promise<void> {
    const place = Math.floor(Math.random() * SERVICES);
    const port = this.#ports[place];
    if (port === undefined) return;
    await this.#killed(this.#services[place]?.kill());
    // It begins while the others are killed.
    this.#services[place] = startService(this.#program, { storage: this.#pooler.uri, port });
  }

  async #endBackend(how: 'by asking' | 'by signal'): Promise<void> {
    const admin = new pg.Client({ connectionString: this.#server.uri });
    admin.on('error', () => undefined);
    await admin.connect();
    const { rows } = await admin.query<{ pid: number }>(
      "SELECT pid FROM pg_stat_activity WHERE application_name = 'quark' ORDER BY random() LIMIT 1",
    );
    const pid = rows[0]?.pid;
    // None is there while all are still connecting anew.
    if (pid !== undefined) {
      this.killed++;
      // A backend that is killed takes all others with it: the server begins anew.
      if (how === 'by signal') process.kill(pid, 'SIGKILL');
      else await admin.query('SELECT pg_terminate_backend($1)', [pid]);
    }
    await admin.end().catch(() => undefined);
    if (how === 'by signal') await this.#serverTakesConnections();
  }

  async #serverTakesConnections(): Promise<void> {
    await expect
      .poll(
        async () => {
          const client = new pg.Client({ connectionString: this.#server.uri });
          client.on('error', () => undefined);
          try {
            await client.connect();
            await client.end();
            return true;
          } catch {
            return false;
          }
        },
        { timeout: RECOVERY_MS },
      )
      .toBe(true);
  }

  async #tellPooler(): Promise<void> {
    const url = new URL(this.#pooler.uri);
    url.pathname = '/pgbouncer';
    const admin = new pg.Client({ connectionString: url.href });
    await admin.connect();
    for (const command of pick([['RECONNECT'], ['PAUSE', 'RESUME']])) await admin.query(command);
    await admin.end();
  }

  async #killed(work: Promise<void> | undefined): Promise<void> {
    await work;
    this.killed++;
  }

  #acknowledged(child: Child): number {
    return progressOf(child).acknowledged;
  }
}

/** How far a sender has come, as the last thing it has said. */
function progressOf(child: Child): Progress {
  const line = child.lines.findLast((one) => one.startsWith('rows ')) ?? 'rows 0 0';
  const [, tried, acknowledged] = line.split(' ').map(Number);
  return { tried: tried ?? 0, acknowledged: acknowledged ?? 0 };
}

function pick<T>(values: readonly [T, ...T[]]): T {
  return values[Math.floor(Math.random() * values.length)] ?? values[0];
}

function inOrder<T>(values: readonly T[]): readonly T[] {
  if (ROUNDS < SHUFFLED_FROM_ROUNDS) return values;
  return values
    .map((value) => ({ value, place: Math.random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ value }) => value);
}
