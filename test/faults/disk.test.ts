/** A disk that fills up under the service: it says so, keeps what it acknowledged, and goes on when there is room. */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openHttpStorage } from '../../src/wire/http-store.ts';
import { Load } from './clients.ts';
import { buildProgram, pause, startService, type Program } from './processes.ts';
import { compareRows } from './rows.ts';

const DISK_MB = 16;
const ROUNDS = 3;

let program: Program;
let directory: string;
let isMounted: boolean;

beforeAll(async () => {
  program = await buildProgram('fault-program.ts');
  directory = await mkdtemp(join(tmpdir(), 'quark-faults-'));
  isMounted =
    process.platform === 'linux' &&
    spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MB}m`, 'tmpfs', directory]).status === 0;
}, 120_000);

afterAll(async () => {
  if (isMounted) spawnSync('umount', ['-l', directory]);
  await program.remove();
  await rm(directory, { recursive: true, force: true });
});

test('a full disk: 507, nothing acknowledged is lost, and it goes on with room, also after a kill', async (context) => {
  if (!isMounted) context.skip('a small file system could not be mounted here');
  let service = startService(program, { storage: directory });
  const port = await service.line('listening');
  const uri = `http://127.0.0.1:${port}/`;
  const load = new Load({ uri: () => uri, clients: 2, rowsPerBatch: 400 });
  for (let round = 0; round < ROUNDS; round++) {
    const until = async (isReached: () => boolean): Promise<void> => {
      while (!isReached()) await Promise.race([pause(20), load.failed]);
    };
    const before = load.requests;
    await until(() => load.requests > before + 5);
    load.failures.clear();
    const { bavail, bsize } = await statfs(directory);
    const ballast = join(directory, 'ballast');
    // What is left holds a few segments more.
    const size = Math.max(bsize, bavail * bsize - 200_000);
    await writeFile(ballast, Buffer.alloc(size)).catch(() => 'the service was quicker');
    await until(() => load.failures.has('full'));
    const full = load.failures.get('full');
    expect(full?.details).toMatchObject({ status: 507 });
    expect(full?.message).toMatch(/no space/);
    // What is there can be read.
    const reader = await openHttpStorage(uri);
    expect(await compareRows(reader, load.progress)).toEqual([]);
    await reader.close();
    if (round === ROUNDS - 1) await service.kill();
    await rm(ballast);
    if (round === ROUNDS - 1) {
      service = startService(program, { storage: directory, port: Number(port) });
      await service.line('listening');
    }
    const full507 = load.requests;
    await until(() => load.requests > full507 + 5);
  }
  await load.stop();
  const reader = await openHttpStorage(uri);
  expect(await compareRows(reader, load.progress)).toEqual([]);
  await reader.close();
  expect(await service.stop()).toBe('0');
}, 120_000);
