/** What the page shows of the training in this tab. It belongs to the tab, not to a view: going elsewhere stops nothing. */
import { signal, type Signal } from '@preact/signals';
import type { AlertRecord, RecordingProblem, TrainingSession } from 'quark-sdk';

/** How far a training has come. */
export type TrainingProgress = {
  readonly runId: string;
  readonly backend: string;
  readonly epochs: number;
  /** Epochs that are done. */
  readonly epoch: number;
  readonly batchesPerEpoch: number;
  /** Batches that are done, over all epochs. */
  readonly batchesDone: number;
  /** Milliseconds to go, once there is something to judge by. */
  readonly etaMs: number | undefined;
};

/** A validation image and what the network takes it for. */
export type Guess = {
  /** 64 grey levels from 0 to 1. */
  readonly pixels: Float32Array;
  readonly label: number;
  /** Undefined before the first epoch is done. */
  readonly guess: number | undefined;
};

/** The training in this tab. */
export type TrainingState =
  | { readonly kind: 'idle' }
  | { readonly kind: 'preparing'; readonly what: string }
  | { readonly kind: 'training'; readonly progress: TrainingProgress; readonly isStopping: boolean }
  | {
      readonly kind: 'ended';
      readonly outcome: 'completed' | 'interrupted';
      readonly progress: TrainingProgress;
    }
  | { readonly kind: 'failed'; readonly error: unknown; readonly runId: string | undefined };

/** The training in this tab. */
export const training: Signal<TrainingState> = signal({ kind: 'idle' });

/**
 * The session of the last run in this tab. It stays open when its run has ended: as long as it is, what the service has not
 * taken yet is sent on.
 */
export const recording: Signal<TrainingSession | undefined> = signal(undefined);

/** What the session of the last run said of its recording last; undefined while it has had nothing to say. */
export const recordingProblem: Signal<RecordingProblem | undefined> = signal(undefined);

/** What the rules said of the run in this tab. */
export type Watching = {
  /** Alerts in the order in which they came. */
  readonly alerts: readonly AlertRecord[];
  /** Why nobody watches; undefined while somebody does. */
  readonly problem: unknown;
};

/** The watching over the run in this tab; undefined before it began. */
export const watching: Signal<Watching | undefined> = signal(undefined);

/** Some validation images with the guesses of the last epoch. */
export const guesses: Signal<readonly Guess[]> = signal([]);

/** Whether a training is under way in this tab. */
export function isTraining(state: TrainingState): boolean {
  return state.kind === 'preparing' || state.kind === 'training';
}

/** The run that the state is about. */
export function trainedRunId(state: TrainingState): string | undefined {
  switch (state.kind) {
    case 'training':
    case 'ended':
      return state.progress.runId;
    case 'failed':
      return state.runId;
    case 'idle':
    case 'preparing':
      return undefined;
  }
}

/** Time left, judged by the batches since `startedMs`; undefined before the second one. */
export function etaOf(
  startedMs: number,
  nowMs: number,
  batchesSinceStart: number,
  batchesLeft: number,
): number | undefined {
  if (batchesSinceStart < 2) return undefined;
  return ((nowMs - startedMs) / batchesSinceStart) * batchesLeft;
}
