/** Power cuts in short; `npm run bench -- siege --only=powercut --long` is the long form. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cutPower } from '../../bench/siege/part-powercut.ts';
import { Verifier } from '../../bench/siege/powercut/check.ts';
import { resendAfterCuts } from '../../bench/siege/powercut/resend.ts';
import { buildProgram, startService, type Program } from './processes.ts';

const PLAN = { seed: 16, steps: 18, states: 26 };

let program: Program;
let folder: string;

beforeAll(async () => {
  program = await buildProgram('siege-program.ts', 'bench/siege');
  folder = await mkdtemp(join(tmpdir(), 'quark-powercut-'));
});

afterAll(async () => {
  await program.remove();
  await rm(folder, { recursive: true, force: true });
});

test.each(['full', 'normal'] as const)(
  'the power is cut under a store in files, synchronous=%s: every state opens, with all that was durable',
  async (synchronous) => {
    const plan = { ...PLAN, synchronous };
    const { states, wrong, moments, steps } = await cutPower(folder, program.path, plan);
    expect(wrong).toEqual([]);
    expect(states).toBe(plan.states);

    // What was durable and is not there is found.
    const last = moments.length - 2;
    const files = moments[last - 8]?.files ?? new Map<string, Buffer>();
    const verifier = new Verifier(steps, moments, folder);
    const lost = await verifier.check({ kind: 'lost', at: last, durableAt: last, files });
    expect(lost.join()).toMatch(/lost/);
  },
);

test('the power is cut under a service: its client finds what is lost, and sends it again by itself', async () => {
  const services = await buildProgram('fault-program.ts');
  try {
    const { states, lossy, rowsLost, told, wrong } = await resendAfterCuts(folder, {
      seed: PLAN.seed,
      batches: 8,
      states: 4,
      start: async (storage, wanted) => {
        const service = startService(services, { storage, port: wanted });
        return { port: Number(await service.line('listening')), stop: () => service.kill() };
      },
    });
    expect(wrong).toEqual([]);
    expect(states).toBe(4);
    expect(lossy).toBeGreaterThan(0);
    expect(rowsLost).toBeGreaterThan(0);
    expect(told).toBeGreaterThan(0);
  } finally {
    await services.remove();
  }
});
