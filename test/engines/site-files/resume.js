// Starts a run and goes on with it: what a page does before and after it is loaded again.
const { isQuarkError, MetricsLogger, openRun, openStorage, TrainingSession } =
  await import('/sdk/index.js');

let session;
let planned;

/** Starts a run, and logs a step that is not flushed. */
export async function start() {
  session = await TrainingSession.startRun({ project: 'reloads' });
  new MetricsLogger(session, { flushIntervalMs: 60_000 }).log('loss', 0, { step: 0 });
  return session.runId;
}

/** Resumes a run and logs the next step; says why not, and how many milliseconds after `sinceMs` of this page the answer was there. */
export async function resume(runId, sinceMs = 0) {
  let refused = null;
  try {
    session = await TrainingSession.resumeRun({ runId });
  } catch (error) {
    refused = isQuarkError(error) ? `${error.details.reason ?? error.code}` : String(error);
  }
  const tookMs = performance.now() - sinceMs;
  if (refused !== null) return { refused, tookMs };
  const metrics = new MetricsLogger(session, { flushIntervalMs: 60_000 });
  const last = (await metrics.read()).at(-1)?.step ?? -1;
  metrics.log('loss', last + 1, { step: last + 1 });
  return { refused, tookMs };
}

/** Will resume a run at an instant, in epoch milliseconds: `outcome` says what came of it. A driver asks one tab at a time. */
export function plan(runId, atMs) {
  planned = new Promise((go) => {
    setTimeout(go, 0);
  }).then(() => {
    // Not by timers: those of tabs in the background are late.
    while (Date.now() < atMs);
    return resume(runId, performance.now());
  });
}

export const outcome = () => planned;

/** Ends the run that this page has, and says which steps it has, in the order of their rows. */
export async function end() {
  const { runId } = session;
  await session.endRun();
  await session.close();
  const store = await openStorage();
  const reader = await openRun(store, runId);
  const { steps } = await reader.readMetricColumns();
  await store.close();
  return { status: reader.run.status, steps: [...steps], resumeCount: reader.run.resumeCount };
}
