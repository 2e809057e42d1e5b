/** Kills while runs are deleted, restored, backed up and swept, in short; `npm run bench -- siege --only=kills --long` is the long form. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { killWhileForgetting, killWhileForgettingOverHttp } from '../../bench/siege/part-kills.ts';
import type { StartService } from '../../bench/siege/kills/fields.ts';
import { makeSchema } from '../support/postgres.ts';
import { rounds } from '../support/property.ts';
import { buildProgram, startService, type Program } from './processes.ts';
import { casesOf } from '../support/long.ts';

const ROUNDS = rounds(3);

let services: Program;
let forgetter: Program;
let folder: string;

beforeAll(async () => {
  services = await buildProgram('fault-program.ts');
  forgetter = await buildProgram('forgetter.ts', 'bench/siege/kills');
  folder = await mkdtemp(join(tmpdir(), 'quark-kills-'));
});

afterAll(async () => {
  await services.remove();
  await forgetter.remove();
  await rm(folder, { recursive: true, force: true });
});

const start: StartService = async (storage, port) => {
  const service = startService(services, { storage, port });
  const listening = Number(await service.line('listening'));
  return { port: listening, kill: () => service.kill(), stop: () => service.stop() };
};

test(
  `${ROUNDS} rounds of kills while runs are deleted, restored, backed up and swept: nothing is lost, and nothing deleted comes back`,
  async () => {
    const { wrong, rows, acts } = await killWhileForgetting(folder, {
      program: forgetter.path,
      rounds: ROUNDS,
      seed: 16,
      start,
    });
    expect(wrong, acts).toEqual([]);
    expect(rows).toBeGreaterThan(0);
  },
  120_000 + ROUNDS * 10_000,
);

test.each(casesOf(['PostgreSQL', 'SQLite'], 1))(
  `${ROUNDS} rounds of kills while runs are deleted, by rules as well, over HTTP, on %s`,
  async (database) => {
    const schema = database === 'PostgreSQL' ? await makeSchema() : undefined;
    const storage = schema?.uri ?? (await mkdtemp(join(folder, 'http-')));
    const { wrong, rows, acts } = await killWhileForgettingOverHttp({
      program: forgetter.path,
      storage,
      rounds: ROUNDS,
      seed: 17,
      start,
    });
    await schema?.remove();
    expect(wrong, acts).toEqual([]);
    expect(rows).toBeGreaterThan(0);
  },
  120_000 + ROUNDS * 10_000,
);
