// The program every consumer runs, as text: kernels in a worker in each mode, and a run recorded and read back.
// It prints nothing and never throws: what it gives is data, so that a test can say what differs.
export const PROBE = `
import {
  createKernels, MetricsLogger, openRun, openStorage, TrainingSession,
} from 'quark-sdk';
import { AnalyzerEngine, createSeriesKernels } from 'quark-sdk/analysis';

async function series(workerMode) {
  const pool = await createSeriesKernels({ workerMode, inlineBytes: 0 });
  try {
    const values = Float64Array.from({ length: 5001 }, (_, at) => at - 2500);
    const median = await pool.median(values);
    const quartiles = [...(await pool.quantiles(values, [0.25, 0.75]))];
    const { workerMode: used, kernel, workerFailures } = pool.diagnostics();
    return { used, kernel, median, quartiles, failures: workerFailures.length };
  } finally {
    await pool.close();
  }
}

async function kernels(workerMode) {
  const pool = await createKernels({ workerMode, inlineBytes: 0 });
  try {
    const stats = await pool.tensorStats(Float32Array.from({ length: 5000 }, (_, at) => at - 2500));
    const { workerMode: used, kernel, workerFailures } = pool.diagnostics();
    return { used, kernel, min: stats.min, max: stats.max, failures: workerFailures.length };
  } finally {
    await pool.close();
  }
}

async function watching(workerMode) {
  const session = await TrainingSession.startRun({ project: 'package-test', storage: 'memory:', handleSignals: false });
  const watch = new AnalyzerEngine(session).watch({ workerMode });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 50; step += 1) metrics.log('train/loss', step < 49 ? 1 : NaN, { step });
  await session.flush();
  const { workerMode: used, workerFailures, rows } = watch.status;
  const alerts = watch.alerts.map(({ ruleId }) => ruleId);
  await session.close();
  return { used, rows, alerts, failures: workerFailures.length };
}

async function recording(storage) {
  const session = await TrainingSession.startRun({ project: 'package-test', storage, handleSignals: false });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 250; step += 1) metrics.log('train/loss', 1 / (step + 1), { step });
  await metrics.close();
  const ended = await session.endRun();
  const store = await openStorage(storage);
  const reader = await openRun(store, session.runId);
  const columns = await reader.readMetricColumns({ metricKey: 'train/loss' });
  await store.close();
  return {
    status: reader.effectiveStatus,
    rows: columns.rowCount,
    last: [columns.steps[249], columns.values[249]],
  };
}

export async function probe(storage, modes = ['url', 'inline-source', 'auto']) {
  const outcome = {};
  for (const mode of modes) {
    try {
      outcome[mode] = { tensor: await kernels(mode), series: await series(mode), watch: await watching(mode) };
    } catch (error) {
      outcome[mode] = { threw: String(error?.stack ?? error) };
    }
  }
  try {
    outcome.run = await recording(storage);
  } catch (error) {
    outcome.run = { threw: String(error?.stack ?? error) };
  }
  return outcome;
}
`;

/** What a mode of the workers gives. Where WebAssembly cannot be had, kernels have one reason more to tell of than a watch. */
export const kernelOutcome = (used: string, kernel = 'wasm', failures = 0) => ({
  tensor: { used, kernel, min: -2500, max: 2499, failures },
  series: { used, kernel, median: 0, quartiles: [-1250, 1250], failures },
  watch: {
    used,
    rows: 50,
    alerts: ['non_finite'],
    failures: kernel === 'js' ? failures - 1 : failures,
  },
});

/** What the probe gives where everything works. */
export const GOOD_OUTCOME = {
  url: kernelOutcome('url'),
  'inline-source': kernelOutcome('inline-source'),
  auto: kernelOutcome('url'),
  run: { status: 'completed', rows: 250, last: [249, 1 / 250] },
};

/** A page's module: every browser entry, and the probe's outcome where the test looks for it. */
export const PAGE_MODULE = `
import 'quark-sdk/tfjs';
import 'quark-sdk/onnx';
import 'quark-sdk/probes';
import 'quark-sdk/exchange';
import { probe } from './probe.js';
globalThis.outcome = await probe('idb:package-test');
`;

export const PAGE = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>consumer</title>
<link rel="icon" href="data:,"></head>
<body><script type="module" src="./main.js"></script></body></html>
`;
