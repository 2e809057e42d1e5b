// What every runtime does with the installed package. Each part says true, or why not.
import { startRun, MetricsLogger, openRun, openStorage } from 'quark-sdk';
import { AnalyzerEngine, report } from 'quark-sdk/analysis';
import { createKernels } from 'quark-sdk/kernels';
import { SystemTelemetry } from 'quark-sdk/probes';

const ROWS = 70_000; // enough for a merge of segments

async function record(options) {
  const session = await startRun({ project: 'runtimes', ...options });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < ROWS; step++) metrics.log('train/loss', 1 / (step + 1), { step });
  await session.endRun('completed');
  const { state } = session.recordingStatus();
  await session.close();
  if (state !== 'recording') throw new Error(`recording is ${state}`);
  return session.runId;
}

async function readBack(uri, runId) {
  const store = await openStorage(uri, { create: false });
  const run = await openRun(store, runId);
  const { values } = await run.readMetricColumns({ metricKey: 'train/loss' });
  await store.close();
  const isWhole = values.length === ROWS && values.every((value, at) => value === 1 / (at + 1));
  if (!isWhole) throw new Error(`${values.length} of ${ROWS} values were read`);
}

/** A run without a store that can be opened: the training goes on, and nothing throws. */
async function recordNowhere(storage) {
  const session = await startRun({ project: 'runtimes', storage });
  new MetricsLogger(session).log('train/loss', 1, { step: 0 });
  await session.endRun('completed');
  const { state } = session.recordingStatus();
  await session.close();
  if (state !== 'stopped') throw new Error(`recording is ${state}`);
}

async function measure() {
  const session = await startRun({ project: 'runtimes', storage: 'memory:telemetry' });
  const telemetry = new SystemTelemetry(session, { sampleEveryNSteps: 1 });
  for (let step = 0; step < 5; step++) {
    const scope = telemetry.startStep(step);
    scope.markDataReady();
    scope.finish();
  }
  await session.endRun('completed');
  await session.close();
}

async function analyse() {
  const session = await startRun({ project: 'runtimes', storage: 'memory:analysis' });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 300; step++) metrics.log('train/loss', 1 / (step + 1), { step });
  await session.flush();
  await new AnalyzerEngine(session).analyze();
  const { html } = await report(session);
  await session.endRun('completed');
  await session.close();
  if (!html.includes('train/loss')) throw new Error('the report names no metric');
}

async function compute() {
  const kernels = await createKernels({ inlineBytes: 0 });
  const { mean } = await kernels.tensorStats(new Float32Array(5000).fill(2));
  if (mean !== 2) throw new Error(`the mean of twos is ${mean}`);
  const { kernel, wasmFailure, workerMode, workerFailures } = kernels.diagnostics();
  return {
    wasm: kernel === 'js' ? `kernels in JavaScript: ${wasmFailure}` : true,
    workers: workerMode === 'none' ? workerFailures.join(' ') || 'there are none' : true,
  };
}

/** @param options of `startRun`; @param uri of the same store, for `openStorage` */
export async function walk(options, uri) {
  const said = {};
  const part = async (name, work) => {
    try {
      await work();
      said[name] = true;
    } catch (error) {
      said[name] = error instanceof Error ? error.message : String(error);
    }
  };
  await part('records', async () => {
    const runId = await record(options);
    await readBack(uri, runId);
  });
  await part('goes on without a store', () => recordNowhere('idb:nowhere'));
  await part('telemetry', measure);
  await part('analysis', analyse);
  await part('kernels', async () => Object.assign(said, await compute()));
  return said;
}
