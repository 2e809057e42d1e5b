// Training by several processes. `one`: one of them writes, the others are silent, by their configuration alone. `all`: all of them write to
// one run, each with its rank in the context of its series.
//
//     node examples/many-processes.mjs one
//     node examples/many-processes.mjs all
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { MetricsLogger, openRun, openStorage, TrainingSession } from 'quark-sdk';
import { openTracker } from 'quark-sdk/tracker';

const RANKS = 3;
const STEPS = 20;
const storage = process.env.QUARK_STORAGE_DIR ?? 'quark-runs';
const [mode = 'all', rank] = process.argv.slice(2);

const lossOf = (step, ofRank) => 1 / (step + 1) + ofRank / 100;

/** One of the processes: it is told which run it is to write to, where there is one. */
async function work(ofRank, runId) {
  if (mode === 'one') {
    // Code that records does not know which of the two it has.
    const tracker = await openTracker({
      project: 'many-processes',
      ...(ofRank === 0 ? { provider: 'quark', storage } : { provider: 'null' }),
    });
    for (let step = 0; step < STEPS; step++) tracker.scalar('loss', lossOf(step, ofRank), { step });
    await tracker.close();
    return tracker.runId;
  }
  const session = await TrainingSession.attachRun({ runId, storage });
  const metrics = new MetricsLogger(session).withContext({ rank: ofRank });
  for (let step = 0; step < STEPS; step++) metrics.log('loss', lossOf(step, ofRank), { step });
  // Leaves the run, which goes on for the others.
  await session.close();
  return runId;
}

async function lead() {
  const session =
    mode === 'all'
      ? await TrainingSession.startRun({ project: 'many-processes', storage })
      : undefined;
  const children = Array.from({ length: RANKS }, (_, i) =>
    fork(fileURLToPath(import.meta.url), [mode, String(i)]),
  );
  const runIds = await Promise.all(
    children.map(async (child) => {
      child.send({ runId: session?.runId });
      const [answer] = await once(child, 'message');
      return answer.runId;
    }),
  );
  await session?.endRun();
  await session?.close();
  const runId = runIds.find((id) => id !== null);
  const store = await openStorage(storage);
  const reader = await openRun(store, runId);
  for (const key of await reader.metricKeys()) {
    const { rowCount } = await reader.readMetricColumns({ metricKey: key });
    console.log(`${key}: ${rowCount} samples`);
  }
  console.log(`${runId}: ${reader.effectiveStatus}`);
  await store.close();
}

if (rank === undefined) await lead();
else {
  const [{ runId }] = await once(process, 'message');
  process.send({ runId: await work(Number(rank), runId) }, () => process.disconnect());
}
