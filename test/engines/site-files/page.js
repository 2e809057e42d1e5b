// The page that the tests of engines open: records here or in a worker, and looks at what earlier tabs left.
const sdk = await import('/sdk/index.js');
const { record } = await import('/recorder.js');
const { end, outcome, plan, resume, start } = await import('/resume.js');

const PATIENCE_MS = 60_000;
const workers = [];

const answerOf = (target) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('The worker did not answer.')), PATIENCE_MS);
    target.addEventListener('error', (event) => reject(new Error(event.message)));
    target.addEventListener('message', ({ data }) => {
      clearTimeout(timer);
      if (data.runId === undefined) reject(new Error(data.error));
      else resolve(data.runId);
    });
  });

/** Begins to record; the run. */
async function begin(where, recording) {
  if (where === 'page') return record(recording);
  if (where === 'shared worker') {
    const worker = new SharedWorker('/worker.js', { type: 'module', name: recording.id });
    workers.push(worker);
    const answer = answerOf(worker.port);
    worker.port.start();
    worker.port.postMessage({ recording });
    return answer;
  }
  const worker = new Worker('/worker.js', { type: 'module' });
  workers.push(worker);
  worker.postMessage({ recording, isNested: where === 'nested worker' });
  return answerOf(worker);
}

/** Opens a session, as the next start does, and looks at a run. */
async function look(runId) {
  const next = await sdk.startRun({ project: 'next start' });
  await next.endRun();
  await next.close();
  const store = await sdk.openStorage();
  const reader = await sdk.openRun(store, runId);
  const { steps } = await reader.readMetricColumns();
  const events = await reader.readEvents();
  await store.close();
  return {
    rows: steps.length,
    isWhole: [...steps].every((step, i) => step === i),
    events: events.map(({ eventType, payload }) => ({ eventType, payload })),
  };
}

const wait = (ms) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/** Trains with a full quota, from the start, from the middle or from the end on; what the caller of `run` gets. */
async function train(phase, way) {
  const { fill, free } = await import('/quota.js');
  const problems = [];
  if (phase === 'start') await fill(way);
  const model = await sdk.TrainingSession.run(
    { project: 'quota', onRecordingProblem: (problem) => problems.push(problem.kind) },
    async (session) => {
      const metrics = new sdk.MetricsLogger(session);
      for (let step = 0; step < 200; step++) {
        if (phase === 'middle' && step === 100) await fill(way);
        // A database that is full still has room for some rows.
        const rows = phase === 'start' || step < 100 ? 1 : 500;
        for (let i = 0; i < rows; i++) metrics.log('loss', Math.random(), { step });
        if (step % 10 === 0) await wait(20);
      }
      if (phase === 'end') {
        await metrics.flush();
        await fill(way);
        for (let i = 0; i < 50_000; i++) metrics.log('loss', Math.random(), { step: 200 });
      }
      return { weights: [1, 2, 3] };
    },
  );
  await free(way);
  return { model, problems };
}

/** What the address asks for, where no driver can ask: record and close, or look and tell. */
async function doAsTold() {
  const asked = new URL(location.href).searchParams;
  const id = asked.get('id') ?? '';
  const tell = (answer) =>
    fetch(`/told?id=${id}`, { method: 'POST', body: JSON.stringify(answer) });
  try {
    const where = asked.get('begin');
    const runId = asked.get('look');
    if (where !== null) {
      await tell({ runId: await begin(where, { id, everyMs: 10, rowsAtOnce: 1 }) });
      await wait(Number(asked.get('closeAfterMs')));
    } else if (runId !== null) await tell(await look(runId));
    else return;
  } catch (error) {
    await tell({ error: String(error) });
  }
  close();
}

const contract = async () => (await import('/contract.js')).testFiles();

globalThis.quarkEngines = { begin, contract, end, look, outcome, plan, resume, start, train };
await doAsTold();
