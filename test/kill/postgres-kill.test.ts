/** PostgreSQL, with clients killed at random moments, and the server killed under clients that go on. */
import { spawn, type ChildProcess } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openPostgresStorage } from '../../src/store/sql/node/postgres-storage.ts';
import { bundledProgram, removeProgram } from '../support/bundled-program.ts';
import { DoomedServer, makeSchema } from '../support/postgres.ts';
import { rounds } from '../support/property.ts';
import { inspect } from './workload.ts';

const CLIENTS = 3;
const CLIENT_ROUNDS = rounds(2);
const SERVER_KILLS = rounds(3);
const MAX_LIFE_MS = 300;
/** Of the server, between two kills. */
const MAX_CALM_MS = 1500;

let program: string;

beforeAll(async () => {
  program = await bundledProgram('test/kill/kill-child.ts');
}, 120_000);

afterAll(() => removeProgram(program));

/** A client at work. */
class Client {
  readonly #process: ChildProcess;
  readonly #ended: Promise<void>;
  /** Resolves with the first thing it says. */
  readonly begun: Promise<void>;
  #output = '';
  #problems = '';

  constructor(uri: string, writerId: string) {
    const child = spawn(process.execPath, [program, uri, writerId], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#process = child;
    this.begun = new Promise((resolve) => {
      child.stdout.on('data', (data: Buffer) => {
        this.#output += data.toString();
        resolve();
      });
      child.on('close', () => resolve());
    });
    child.stderr.on('data', (data: Buffer) => {
      this.#problems += data.toString();
    });
    this.#ended = new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (_code, signal) => {
        if (signal === 'SIGKILL') resolve();
        else reject(new Error(`The client ended by itself: ${this.#problems}`));
      });
    });
    this.#ended.catch(() => undefined);
  }

  /** What it has said so far. What follows the last line break may be cut off: it does not count. */
  get acknowledged(): string[] {
    return this.#output.split('\n').slice(1, -1);
  }

  async kill(): Promise<string[]> {
    this.#process.kill('SIGKILL');
    await this.#ended;
    return this.acknowledged;
  }
}

test(
  `${CLIENT_ROUNDS * CLIENTS} clients killed: what was acknowledged is there exactly once`,
  async () => {
    const schema = await makeSchema();
    const acknowledged: string[] = [];
    // The first of them make the tables, at the same time.
    for (let round = 0; round < CLIENT_ROUNDS; round++) {
      const lines = await Promise.all(
        Array.from({ length: CLIENTS }, async (_, i) => {
          const client = new Client(schema.uri, `w${round}-${i}`);
          await client.begun;
          // Some are killed before they have kept anything; the first of a round has.
          if (i === 0) await expect.poll(() => client.acknowledged.length).toBeGreaterThan(0);
          await pause(Math.random() * MAX_LIFE_MS);
          return client.kill();
        }),
      );
      acknowledged.push(...lines.flat());
      const store = await openPostgresStorage(schema.uri);
      expect(await inspect(store, acknowledged)).toEqual([]);
      await store.close();
    }
    expect(acknowledged.length).toBeGreaterThanOrEqual(CLIENT_ROUNDS);
    await schema.remove();
  },
  60_000 + 15_000 * CLIENT_ROUNDS,
);

test(
  `the server killed ${SERVER_KILLS} times under load: clients go on, nothing acknowledged is lost or doubled`,
  async () => {
    const server = await DoomedServer.start();
    try {
      const clients = Array.from({ length: CLIENTS }, (_, i) => new Client(server.uri, `w${i}`));
      await Promise.all(clients.map((client) => client.begun));
      for (let kill = 0; kill < SERVER_KILLS; kill++) {
        await pause(Math.random() * MAX_CALM_MS);
        const before = clients.map((client) => client.acknowledged.length);
        await server.kill(kill % 2 === 0 ? 'SIGKILL' : 'SIGQUIT');
        // Each of them finds the server again and gets on with its work.
        for (const [i, client] of clients.entries())
          await expect
            .poll(() => client.acknowledged.length, { timeout: 30_000 })
            .toBeGreaterThan(before[i] ?? 0);
      }
      const acknowledged = (await Promise.all(clients.map((client) => client.kill()))).flat();
      const store = await openPostgresStorage(server.uri);
      expect(await inspect(store, acknowledged)).toEqual([]);
      await store.close();
    } finally {
      await server.remove();
    }
  },
  60_000 + 30_000 * SERVER_KILLS,
);
