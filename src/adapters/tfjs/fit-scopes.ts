/** Tells the profilers of a run what a training by `fit` is doing: epochs, the first step, evaluation, compiling, saving. */
import { tapMethod } from '../../base/method-tap.ts';
import { ProfileStep } from '../../base/profile-steps.ts';
import {
  isObserved,
  offerTensors,
  openSpan,
  type SpanEnd,
  type TensorSource,
} from '../../base/profiling.ts';
import type { RunHandle } from '../../session/run-handle.ts';

/** Methods of a model, and the step that each of them is. `fit` validates by the first two. */
const TAPPED: readonly (readonly [method: string, step: string])[] = [
  ['testLoop', ProfileStep.MODEL_EVALUATION],
  ['evaluateDataset', ProfileStep.MODEL_EVALUATION],
  ['compile', ProfileStep.MODEL_COMPILE],
  ['save', ProfileStep.MODEL_SAVING],
];

/** A `tf.Sequential` leaves training and evaluation to a model inside of it. */
function ownerOf(model: object, method: string): object {
  const inner: unknown = Reflect.get(model, 'model');
  const isInner = method === 'testLoop' || method === 'evaluateDataset';
  return isInner && typeof inner === 'object' && inner !== null ? inner : model;
}

/** The spans of one callback. Without a profiler nothing is opened, and the model is not touched. */
export class FitScopes {
  readonly #runId: string;
  readonly #open = new Map<string, SpanEnd>();
  readonly #undo: (() => void)[] = [];
  #hadFirstStep = false;

  constructor(handle: RunHandle, model: object, tf: TensorSource) {
    this.#runId = handle.runId;
    if (!isObserved()) return;
    offerTensors(tf, handle.runId);
    for (const [method, step] of TAPPED) {
      const owner = ownerOf(model, method);
      if (typeof Reflect.get(owner, method) !== 'function') continue;
      this.#undo.push(tapMethod(owner, method, (original) => this.#inStep(step, original)));
    }
    const detach = handle.attach({
      drain: () => Promise.resolve(),
      drainNow: () => undefined,
      close: () => Promise.resolve(this.close()),
    });
    this.#undo.push(detach);
  }

  begin(step: string): void {
    // What is open was left by a fit that threw.
    if (step === ProfileStep.TRAINING) this.#endAll(true);
    const end = openSpan(step, this.#runId);
    if (end !== undefined) this.#open.set(step, end);
  }

  end(step: string): void {
    const end = this.#open.get(step);
    this.#open.delete(step);
    end?.(false);
  }

  beginStep(): void {
    if (this.#hadFirstStep) return;
    this.#hadFirstStep = true;
    this.begin(ProfileStep.FIRST_STEP);
  }

  close(): void {
    this.#endAll(true);
    for (const undo of this.#undo.splice(0)) undo();
  }

  #endAll(hasFailed: boolean): void {
    const ends = [...this.#open.values()];
    this.#open.clear();
    for (const end of ends.toReversed()) end(hasFailed);
  }

  #inStep(
    step: string,
    original: (this: unknown, ...values: unknown[]) => unknown,
  ): (this: unknown, ...values: unknown[]) => unknown {
    const runId = this.#runId;
    return function (this: unknown, ...values) {
      const end = openSpan(step, runId);
      let result: unknown;
      try {
        result = original.apply(this, values);
      } catch (error) {
        end?.(true);
        throw error;
      }
      if (!(result instanceof Promise)) {
        end?.(false);
        return result;
      }
      return result.then(
        (value: unknown) => {
          end?.(false);
          return value;
        },
        (error: unknown) => {
          end?.(true);
          throw error;
        },
      );
    };
  }
}
