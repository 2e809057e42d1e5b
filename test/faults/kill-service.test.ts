/** The service killed under load, at random: what it acknowledged is there, once. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import { Load } from './clients.ts';
import { buildProgram, pause, startService, type Program } from './processes.ts';
import { compareRows } from './rows.ts';
import { rounds } from '../support/property.ts';

const KILLS = rounds(18);
const MAX_LIFE_MS = 120;

let program: Program;
let directory: string;

beforeAll(async () => {
  program = await buildProgram('fault-program.ts');
  directory = await mkdtemp(join(tmpdir(), 'quark-faults-'));
}, 120_000);

afterAll(async () => {
  await program.remove();
  await rm(directory, { recursive: true, force: true });
});

test(
  `the service is killed ${KILLS} times under load: no acknowledged row is lost, none is there twice`,
  async () => {
    let service = startService(program, { storage: directory });
    const port = await service.line('listening');
    const load = new Load({
      uri: () => `http://127.0.0.1:${port}/`,
      clients: 3,
      rowsPerBatch: 50,
    });
    for (let kill = 0; kill < KILLS; kill++) {
      await Promise.race([pause(20 + Math.random() * MAX_LIFE_MS), load.failed]);
      await service.kill();
      service = startService(program, { storage: directory, port: Number(port) });
      await service.line('listening');
    }
    // The last life is long enough for everybody.
    await expect.poll(() => load.requests).toBeGreaterThan(KILLS);
    await load.stop();
    await service.kill();
    const store = await openFileStorage(directory);
    expect(await compareRows(store, load.progress)).toEqual([]);
    await store.close();
  },
  120_000 + KILLS * 2_000,
);
