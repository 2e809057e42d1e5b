/** Parts of the package that cannot be loaded any more: the page is offline, or a new release has replaced its files. */
import { afterEach, expect, test, vi } from 'vitest';
import { EventLogger } from '../../../src/session/event-logger.ts';
import { MetricsLogger } from '../../../src/session/metrics-logger.ts';
import { TrainingSession } from '../../../src/session/training-session.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';

/** Names of the modules that the network does not have. */
const lacking = vi.hoisted(() => new Set<string>());
vi.mock(import('../../../src/base/runtime.ts'), async (load) => {
  const found = await load();
  return {
    ...found,
    // As a browser fails: `import()` rejects.
    loadPart: (what, part) =>
      found.loadPart(what, async () => {
        if (lacking.has(what)) throw new TypeError('Failed to fetch dynamically imported module');
        return part();
      }),
  };
});

afterEach(() => lacking.clear());

test.each([true, false])(
  'a run ends without what merges segments (strictMode: %s)',
  async (strictMode) => {
    const store = createMemoryStore();
    lacking.add('Merging segments');
    const session = await TrainingSession.startRun({ project: 'p', storage: store, strictMode });
    const metrics = new MetricsLogger(session, { batchSize: 2 });
    for (let step = 0; step < 20; step++) metrics.log('loss', step, { step });
    await session.endRun();
    expect((await store.findRun(session.runId))?.status).toBe('completed');
    const segments = await store.listSegments({ runId: session.runId, table: 'metrics' });
    expect(segments.reduce((sum, { rowCount }) => sum + rowCount, 0)).toBe(20);
    expect(session.recordingStatus()).toMatchObject({ state: 'recording', bufferedRows: 0 });
  },
);

test('what was flushed is stored though its records cannot be read back, and is read once they can', async () => {
  const store = createMemoryStore();
  const session = await TrainingSession.startRun({ project: 'p', storage: store });
  const metrics = new MetricsLogger(session);
  const events = new EventLogger(session);
  metrics.log('loss', 1, { step: 0 });
  events.log('note');
  for (const part of ['Reading metrics', 'Reading events', 'Reading records']) lacking.add(part);
  const unloaded = expect.objectContaining({
    code: 'unsupported',
    message: expect.stringContaining('Nothing that was recorded is lost'),
  });
  await expect(metrics.flush()).rejects.toEqual(unloaded);
  await expect(events.flush()).rejects.toEqual(unloaded);
  await expect(metrics.read()).rejects.toEqual(unloaded);
  expect(session.recordingStatus()).toMatchObject({ state: 'recording', bufferedRows: 0 });
  lacking.clear();
  expect((await metrics.read()).map(({ value }) => value)).toEqual([1]);
  expect((await events.read({ eventType: 'note' })).length).toBe(1);
  await session.endRun();
});

test('a session that cannot be loaded is one that does not start, and starts with the next call', async () => {
  const start = { project: 'p', storage: createMemoryStore() };
  lacking.add('Recording');
  await expect(TrainingSession.startRun(start)).rejects.toMatchObject({ code: 'unsupported' });
  lacking.clear();
  const session = await TrainingSession.startRun(start);
  await session.endRun();
  expect(session.status).toBe('completed');
});
