/** A network that fails in every way between clients and the service: what was acknowledged is there, once. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openHttpStorage } from '../../src/wire/http-store.ts';
import { Load } from './clients.ts';
import { buildProgram, pause, startService, type Child, type Program } from './processes.ts';
import { FaultyProxy, NETWORK_FAULTS } from './proxy.ts';
import { compareRows } from './rows.ts';
import { rounds } from '../support/property.ts';

const EACH_FAULT = rounds(5);

let program: Program;
let directory: string;
let service: Child;
let proxy: FaultyProxy;

beforeAll(async () => {
  program = await buildProgram('fault-program.ts');
  directory = await mkdtemp(join(tmpdir(), 'quark-faults-'));
  service = startService(program, { storage: directory });
  proxy = await FaultyProxy.start(Number(await service.line('listening')));
}, 120_000);

afterAll(async () => {
  await proxy.close();
  await service.stop();
  await program.remove();
  await rm(directory, { recursive: true, force: true });
});

test(
  `a network that drops, delays, truncates, duplicates and reorders, ${EACH_FAULT} times each: nothing is lost or doubled`,
  async () => {
    const load = new Load({
      uri: () => proxy.uri,
      clients: 4,
      rowsPerBatch: 40,
      timeoutMs: 1_200,
    });
    const isEnough = (): boolean =>
      load.requests > EACH_FAULT &&
      NETWORK_FAULTS.every((fault) => (proxy.counts.get(fault) ?? 0) >= EACH_FAULT);
    while (!isEnough()) await Promise.race([pause(20), load.failed]);
    await load.stop();
    const port = Number(await service.line('listening'));
    const store = await openHttpStorage(`http://127.0.0.1:${port}/`);
    expect(await compareRows(store, load.progress)).toEqual([]);
    await store.close();
    expect(service.isRunning, service.problems).toBe(true);
  },
  180_000 + EACH_FAULT * 20_000,
);
