/** PostgreSQL killed under a service at work, at random: what the service acknowledged is there, once. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openPostgresStorage } from '../../src/store/sql/node/postgres-storage.ts';
import { DoomedServer } from '../support/postgres.ts';
import { Load } from './clients.ts';
import { buildProgram, pause, startService, type Child, type Program } from './processes.ts';
import { compareRows } from './rows.ts';
import { rounds } from '../support/property.ts';

const KILLS = rounds(15);
const MAX_CALM_MS = 200;

let program: Program;
let server: DoomedServer;
let service: Child;

beforeAll(async () => {
  [program, server] = await Promise.all([buildProgram('fault-program.ts'), DoomedServer.start()]);
  service = startService(program, { storage: server.uri });
}, 120_000);

afterAll(async () => {
  await service.stop();
  await server.remove();
  await program.remove();
});

test(
  `PostgreSQL is killed ${KILLS} times under load: no acknowledged row is lost, none is there twice`,
  async () => {
    const port = await service.line('listening');
    const load = new Load({
      uri: () => `http://127.0.0.1:${port}/`,
      clients: 3,
      rowsPerBatch: 50,
      timeoutMs: 10_000,
    });
    for (let kill = 0; kill < KILLS; kill++) {
      await Promise.race([pause(Math.random() * MAX_CALM_MS), load.failed]);
      await server.kill(kill % 3 === 2 ? 'SIGQUIT' : 'SIGKILL');
    }
    await expect.poll(() => load.requests).toBeGreaterThan(KILLS);
    await load.stop();
    // The same process from the first to the last kill.
    expect(service.isRunning, service.problems).toBe(true);
    const store = await openPostgresStorage(server.uri);
    expect(await compareRows(store, load.progress)).toEqual([]);
    await store.close();
  },
  120_000 + KILLS * 5_000,
);
