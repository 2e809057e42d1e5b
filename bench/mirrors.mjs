// What mirrors cost a training. Needs a build.
//
//   npm run bench -- mirrors
//
// A training of 400 steps a second logs ten metrics a step into a file store. For each of its seconds the samples are logged and flushed,
// and then the mirror sends them: its processor time, reading, encoding and sending included, is what it takes from that second. The
// mirrors take turns, second by second, so that a busy machine is busy for all of them. The server that stands for MLflow is a process of
// its own. A loop with and without a mirror differs by less than two loops without one do on a machine that has other work.
import { fork } from 'node:child_process';
import { createServer } from 'node:http';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const STEPS_A_SECOND = 400;
const SECONDS = 60;
const WARM_UP = 5;
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
  const { median, report } = await import('./harness.mjs');
  const build = fileURLToPath(new URL('../build/', import.meta.url));
  await mkdir(build, { recursive: true });
  const root = await mkdtemp(join(build, 'bench-mirrors-'));
  const child = fork(fileURLToPath(import.meta.url), ['server']);
  const port = await new Promise((resolve) => child.once('message', resolve));
  const sinks = {
    tensorboard: tensorBoardSink({ directory: join(root, 'logs') }),
    mlflow: mlflowSink({ url: `http://127.0.0.1:${port}` }),
    'a function': functionSink('function', () => undefined),
  };
  const mirrored = await Promise.all(
    Object.entries(sinks).map(async ([name, sink]) => {
      const session = await startRun({ project: 'bench', storage: join(root, name) });
      // Nothing is sent by itself: each second is measured.
      const mirror = mirrorRun(session, sink, { intervalMs: 3_600_000 });
      return { name, session, mirror, metrics: new MetricsLogger(session), cpuMs: [], logMs: [] };
    }),
  );
  try {
    for (let second = 0; second < WARM_UP + SECONDS; second++)
      for (const { cpuMs, logMs, metrics, mirror, session } of mirrored) {
        const logged = await processorTime(async () => {
          for (let i = 0; i < STEPS_A_SECOND; i++)
            for (let key = 0; key < METRICS; key++)
              metrics.log(`group/metric_${key}`, 1 / (i + 1), {
                step: second * STEPS_A_SECOND + i,
              });
          await session.flush();
        });
        const sent = await processorTime(() => mirror.flush());
        if (second < WARM_UP) continue;
        logMs.push(logged);
        cpuMs.push(sent);
      }
    for (const { mirror, name, session } of mirrored) {
      await session.endRun();
      const { samples } = mirror.status;
      if (samples !== (WARM_UP + SECONDS) * STEPS_A_SECOND * METRICS)
        throw new Error(`The mirror ${name} has ${samples} samples.`);
      await session.close();
    }
  } finally {
    child.kill();
    await rm(root, { recursive: true, force: true });
  }
  await report('mirrors', [
    {
      what: 'recording itself, for comparison',
      value: median(mirrored.flatMap(({ logMs }) => logMs)) / 10,
      unit: '% of a second',
    },
    ...mirrored.map(({ cpuMs, name }) => ({
      what: `a mirror to ${name}`,
      value: median(cpuMs) / 10,
      unit: '% of a second',
      target: 'under 2',
    })),
  ]);
}

/** Of the whole process, in milliseconds. */
async function processorTime(work) {
  const before = process.cpuUsage();
  await work();
  const { system, user } = process.cpuUsage(before);
  return (system + user) / 1000;
}
