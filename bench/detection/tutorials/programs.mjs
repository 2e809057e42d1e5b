// All tutorial programs: `{ name, heldOut, variants }`, each variant with what record.mjs and judge.mjs need of it.
import { TrainingSession } from '../../../dist/index.js';
import { ownClock } from '../own-clock.mjs';
import { uniform } from '../random.mjs';
import { CONTROL } from './control.mjs';
import { spoil } from './data.mjs';
import { GENERATIVE } from './generative.mjs';
import { UNSEEN_TUTORIALS, TUTORIAL_NAMES } from './unseen.mjs';
import { Kit } from './kit.mjs';
import { SEQUENCES } from './sequences.mjs';
import { TABULAR } from './tabular.mjs';
import { VISION } from './vision.mjs';

/** The program itself, twice: as it is, and for half as long again with another order and half the rate. */
const HEALTHY = [
  { id: 'healthy', o: {} },
  { id: 'slower', o: { rateFactor: 0.5, epochFactor: 1.5 } },
];

export const TUTORIALS = [...TABULAR, ...SEQUENCES, ...VISION, ...GENERATIVE, ...CONTROL].map(
  (program) => ({
    ...program,
    heldOut: UNSEEN_TUTORIALS.includes(program.name),
    variants: [
      ...HEALTHY.map((variant) => ({
        ...variant,
        kind: 'healthy',
        harm: 'metric',
        causes: [],
        accepted: [],
        layer: null,
      })),
      ...program.faults.map((fault) => ({ ...fault, kind: 'fault' })),
    ],
  }),
);

if (
  TUTORIALS.map(({ name }) => name)
    .toSorted()
    .join() !== TUTORIAL_NAMES.join()
)
  throw new Error('the programs are not those of unseen.mjs');

/** Trains one variant; returns its outcome. */
export async function trainTutorial(tf, program, variant, { seed, storageDir }) {
  const o = { ...program.o, ...variant.o };
  if (variant.o.epochFactor && o.steps) o.steps = Math.round(o.steps * variant.o.epochFactor);
  // `fit` shuffles with it, and layers without a seed draw from it.
  const { random } = Math;
  Math.random = uniform(5000 + seed);
  const tensors = tf.memory().numTensors;
  const run = {
    project: program.name,
    config: { program: program.name, variant: variant.id, seed },
    storageDir,
    clock: ownClock,
    handleSignals: false,
  };
  try {
    return await TrainingSession.run(run, async (session) => {
      const kit = new Kit(tf, session, o, seed);
      const drawn = program.data(1000 + seed);
      const data = drawn === null ? null : spoil(drawn, o, seed);
      const outcome = program.train
        ? await program.train(kit, data)
        : await fitted(kit, program, data);
      return { ...outcome, steps: kit.steps, stepMs: 0, leaked: tf.memory().numTensors - tensors };
    });
  } finally {
    Math.random = random;
  }
}

async function fitted(kit, program, data) {
  const model = await program.model(kit, data);
  const loss = program.loss?.(kit) ?? kit.o.loss;
  await kit.fit(model, data, { metrics: program.metrics, loss });
  const outcome = kit.outcome(model, data);
  // Harm is judged by the ratio of losses, which have to be above zero.
  return { ...outcome, valLoss: outcome.valLoss + (program.lossOffset ?? 0) };
}
