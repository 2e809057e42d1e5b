/** How a run of the training page is told from other runs, and what it needs to go on. */
import { DEFAULT_DIGITS_TRAINING, type DigitsTrainingConfig } from './digits.ts';
import { instrumentsOf } from './instruments.ts';

/** Project of the runs that the training page records. */
export const DEMO_PROJECT = 'digits-in-browser';

/** Value of `trainer` in the config of such a run. */
export const DEMO_TRAINER = 'quark-training-page';

/** Whether a run was recorded by the training page. */
export function isDemoRun(run: { readonly config: Readonly<Record<string, unknown>> }): boolean {
  return run.config['trainer'] === DEMO_TRAINER;
}

/** The settings of a run as they stand in its config; a missing or senseless one is the default. */
export function trainingConfigOf(config: Readonly<Record<string, unknown>>): DigitsTrainingConfig {
  const number = (name: string, fallback: number): number => {
    const value = config[name];
    return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : fallback;
  };
  const { epochs, batchSize, learningRate, validationRatio, seed } = DEFAULT_DIGITS_TRAINING;
  return {
    epochs: number('epochs', epochs),
    batchSize: number('batch_size', batchSize),
    learningRate: number('learning_rate', learningRate),
    validationRatio: number('validation_ratio', validationRatio),
    seed: number('seed', seed),
    instruments: instrumentsOf(config['instruments']),
  };
}
