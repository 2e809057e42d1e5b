/** A run that is deleted while a session records into it: training goes on, and the session is told. */
import { expect, test } from 'vitest';
import { MetricsLogger, TrainingSession } from '../../../src/index.ts';
import type { RecordingProblem } from '../../../src/index.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import { withoutAppendsNow } from '../../support/store-proxy.ts';

test.each([
  ['that appends before it returns', (store: ReturnType<typeof createMemoryStore>) => store],
  ['that appends later', withoutAppendsNow],
])('a store %s', async (_, wrap) => {
  const store = createMemoryStore();
  const problems: RecordingProblem[] = [];
  const session = await TrainingSession.startRun({
    project: 'digits',
    storage: wrap(store),
    onRecordingProblem: (problem) => problems.push(problem),
  });
  const logger = new MetricsLogger(session, { maxBufferedRows: 4, batchSize: 4 });
  logger.log('loss', 1, { step: 0 });
  await logger.flush();
  await store.deleteRun(session.runId);
  logger.log('loss', 0.5, { step: 1 });
  await logger.flush().catch(() => undefined);
  expect(session.recordingStatus()).toMatchObject({
    state: 'stopped',
    error: { reason: 'deleted' },
    bufferedRows: 1,
  });
  expect(problems.map(({ kind }) => kind)).toEqual(['stopped']);
  expect(session.signal?.aborted ?? false).toBe(false);
  // Restored, it goes on where it was: nothing is missing.
  await store.restoreRun(session.runId);
  await logger.flush();
  expect(session.recordingStatus()).toMatchObject({ state: 'recording' });
  const [segment, later] = await store.listSegments({ runId: session.runId, table: 'metrics' });
  expect([segment?.rowCount, later?.rowCount]).toEqual([1, 1]);
  expect(problems.map(({ kind }) => kind)).toEqual(['stopped', 'resumed']);
  // Deleted for good: the session ends, and says what it could not store.
  await store.deleteRun(session.runId, { keepMs: 0 });
  await store.purgeDeletedRuns(undefined, [session.runId]);
  for (let step = 2; step < 10; step++) logger.log('loss', 0.25, { step });
  await session.endRun().catch(() => undefined);
  expect(await store.findRun(session.runId)).toBeUndefined();
  // What the buffers did not hold is counted, as with any storage that fails.
  const { bufferedRows, droppedRows, error } = session.recordingStatus();
  expect(error).toMatchObject({ reason: 'deleted' });
  expect(droppedRows).toBe(4);
  expect(bufferedRows).toBeGreaterThanOrEqual(4);
});
