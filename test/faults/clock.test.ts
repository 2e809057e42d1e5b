/** A service whose clock jumps by hours, both ways, while leases are renewed and segments arrive. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import { Load } from './clients.ts';
import { buildProgram, pause, startService, type Child, type Program } from './processes.ts';
import { compareRows, RUN_ID } from './rows.ts';

const HOUR_MS = 3_600_000;
const JUMPS_MS = [3, -5, 0, 26, -26, 1, 0].map((hours) => hours * HOUR_MS);

let program: Program;
let directory: string;
let service: Child | undefined;

beforeAll(async () => {
  program = await buildProgram('fault-program.ts');
  directory = await mkdtemp(join(tmpdir(), 'quark-faults-'));
}, 120_000);

afterAll(async () => {
  // Where the test has failed.
  if (service?.isRunning) await service.kill();
  await program.remove();
  await rm(directory, { recursive: true, force: true });
});

test('the clock of the service jumps by hours: uploads and leases go on, nothing is lost or doubled', async () => {
  // So few requests a second that three clients reach the limit all the time, on a busy machine as well: the refusal must not
  // name a time hours away.
  const limits = { requestsPerSecond: 5, requestBurst: 12 };
  service = startService(program, { storage: directory, limits });
  const uri = `http://127.0.0.1:${await service.line('listening')}/`;
  const load = new Load({ uri: () => uri, clients: 3, rowsPerBatch: 20, leaseTtlMs: 60_000 });
  for (const clockOffsetMs of JUMPS_MS) {
    while (!load.failures.has('busy')) await Promise.race([pause(5), load.failed]);
    load.failures.clear();
    service.tell({ clockOffsetMs });
    const before = load.requests;
    while (load.requests < before + 4 || !load.failures.has('busy'))
      await Promise.race([pause(5), load.failed]);
    expect(load.failures.get('busy')?.details['retryAfterMs']).toBeLessThan(HOUR_MS / 2);
  }
  // Still so after the last jump.
  while (!load.failures.has('busy')) await Promise.race([pause(5), load.failed]);
  await load.stop();
  expect(await service.stop()).toBe('0');
  const store = await openFileStorage(directory);
  const leases = await store.listLeases([RUN_ID]);
  expect(leases.map(({ holder }) => holder)).toEqual(['w0', 'w1', 'w2']);
  // Renewed since the last jump: none lasts for hours.
  for (const { expiresAtMs } of leases)
    expect(Math.abs(expiresAtMs - Date.now())).toBeLessThan(HOUR_MS / 2);
  expect(await compareRows(store, load.progress)).toEqual([]);
  await store.close();
}, 120_000);
