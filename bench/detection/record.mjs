// Records the traces of one program: node bench/detection/record.mjs PROGRAM SEEDS FOLDER [--only=id,...] [--from=SEED]
// --from goes on where an earlier recording of fewer seeds ended.
// One store a program; one JSON line a run on standard output: { runId, program, variant, kind, seed, outcome }.
import { useOwnClock } from './own-clock.mjs';
import * as tf from '@tensorflow/tfjs';
import { useFastConvolutions } from './conv-filter.mjs';
import { FAULTS } from './faults.mjs';
import { HEALTHY } from './healthy.mjs';
import { PROGRAMS } from './programs.mjs';
import { train } from './training.mjs';
import { TUTORIALS, trainTutorial } from './tutorials/programs.mjs';

/** Fewest seeds of the unchanged program: with six, the harm of two runs with a fault can be significant. */
const MIN_REFERENCE = 6;

const [programName, seeds, folder, ...options] = process.argv.slice(2);
const option = (name) =>
  options.find((one) => one.startsWith(`--${name}=`))?.slice(name.length + 3);
const only = option('only')?.split(',');
const first = Number(option('from') ?? 0);
const last = Math.max(first, Number(seeds));

useOwnClock();
tf.enableProdMode();
await tf.setBackend('cpu');
useFastConvolutions(tf);
const tutorial = TUTORIALS.find(({ name }) => name === programName);
if (tutorial) await recordTutorial();
else await recordClassic(PROGRAMS.find(({ name }) => name === programName));

async function recordClassic(program) {
  const variants = [
    ...HEALTHY.map((variant) => ({ ...variant, kind: 'healthy' })),
    ...FAULTS.map((variant) => ({ ...variant, kind: 'fault' })),
  ].filter(({ id, appliesTo }) => appliesTo(program) && isWanted(id));
  await eachRun(variants, ({ id, kind, change }, seed) =>
    train(tf, change(program), {
      seed,
      storageDir: folder,
      labels: { program: program.name, variant: id, kind },
    }),
  );
}

async function recordTutorial() {
  const variants = tutorial.variants.filter(({ id }) => isWanted(id));
  await eachRun(variants, (variant, seed) =>
    trainTutorial(tf, tutorial, variant, { seed, storageDir: folder }),
  );
}

function isWanted(id) {
  return only === undefined || only.includes(id);
}

async function eachRun(variants, run) {
  for (let seed = first; seed < Math.max(last, MIN_REFERENCE); seed += 1)
    for (const variant of variants) {
      const { id, kind } = variant;
      const isReference = id === 'healthy' && seed < MIN_REFERENCE;
      if (isReference ? first > 0 : seed >= last) continue;
      const began = performance.now();
      const outcome = await run(variant, seed);
      const seconds = (performance.now() - began) / 1000;
      const line = { program: programName, variant: id, kind, seed, seconds, outcome };
      process.stdout.write(`${JSON.stringify(line)}\n`);
    }
}
