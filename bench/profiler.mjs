// What a timer and a checkpoint cost, and what a profile costs a training of small steps.
//
//   npm run bench -- profiler
import { MetricsLogger, startRun } from '../dist/index.js';
import { Profiler, Timers } from '../dist/profiler.js';
import { interleaved, report } from './harness.mjs';

const CALLS = 1_000_000;
const CHECKPOINTS = 500;
const EPOCHS = 10;
const STEPS = 200;

let sum = 0;
const work = () => {
  sum += 1;
};
const timers = new Timers();
const timer = timers.timer('batch of one');
const profiler = new Profiler(undefined, { captureGpu: false, maxCheckpoints: 1_000_000 });

const calls = await interleaved({
  plain: () => {
    for (let i = 0; i < CALLS; i++) work();
  },
  time: () => {
    for (let i = 0; i < CALLS; i++) timers.time('batch', work);
  },
  ofTimer: () => {
    for (let i = 0; i < CALLS; i++) timer.time(work);
  },
  start: () => {
    for (let i = 0; i < CALLS; i++) timers.start('block').stop();
  },
});
const checkpoints = await interleaved({
  checkpoint: () => {
    for (let i = 0; i < CHECKPOINTS; i++) profiler.checkpoint('bench');
  },
});
await profiler.close();

/** Steps of a millisecond of arithmetic, ten epochs with an evaluation each. */
async function training(profile) {
  const session = await startRun({ project: 'bench', storage: 'memory:' });
  const own = profile ? new Profiler(session, { captureGpu: false }) : undefined;
  const metrics = new MetricsLogger(session);
  const scope = (name, inner) => (own === undefined ? inner() : own.scope(name, inner));
  const before = performance.now();
  for (let epoch = 0; epoch < EPOCHS; epoch++)
    scope('Epoch', () => {
      for (let i = 0; i < STEPS; i++) {
        let x = 0;
        for (let k = 1; k < 200_000; k++) x += Math.sqrt(k);
        metrics.log('train/loss', x, { step: epoch * STEPS + i });
      }
      scope('Model Evaluation', work);
    });
  const ms = performance.now() - before;
  await session.endRun();
  return ms;
}
const trainings = await interleaved({
  plain: () => training(false),
  profiled: () => training(true),
});

const nanoseconds = (ms) => ((ms - calls.plain) / CALLS) * 1e6;
await report('profiler', [
  {
    what: "timers.time('batch', work)",
    value: nanoseconds(calls.time),
    unit: 'ns',
    target: '< 300',
  },
  { what: 'timer.time(work)', value: nanoseconds(calls.ofTimer), unit: 'ns', target: '< 300' },
  { what: "timers.start('block').stop()", value: nanoseconds(calls.start), unit: 'ns' },
  { what: 'a checkpoint', value: checkpoints.checkpoint / CHECKPOINTS, unit: 'ms' },
  {
    what: `a profile of a training of ${(trainings.plain / 1000).toFixed(1)} s, ${EPOCHS} epochs`,
    value: 100 * (trainings.profiled / trainings.plain - 1),
    unit: '%',
    target: '< 1',
  },
]);
if (sum === 0) throw new Error('Nothing was measured.');
