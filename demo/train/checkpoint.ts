/** The weights and optimizer of a demo run, stored in this browser after each epoch, so that it can go on later. */
import type { LayersModel } from '@tensorflow/tfjs';
import type { Tf } from './digits.ts';

/** Where a run goes on. */
export type Checkpoint = {
  readonly model: LayersModel;
  /** Epochs that are done: the number of the next one, counted from 0. */
  readonly epoch: number;
  /** Step that the next batch gets. */
  readonly step: number;
};

const addressOf = (runId: string): string => `indexeddb://quark-digits-${runId}`;

/** Stores model, optimizer and position; replaces what was stored before. */
export async function saveCheckpoint(runId: string, checkpoint: Checkpoint): Promise<void> {
  const { model, epoch, step } = checkpoint;
  model.setUserDefinedMetadata({ epoch, step });
  await model.save(addressOf(runId), { includeOptimizer: true });
}

/** The last checkpoint of a run, or undefined when it was stopped before its first epoch was done. */
export async function loadCheckpoint(tf: Tf, runId: string): Promise<Checkpoint | undefined> {
  const stored = await tf.io.listModels();
  if (!(addressOf(runId) in stored)) return undefined;
  const model = await tf.loadLayersModel(addressOf(runId));
  const position: unknown = model.getUserDefinedMetadata();
  const epoch = countIn(position, 'epoch');
  const step = countIn(position, 'step');
  if (epoch !== undefined && step !== undefined) return { model, epoch, step };
  model.dispose();
  return undefined;
}

/** Removes the checkpoint of a run. */
export async function removeCheckpoint(tf: Tf, runId: string): Promise<void> {
  const stored = await tf.io.listModels();
  if (addressOf(runId) in stored) await tf.io.removeModel(addressOf(runId));
}

function countIn(position: unknown, name: string): number | undefined {
  if (typeof position !== 'object' || position === null) return undefined;
  const value: unknown = Object.entries(position).find(([key]) => key === name)?.[1];
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : undefined;
}
