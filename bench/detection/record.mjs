// Records the traces of some programs: node bench/detection/record.mjs PROGRAM SEEDS FOLDER [--only=id,...]
// One store a program; one JSON line a run on standard output: { runId, program, variant, kind, seed, outcome }.
import * as tf from '@tensorflow/tfjs';
import { FAULTS } from './faults.mjs';
import { HEALTHY } from './healthy.mjs';
import { PROGRAMS } from './programs.mjs';
import { train } from './training.mjs';

const [programName, seeds, folder, ...options] = process.argv.slice(2);
const only = options
  .find((option) => option.startsWith('--only='))
  ?.slice('--only='.length)
  .split(',');
const program = PROGRAMS.find(({ name }) => name === programName);
const variants = [
  ...HEALTHY.map((variant) => ({ ...variant, kind: 'healthy' })),
  ...FAULTS.map((variant) => ({ ...variant, kind: 'fault' })),
].filter(({ id, appliesTo }) => appliesTo(program) && (only === undefined || only.includes(id)));

tf.enableProdMode();
await tf.setBackend('cpu');
for (let seed = 0; seed < Number(seeds); seed += 1)
  for (const { id, kind, change } of variants) {
    const labels = { program: program.name, variant: id, kind };
    const began = performance.now();
    const outcome = await train(tf, change(program), { seed, storageDir: folder, labels });
    const seconds = (performance.now() - began) / 1000;
    process.stdout.write(`${JSON.stringify({ ...labels, seed, seconds, outcome })}\n`);
  }
