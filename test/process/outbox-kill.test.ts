/** Processes that record for a service, killed at random, and a service that comes and goes: every row arrives, once. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openFileStorage } from '../../src/node/file-storage.ts';
import { serveService, type ServedService } from '../../src/node/serve-service.ts';
import { openRun } from '../../src/read/run-reader.ts';
import { TrainingSession } from '../../src/session/training-session.ts';
import { openSync, verifySync } from '../../src/sync/sync-storage.ts';

const ROUNDS = Math.ceil(2 * Number(process.env['QUARK_RUNS'] ?? '1'));
const CHILDREN = 2;
const MAX_LIFE_MS = 600;

test(`${ROUNDS * CHILDREN} processes killed while they record for a service`, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'quark-outbox-kill-'));
  const storageDir = join(folder, 'runs');
  let service = await serve(folder, 0);
  const { port, url } = service;
  try {
    const session = await TrainingSession.startRun({
      project: 'kill',
      storageDir,
      persistenceUrl: url,
    });
    const { runId } = session;
    await session.close();
    const flushed = new Map<string, number>();
    for (let round = 0; round < ROUNDS; round++) {
      const keys = Array.from({ length: CHILDREN }, (_, i) => `w${round}/${i}`);
      const working = keys.map((key) => runAndKill([storageDir, url, runId, key]));
      // Away for every other round.
      if (round % 2 === 1) {
        await service.close();
        await Promise.all(working);
        service = await serve(folder, port);
      }
      (await Promise.all(working)).forEach((rows, i) => flushed.set(keys[i] ?? '', rows));
    }
    const local = await openFileStorage(storageDir);
    const [task] = await openSync(local, { persistenceUrl: url });
    const status = await task?.outbox.sync?.synced({ timeoutMs: 60_000 });
    expect(status).toMatchObject({ pendingRuns: 0, refusedSegments: [] });
    await task?.outbox.close();
    const [verified] = await verifySync(local, runId);
    expect(verified).toMatchObject({ isEqual: true });
    const reader = await openRun(local, runId);
    for (const [key, rows] of flushed) {
      const { steps } = await reader.readMetricColumns({ metricKey: key });
      expect(new Set(steps).size).toBe(steps.length);
      expect(steps.length).toBeGreaterThanOrEqual(rows);
    }
    expect([...flushed.values()].some((rows) => rows > 0)).toBe(true);
    await local.close();
  } finally {
    await service.close();
    await rm(folder, { recursive: true, force: true });
  }
}, 240_000);

function serve(folder: string, port: number): Promise<ServedService> {
  return serveService({ storage: join(folder, 'service'), port, keyless: 'always' });
}

/** Starts a child, kills it some time after it has begun to work, and returns how many rows it said are flushed. */
function runAndKill(args: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(
      process.execPath,
      [join(import.meta.dirname, 'outbox-child.mjs'), ...args],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    let output = '';
    let problems = '';
    child.stdout.on('data', (data: Buffer) => {
      if (output === '') setTimeout(() => child.kill('SIGKILL'), Math.random() * MAX_LIFE_MS);
      output += data.toString();
    });
    child.stderr.on('data', (data: Buffer) => {
      problems += data.toString();
    });
    child.on('error', reject);
    child.on('close', (_code, signal) => {
      if (signal !== 'SIGKILL') reject(new Error(`The child ended by itself: ${problems}`));
      // What follows the last line break was cut off: it does not count.
      else resolve(Number(output.split('\n').slice(1, -1).at(-1) ?? 0));
    });
  });
}
