// A training that is cut off goes on where it stopped, in the same run. Run it twice: node examples/resume.mjs
// The first time it is stopped in the middle; the second time it finds the run, the checkpoint, and goes on.
import { listRuns, MetricsLogger, openStorage, TrainingSession } from 'quark-sdk';
import { ArtifactStore } from 'quark-sdk/probes';

const storageDir = process.env.QUARK_STORAGE_DIR ?? 'quark-runs';
const STEPS = 100;
const STOP_AT = 60;

/** The newest run of the project that did not end well, or undefined. */
async function findInterrupted() {
  const store = await openStorage(storageDir);
  try {
    const runs = await listRuns(store, {
      project: 'resumed',
      statuses: ['interrupted', 'failed'],
      limit: 1,
    });
    return runs[0]?.run.id;
  } finally {
    await store.close();
  }
}

async function train(session, isFirst) {
  const metrics = new MetricsLogger(session);
  const artifacts = new ArtifactStore(session);
  const [checkpoint] = await artifacts.read({ artifactType: 'checkpoint', limit: 1 });
  let { step, weight } =
    checkpoint === undefined ? { step: 0, weight: 5 } : await artifacts.load(checkpoint);
  console.log(
    `${session.runId}: ${checkpoint === undefined ? 'a new run' : `goes on at step ${step}`}`,
  );
  for (; step < STEPS; step++) {
    if (isFirst && step === STOP_AT) throw new Error('the power went out');
    weight -= 0.1 * weight;
    metrics.log('train/loss', weight ** 2, { step });
    if (step % 20 === 19)
      await artifacts.store('checkpoint', 'weights', { step: step + 1, weight }, { step });
  }
}

const runId = await findInterrupted();
const session =
  runId === undefined
    ? await TrainingSession.startRun({ project: 'resumed', storageDir })
    : await TrainingSession.resumeRun({ runId, storageDir });
try {
  await train(session, runId === undefined);
  await session.endRun('completed');
} catch (error) {
  await session.endRun('failed');
  console.log(`Stopped: ${error.message}. Run it again.`);
}
await session.close();
