/** Power cuts in short; `npm run bench -- siege --only=powercut --long` is the long form. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cutPower, traceSyncs } from '../../bench/siege/part-powercut.ts';
import { Verifier } from '../../bench/siege/powercut/check.ts';
import { resendAfterCuts } from '../../bench/siege/powercut/resend.ts';
import { canTrace, comparedSyncs } from '../../bench/siege/powercut/traced.ts';
import { buildProgram, startService, type Program } from './processes.ts';
import { casesOf } from '../support/long.ts';

const PLAN = { seed: 16, steps: 14, states: 16 };

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

test.each(casesOf(['normal', 'full'] as const, 1))(
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

test.runIf(canTrace()).each(casesOf(['normal', 'full'] as const, 1))(
  'synchronous=%s: SQLite waits for the disk where the states are cut',
  async (synchronous) => {
    const { syncs, boundaries, wrong } = await traceSyncs(folder, program.path, {
      ...PLAN,
      synchronous,
    });
    expect(wrong).toEqual([]);
    expect(syncs).toBeGreaterThan(0);
    expect(boundaries).toBeGreaterThan(synchronous === 'full' ? syncs - 1 : syncs);
  },
);

test('system calls in the wrong order are found', () => {
  const [log, database] = ['/s/quark.db-wal', '/s/quark.db'];
  const header = `pwrite64(9<${log}>, "${'\\x37'.repeat(32)}", 32, 0) = 32`;
  const frame = `pwrite64(9<${log}>, "${'\\x00'.repeat(32)}"..., 4096, 32) = 4096`;
  const page = `pwrite64(8<${database}>, "${'\\x00'.repeat(32)}"..., 4096, 0) = 4096`;
  const found = (...calls: readonly string[]): readonly string[] =>
    comparedSyncs(calls.map((call) => `7  ${call}`).join('\n'), [], 'full').wrong;
  const sync = `fdatasync(9<${log}>) = 0`;
  expect(found(header, frame, sync, page, `fdatasync(8<${database}>) = 0`, header)).toEqual([]);
  expect(found(header, frame, page)).toEqual(['a page of the database is written before its log']);
  expect(
    found(
      header,
      frame,
      `fdatasync(9<${log}> <unfinished ...>`,
      '<... fdatasync resumed>) = 0',
      page,
    ),
  ).toEqual([]);
  expect(found(header, frame, sync, page, header)).toEqual([
    'the log begins anew before the database file',
  ]);
});

test('a transaction in the log that was not waited for is found', () => {
  const file = Buffer.alloc(32 + 24 + 4096);
  file.writeUInt32BE(0x377f0682, 0);
  file.writeUInt32BE(4096, 8);
  // The number of pages after the transaction, and both salts, in the only frame.
  file.writeUInt32BE(1, 32 + 4);
  const hex = [...file.subarray(0, 32)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`);
  const calls = [
    `pwrite64(9</s/quark.db-wal>, "${hex.join('')}", 32, 0) = 32`,
    'pwrite64(9</s/quark.db-wal>, "frame"..., 24, 32) = 24',
    'pwrite64(9</s/quark.db-wal>, "page"..., 4096, 56) = 4096',
  ];
  const moments = [{ files: new Map([['quark.db-wal', file]]) }];
  const found = (synchronous: 'full' | 'normal', ...more: readonly string[]): readonly string[] => {
    const text = [...calls, ...more].map((call) => `7  ${call}`).join('\n');
    return comparedSyncs(text, moments, synchronous).wrong;
  };
  expect(found('full', 'fdatasync(9</s/quark.db-wal>) = 0')).toEqual([]);
  expect(found('full').join()).toMatch(/no wait at 4152/);
  expect(found('normal')).toEqual([]);
});
