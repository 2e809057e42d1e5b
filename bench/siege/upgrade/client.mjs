// A client of any build: `node client.mjs DIST record|read|open JSON`. What came of it is one line of JSON.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [dist, action, given = '{}'] = process.argv.slice(2);
const options = JSON.parse(given);
const quark = await import(pathToFileURL(join(dist, 'index.js')).href);

/** What a row of a run is, from its step. */
const valueOf = (run, step) => run.charCodeAt(run.length - 1) + Math.sin(step);

async function record({ service, folder, run, steps }) {
  const session = await quark.startRun({
    project: 'upgrade',
    storageDir: folder,
    persistenceUrl: service,
  });
  const logger = new quark.MetricsLogger(session);
  for (let step = 0; step < steps; step++) logger.log('train/loss', valueOf(run, step), { step });
  await session.endRun('completed');
  const { state, pendingRows, lastError } = await session.synced({ timeoutMs: 60_000 });
  await session.close();
  return { state, pendingRows, lastError: lastError?.message, runId: session.runId };
}

/** Rows of each run that are not as they were recorded. */
async function read({ service, runs }) {
  const storage = await quark.openStorage(service);
  const found = {};
  for (const { run, runId, steps } of runs) {
    const records = (await (await quark.openRun(storage, runId)).readMetrics()).map((one) =>
      one.toDict(),
    );
    const wrong = records.filter(
      ({ step, value }, i) => step !== i || value !== valueOf(run, step),
    );
    found[run] = { rows: records.length, expected: steps, wrong: wrong.length };
  }
  await storage.close();
  return found;
}

/** Opens a folder store. */
async function open({ folder }) {
  const storage = await quark.openStorage(folder);
  await storage.close();
  return {};
}

try {
  const result = await { record, read, open }[action](options);
  console.log(JSON.stringify({ result }));
} catch (error) {
  const { code, message, details } = error;
  console.log(JSON.stringify({ failed: { code, message, reason: details?.reason } }));
}
process.exit();
