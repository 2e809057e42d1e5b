/** Processes that record for a service, killed at random, and a service that comes and goes: every row arrives, once. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import { serveService, type ServedService } from '../../src/service/node/serve-service.ts';
import { openRun } from '../../src/read/run-reader.ts';
import { TrainingSession } from '../../src/session/training-session.ts';
import { openSync, verifySync } from '../../src/sync/sync-storage.ts';
import { runAndKill } from '../support/run-and-kill.ts';
import { rounds } from '../support/property.ts';

const ROUNDS = rounds(2);
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
      const working = keys.map((key, i) => flushedRows([storageDir, url, runId, key], 1 + (i % 2)));
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
    const status = await task?.outbox.sync?.synced({ timeoutMs: 120_000 });
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
    expect([...flushed.values()].filter((rows) => rows > 0).length).toBeGreaterThanOrEqual(ROUNDS);
    await local.close();
  } finally {
    await service.close();
    await rm(folder, { recursive: true, force: true });
  }
}, 240_000);

function serve(folder: string, port: number): Promise<ServedService> {
  return serveService({ storage: join(folder, 'service'), port, keyless: 'always' });
}

/** How many rows a child said are flushed before it was killed. */
async function flushedRows(args: readonly string[], fromLine: number): Promise<number> {
  const child = join(import.meta.dirname, 'outbox-child.mjs');
  return Number((await runAndKill([child, ...args], MAX_LIFE_MS, fromLine)).at(-1) ?? 0);
}
