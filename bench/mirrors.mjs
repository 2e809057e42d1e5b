// What mirrors cost the training thread: the same loop without one and with each, in turn. Needs a build.
//
//   npm run bench -- mirrors
//
// A step computes for some two milliseconds, logs ten metrics into a file store, and gives way to timers, as a loop that awaits its
// framework does. The server that stands for MLflow is a process of its own. Inside the figures: processor time of the whole process,
// encoding and sending included, from the first step until the run has ended and the mirror has all of it.
import { fork } from 'node:child_process';
import { createServer } from 'node:http';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const STEPS = 600;
const ROUNDS = 12;
const METRICS = 10;

if (process.argv[2] === 'server') serve();
else await measure();

function serve() {
  const server = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      response.setHeader('content-type', 'application/json');
      response.end(
        JSON.stringify({ experiment: { experiment_id: '1' }, run: { info: { run_id: 'r' } } }),
      );
    });
  });
  server.listen(0, '127.0.0.1', () => process.send(server.address().port));
}

async function measure() {
  const { MetricsLogger, startRun } = await import('../dist/index.js');
  const { functionSink, mirrorRun, mlflowSink, tensorBoardSink } =
    await import('../dist/tracker.js');
  const { report } = await import('./harness.mjs');
  const build = fileURLToPath(new URL('../build/', import.meta.url));
  await mkdir(build, { recursive: true });
  const root = await mkdtemp(join(build, 'bench-mirrors-'));
  const child = fork(fileURLToPath(import.meta.url), ['server']);
  const port = await new Promise((resolve) => child.once('message', resolve));
  const sinks = {
    none: () => undefined,
    tensorboard: () => tensorBoardSink({ directory: join(root, 'logs') }),
    mlflow: () => mlflowSink({ url: `http://127.0.0.1:${port}` }),
    function: () => functionSink('function', () => undefined),
  };
  const weights = new Float64Array(200_000).fill(1.000001);
  const compute = () => {
    let sum = 0;
    for (let pass = 0; pass < 10; pass++)
      for (let i = 0; i < weights.length; i++) sum += weights[i] * (i & 7);
    return sum;
  };
  let counter = 0;
  const train = async (makeSink) => {
    const session = await startRun({ project: 'bench', storage: join(root, `${counter++}`) });
    const metrics = new MetricsLogger(session);
    const sink = makeSink();
    const mirror = sink === undefined ? undefined : mirrorRun(session, sink);
    const before = process.cpuUsage();
    const startMs = performance.now();
    for (let step = 0; step < STEPS; step++) {
      const value = compute();
      for (let i = 0; i < METRICS; i++)
        metrics.log(`group/metric_${i}`, value / (step + i), { step });
      await new Promise((resolve) => setImmediate(resolve));
    }
    const loopMs = performance.now() - startMs;
    await session.endRun();
    const { system, user } = process.cpuUsage(before);
    if (mirror !== undefined && mirror.status.samples !== STEPS * METRICS)
      throw new Error(`The mirror has ${mirror.status.samples} samples.`);
    await session.close();
    return { loopMs, cpuMs: (system + user) / 1000 };
  };
  const found = Object.fromEntries(Object.keys(sinks).map((name) => [name, []]));
  try {
    for (let round = -1; round < ROUNDS; round++)
      for (const [name, makeSink] of Object.entries(sinks)) {
        const one = await train(makeSink);
        if (round >= 0) found[name].push(one);
      }
  } finally {
    child.kill();
    await rm(root, { recursive: true, force: true });
  }
  // The least of all rounds: others on the machine make a round slower, and none faster.
  const least = (name, field) => Math.min(...found[name].map((one) => one[field]));
  const share = (name, field) => 100 * (least(name, field) / least('none', field) - 1);
  await report('mirrors', [
    { what: 'a step without a mirror', value: least('none', 'loopMs') / STEPS, unit: 'ms' },
    ...['tensorboard', 'mlflow', 'function'].flatMap((name) => [
      {
        what: `${name}: time of the loop`,
        value: share(name, 'loopMs'),
        unit: '% more',
      },
      {
        what: `${name}: processor time`,
        value: share(name, 'cpuMs'),
        unit: '% more',
        target: 'under 2',
      },
    ]),
  ]);
}
