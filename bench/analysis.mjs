// What judging a run costs: rules and phases over long runs, from columns and from a stored run, and what a watch takes
// from the training at each flush.
//
//   npm run bench -- analysis
//
// `thread` measures how long rules, phases and comparisons of stored runs block the calling thread, in a worker and, in the same run, on
// that thread. `columns` and `stored` measure what the work takes. A watch judges in a worker: what a look takes from the training is processor
// time of the calling thread, because on a busy machine the clock counts the work of others; that of the whole process,
// worker included, stands beside it. `watch here` measures the calling thread doing all of it, as where there are no workers.
// Losses fall with noise in every bit, one spike in ten thousand steps.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createMemoryStore, MetricsLogger, openRun, openStorage, startRun } from '../dist/index.js';
import {
  AnalyzerEngine,
  analyzeColumns,
  analyzePhases,
  ComparisonEngine,
  createBatchColumns,
  createMetricSeries,
  createRunColumns,
  findHardBatches,
  loadRunColumns,
  PhaseAnalyzer,
} from '../dist/analysis.js';
import { DataDiagnostics } from '../dist/probes.js';
import { median, report } from './harness.mjs';

const KEYS = [
  'train/loss',
  'val/loss',
  'train/accuracy',
  'val/accuracy',
  'train/grad_norm',
  'system/runtime/step_time_ms',
  'train/lr',
  'train/tokens',
  'custom/a',
  'custom/b',
];
const PARTS = {
  columns: fromColumns,
  stored: fromStore,
  thread: offThread,
  watch: watching,
  batches: hardBatches,
};
const part = process.argv.find((argument) => Object.hasOwn(PARTS, argument));
// Each part in a process of its own: what one leaves in the heap and in the compiler would weigh on the next.
if (part !== undefined) await PARTS[part]();
else
  for (const name of Object.keys(PARTS)) {
    const file = fileURLToPath(import.meta.url);
    const { status } = spawnSync(process.execPath, [file, name], { stdio: 'inherit' });
    if (status !== 0) process.exitCode = status ?? 1;
  }

