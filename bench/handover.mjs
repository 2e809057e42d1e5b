// What handing work to workers costs the thread that hands it over.
//
//   npm run bench -- handover                       one tensor, then a probed step of 50 tensors (needs a build)
//   npm run bench -- handover --before=FOLDER       the probed step beside that of another build's `dist`, in turn
//   npm run bench -- handover --only=step           the probed step alone
//   npm run bench -- handover --only=first          the first probes of fresh processes
//   npm run bench -- handover --only=memory         tensors of TensorFlow.js' WebAssembly backend, where they lie and copied
//
// On one core: taskset -c 0 npm run bench -- handover --only=step
import { execFileSync } from 'node:child_process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { resolve } from 'node:path';
import { loadavg } from 'node:os';
import { median, report } from './harness.mjs';
import { tensors, trainings as trainWays } from './handover/memory.mjs';
import { openSteps } from './handover/step.mjs';

const options = new Map(
  process.argv.slice(2).map((argument) => argument.replace(/^--/, '').split('=')),
);
const ROUNDS = Number(process.env['QUARK_BENCH_ROUNDS'] ?? 15);

async function load(folder) {
  const part = (name) => import(pathToFileURL(resolve(folder, name)).href);
  return {
    ...(await part('index.js')),
    ...(await part('probes.js')),
    ...(await part('kernels.js')),
    ...(await part('tfjs.js')),
  };
}

async function step() {
  const own = await load('dist');
  const before = options.get('before');
  const opened = {
    ...(before === undefined ? {} : { 'the build before': [await load(before), {}] }),
    'as measured, the default': [own, {}],
    'computed on the spot': [own, { kernels: { workers: 0 } }],
    transferred: [own, { kernels: { workers: 1, sharedMemory: false } }],
  };
  const rows = [];
  for (const turns of [true, false]) {
    const trainings = [];
    for (const [name, [lib, settings]] of Object.entries(opened))
      trainings.push({ name, times: [], steps: await openSteps(lib, { ...settings, turns }) });
    for (let round = -3; round < ROUNDS; round++) {
      for (const { steps, times } of trainings) {
        const ms = await steps.measure();
        if (round >= 0) times.push(ms);
        // A worker starts, and answers what it has.
        await new Promise((done) => setTimeout(done, round < 0 ? 100 : 5));
      }
    }
    for (const { name, times, steps } of trainings) {
      const loop = turns ? 'with turns of the event loop' : 'without';
      rows.push({
        what: `50 tensors, ${loop}: ${name}`,
        value: median(times),
        bestMs: Math.min(...times),
        unit: `ms of the thread (best ${Math.min(...times).toFixed(2)}; probed ${steps.probed()}, left out ${steps.skipped()})`,
      });
      await steps.close();
    }
  }
  await report('handover-step', rows);
  console.log(`load ${loadavg()[0].toFixed(1)}`);
}

/** The first probe of a process, and those after it, beside the build before. */
async function first() {
  const before = options.get('before');
  const builds = {
    'this build': 'dist',
    ...(before === undefined ? {} : { 'the build before': before }),
  };
  const times = Object.fromEntries(Object.keys(builds).map((name) => [name, []]));
  const program = fileURLToPath(new URL('handover/first.mjs', import.meta.url));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, folder] of Object.entries(builds))
      times[name].push(JSON.parse(execFileSync(process.execPath, [program, folder]).toString()));
  }
  const rows = Object.entries(times).flatMap(([name, rounds]) =>
    rounds[0].map((_, probe) => {
      const list = rounds.map((steps) => steps[probe]);
      return {
        what: `${name}: probe ${probe + 1} of a process, 50 tensors, 4 MB`,
        value: median(list),
        unit: `ms blocked (best ${Math.min(...list).toFixed(2)}, worst ${Math.max(...list).toFixed(2)})`,
      };
    }),
  );
  await report('handover-first', rows);
  console.log(`load ${loadavg()[0].toFixed(1)}`);
}

/** Tensors read where they lie, and trainings whose tensors are. */
async function memory() {
  const before = options.get('before');
  const own = await load('dist');
  await report('handover-memory', await tensors(own, ROUNDS));
  const builds = {
    'this build': own,
    ...(before === undefined ? {} : { 'the build before': await load(before) }),
  };
  await report('handover-memory-training', await trainWays(builds, ROUNDS));
  console.log(`load ${loadavg()[0].toFixed(1)}`);
}

const only = options.get('only');
if (only === undefined || only === 'step') await step();
if (only === undefined || only === 'first') await first();
if (only === undefined || only === 'memory') await memory();
if (only === undefined) {
  process.argv.push('--only=handover');
  await import('./kernels.mjs');
}
process.exit(0);