function random(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** The value of a metric at a step of a run of `count` steps. */
function course(key, count, next) {
  const noise = () => 0.1 * (next() + next() - 1);
  const falling = (i) => 0.3 + 2 * Math.exp((-6 * i) / count);
  if (key.endsWith('loss'))
    return (i) => falling(i) * (1 + noise()) * (i % 10_000 === 9_999 && i > count / 2 ? 3 : 1);
  if (key.endsWith('accuracy')) return (i) => 1 - 0.4 * falling(i) + 0.1 * noise();
  if (key.endsWith('step_time_ms')) return () => 30 * (1 + noise());
  if (key.endsWith('lr')) return (i) => 1e-3 * (1 - i / count);
  return (i) => falling(i) + noise();
}

/** Milliseconds of processor time that `work` takes. */
async function processorMs(work) {
  const before = process.cpuUsage();
  const startedAt = performance.now();
  await work();
  const wall = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(before);
  return { cpu: (user + system) / 1000, wall };
}

/**
 * Milliseconds of processor time that the calling thread has used; the whole process, where nobody tells of threads. The
 * system counts when a thread is put aside, so it sleeps for a moment first.
 */
async function threadMs() {
  await sleep(1);
  if (process.threadCpuUsage !== undefined) {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  }
  try {
    // Nanoseconds on a processor; the main thread has the number of the process.
    const [ran] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ');
    return Number(ran) / 1e6;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  }
}

/** What {@link threadMs} shows for nothing at all. */
async function threadMsOfNothing() {
  const times = [];
  for (let i = 0; i < 50; i++) {
    const before = await threadMs();
    times.push((await threadMs()) - before);
  }
  return median(times);
}

/** Medians of wall and processor time of five calls after one to warm up. */
async function timed(work) {
  await work();
  const times = [];
  for (let i = 0; i < 5; i++) times.push(await processorMs(work));
  return { wall: median(times.map((one) => one.wall)), cpu: median(times.map((one) => one.cpu)) };
}

async function fromColumns() {
  const rows = [];
  for (const count of [100_000, 1_000_000, 2_000_000]) {
    const steps = Float64Array.from({ length: count }, (_, i) => i);
    const metrics = KEYS.map((key, i) => {
      const at = course(key, count, random(i + 1));
      return createMetricSeries(key, {
        steps,
        values: Float64Array.from(steps, (_, step) => at(step)),
      });
    });
    const columns = createRunColumns({ metrics });
    const rules = await timed(() => analyzeColumns(columns));
    const phases = await timed(() => analyzePhases(columns));
    const what = `10 metrics of ${count.toLocaleString('en')} points, from columns`;
    rows.push({ what: `${what}: rules`, value: rules.wall, unit: 'ms' });
    rows.push({ what: `${what}: phases`, value: phases.wall, unit: 'ms' });
    const target = count === 1_000_000 ? 'under 1,000' : undefined;
    rows.push({ what: `${what}: both`, value: rules.wall + phases.wall, unit: 'ms', target });
    rows.push({ what: `${what}: both, processor time`, value: rules.cpu + phases.cpu, unit: 'ms' });
  }
  await report('analysis-columns', rows);
}

/**
 * A run as a training of some 30 ms a step leaves it: ten metrics a step, each with the time it was logged at, merged by the session when
 * that is due and at the end. `every` steps are flushed together; writers that are given the time do so every ten (100 rows).
 */
async function record(store, count, every, keys = KEYS) {
  const session = await startRun({ project: 'bench', storage: store });
  const metrics = new MetricsLogger(session);
  const at = keys.map((key, i) => course(key, count, random(i + 1)));
  const jitter = random(99);
  let timestamp = Date.now();
  for (let step = 0; step < count; step++) {
    timestamp += 25 + Math.floor(10 * jitter());
    keys.forEach((key, i) => metrics.log(key, at[i](step), { step, timestamp }));
    if (step % every === every - 1) await metrics.flush();
  }
  return session;
}

async function fromStore() {
  const build = fileURLToPath(new URL('../build/', import.meta.url));
  await mkdir(build, { recursive: true });
  const root = await mkdtemp(join(build, 'bench-analysis-'));
  const rows = [];
  const add = (what, { cpu, wall }, target) => {
    rows.push({ what, value: wall, unit: 'ms', target });
    rows.push({ what: `${what}, processor time`, value: cpu, unit: 'ms', target });
  };
  try {
    for (const count of [100_000, 1_000_000]) {
      const store = await openStorage(join(root, String(count)));
      const session = await record(store, count, count < 1_000_000 ? 10 : 100);
      const what = `10 metrics of ${count.toLocaleString('en')} points in SQLite`;
      if (count < 1_000_000) {
        const live = await openRun(store, session.runId);
        add(`${what}, as written: reading`, await timed(() => loadRunColumns(live)));
      }
      await session.endRun();
      const reader = await openRun(store, session.runId);
      add(`${what}: reading`, await timed(() => loadRunColumns(reader)));
      const engine = new AnalyzerEngine(reader);
      const analyzer = new PhaseAnalyzer(reader);
      const persist = false;
      const both = await timed(async () => {
        const columns = await loadRunColumns(reader);
        await engine.analyze({ columns, persist });
        await analyzer.analyze({ columns, persist });
      });
      const target = count === 1_000_000 ? 'under 1,000' : undefined;
      add(`${what}: reading once, rules, phases`, both, target);
      add(`${what}: AnalyzerEngine alone`, await timed(() => engine.analyze({ persist })));
      add(`${what}: PhaseAnalyzer alone`, await timed(() => analyzer.analyze({ persist })));
      await store.close?.();
    }
  } finally {
    await rm(root, { recursive: true, force: true });
  }
  await report('analysis-stored', rows);
}

/** Milliseconds that the calling thread has computed, to a tick of the system's clock (1 to 4 ms); by the clock where nobody tells. */
function threadMsNow() {
  try {
    const [ran] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ');
    return Number(ran) / 1e6;
  } catch {
    return performance.now();
  }
}

/**
 * The longest time in which the calling thread had no turn for others while `work` went on, by the clock and in processor time of that
 * thread (on a busy machine the clock counts the turns of other processes), and how long the work took.
 */
async function blockedBy(work) {
  let longest = 0;
  let longestCpu = 0;
  const over = new AbortController();
  const watch = async () => {
    let last = performance.now();
    let lastCpu = threadMsNow();
    while (!over.signal.aborted) {
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      const now = performance.now();
      const cpu = threadMsNow();
      longest = Math.max(longest, now - last);
      longestCpu = Math.max(longestCpu, cpu - lastCpu);
      last = now;
      lastCpu = cpu;
    }
  };
  const looking = watch();
  const { cpu, wall } = await processorMs(work);
  over.abort();
  await looking;
  return { cpu, wall, longest, longestCpu };
}

/** Analyses of runs in SQLite, each in a worker and on the calling thread, in turn. */
async function offThread() {
  const build = fileURLToPath(new URL('../build/', import.meta.url));
  await mkdir(build, { recursive: true });
  const root = await mkdtemp(join(build, 'bench-thread-'));
  const rows = [];
  try {
    for (const [metrics, count] of [
      [20, 50_000],
      [10, 1_000_000],
    ]) {
      const store = await openStorage(join(root, String(count)));
      const keys = Array.from({ length: metrics }, (_, i) => KEYS[i] ?? `custom/${i}`);
      const runIds = [];
      for (let i = 0; i < 2; i++) {
        const session = await record(store, count, 100, keys);
        await session.endRun();
        runIds.push(session.runId);
      }
      const reader = await openRun(store, runIds[0]);
      const persist = false;
      const works = {
        rules: (where) => new AnalyzerEngine(reader).analyze({ persist, ...where }),
        phases: (where) => new PhaseAnalyzer(reader).analyze({ persist, ...where }),
        comparison: (where) => new ComparisonEngine(reader).compare(runIds[1], where),
      };
      for (const [name, work] of Object.entries(works)) {
        await work({});
        const found = { worker: [], here: [] };
        for (let round = 0; round < 3; round++) {
          found.worker.push(await blockedBy(() => work({})));
          found.here.push(await blockedBy(() => work({ workerMode: 'none' })));
        }
        for (const [where, times] of Object.entries(found)) {
          const what = `${metrics} metrics of ${count.toLocaleString('en')} points in SQLite: ${name}, ${where}`;
          const of = (field) => median(times.map((one) => one[field]));
          const target = where === 'worker' ? 'at most 10' : undefined;
          rows.push({ what: `${what}, longest block`, value: of('longest'), unit: 'ms' });
          rows.push({
            what: `${what}, of it computing`,
            value: of('longestCpu'),
            unit: 'ms',
            target,
          });
          rows.push({ what: `${what}, elapsed`, value: of('wall'), unit: 'ms' });
          rows.push({ what: `${what}, processor time`, value: of('cpu'), unit: 'ms' });
        }
      }
      await store.close?.();
    }
  } finally {
    await rm(root, { recursive: true, force: true });
  }
  await report('analysis-thread', rows);
}

/** Runs whose writers flush every hundred steps; the first looks and those of the last thousand flushes are timed. */
async function watching() {
  const rows = [];
  const workerMode = process.argv.includes('here') ? 'none' : 'auto';
  for (const count of [1_000, 10_000, 100_000, 1_000_000]) {
    const session = await startRun({ project: 'bench', storage: createMemoryStore() });
    const metrics = new MetricsLogger(session, {
      batchSize: 1e6,
      flushIntervalMs: 3_600_000,
      maxBufferedRows: 2e6,
    });
    const diagnostics = new DataDiagnostics(session);
    const watch = new AnalyzerEngine(session).watch({ minIntervalMs: 3_600_000, workerMode });
    const at = KEYS.map((key, i) => course(key, count, random(i + 1)));
    const looks = [];
    const nothing = await threadMsOfNothing();
    const blocked = [];
    for (let step = 0; step < count; step++) {
      KEYS.forEach((key, i) => metrics.log(key, at[i](step), { step }));
      if (step % 10 === 0)
        diagnostics.logBatch(at[0](step), {
          step,
          labels: [0, 1, 1, 2],
          sampleIds: [step, step + 1],
        });
      if (step % 100 !== 99) continue;
      await metrics.flush();
      await diagnostics.flush();
      // Whoever looks how long the loop is held up keeps the thread busy himself: every other look is one for that.
      if (looks.length > blocked.length) blocked.push(await longestHoldUp(watch));
      else looks.push(await timedLook(watch, nothing));
    }
    const what = `a look after ${count.toLocaleString('en')} steps, 10 metrics and batches`;
    const last = looks.slice(-500);
    const add = (name, list, share, target) =>
      rows.push({ what: `${what}: ${name}`, value: quantile(list, share), unit: 'ms', target });
    for (const [name, share] of [
      ['median', 0.5],
      ['p95', 0.95],
      ['p99', 0.99],
      ['worst', 1],
    ]) {
      const target = share < 0.99 ? 'under 1' : undefined;
      const list = last.map((one) => one.thread);
      add(`${name}, processor time of the calling thread`, list, share, target);
    }
    const first = looks.slice(0, 10).map((one) => one.thread);
    add('the first of all', first, 0);
    rows.at(-1).value = first[0];
    add('the next 9 that were timed, worst', first.slice(1), 1);
    const asked = looks.filter((one) => one.isEvaluated);
    const askedThread = asked.map((one) => one.thread);
    add(`${asked.length} that asked the rules, median`, askedThread, 0.5, 'under 1');
    const whole = last.map((one) => one.process);
    add('median, of the process with its worker', whole, 0.5);
    const wall = last.map((one) => one.wall);
    add('median on the clock, until the answer', wall, 0.5);
    add('p95 on the clock, until the answer', wall, 0.95);
    add('longest that all else waits, median, on the clock', blocked.slice(-500), 0.5);
    add('longest that all else waits, p95, on the clock', blocked.slice(-500), 0.95);
    const { workerFailures, workerMode: way } = watch.status;
    if (workerMode === 'auto' && way !== 'url')
      throw new Error(`The watch had no worker: ${workerFailures.join('; ')}`);
    await watch.close();
    await session.endRun();
  }
  await report('analysis-watch', rows);
}

/** One look: milliseconds of the calling thread, of the process, and on the clock. */
async function timedLook(watch, nothing) {
  const { evaluations } = watch.status;
  const before = await threadMs();
  const { cpu, wall } = await processorMs(() => watch.check());
  return {
    thread: Math.max(0, (await threadMs()) - before - nothing),
    process: cpu,
    wall,
    isEvaluated: watch.status.evaluations > evaluations,
  };
}

/** The longest that everything else waits in one look. */
async function longestHoldUp(watch) {
  const blocked = blockedMs();
  await watch.check();
  return blocked();
}

/** Begins to watch how long the event loop is held up at a time; the answer ends it. */
function blockedMs() {
  let isOn = true;
  let last = performance.now();
  let longest = 0;
  const note = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (isOn) setImmediate(note);
  };
  setImmediate(note);
  return () => {
    isOn = false;
    return Math.max(longest, performance.now() - last);
  };
}

function quantile(list, share) {
  const sorted = list.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

async function hardBatches() {
  const rows = [];
  for (const count of [10_000, 100_000]) {
    const next = random(1);
    const batches = createBatchColumns(
      Array.from({ length: count }, (_, step) => ({
        step,
        loss: 0.3 + 0.1 * next(),
        sampleIds: Array.from({ length: 32 }, () => Math.floor(next() * 50_000)),
        classCounts: { a: 16, b: 16 - (step % 3), c: step % 3 },
      })),
    );
    const columns = createRunColumns({ batches });
    const { cpu } = await timed(() => findHardBatches(columns));
    rows.push({
      what: `findHardBatches, ${count.toLocaleString('en')} batches of 32, processor time`,
      value: cpu,
      unit: 'ms',
    });
  }
  await report('analysis-batches', rows);
}
