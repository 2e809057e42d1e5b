/** What the last optimizer step did, referenced until a snapshot reads it. */
import type { ParameterChange, RetainedTensor, TensorRef } from './model-source.ts';
import { copyOf } from './copies.ts';

/** One parameter's part of it. */
export type RetainedChange = {
  readonly gradient: TensorRef | null;
  readonly before: TensorRef | null;
};

export class RetainedChanges {
  readonly #changes = new Map<number, RetainedChange>();
  /** Gradients of the snapshot before. */
  readonly #earlier = new Map<number, TensorRef>();

  get isEmpty(): boolean {
    return this.#changes.size === 0;
  }

  retain(parameter: number, { gradient, before }: ParameterChange): void {
    this.#drop(parameter);
    this.#changes.set(parameter, { gradient: kept(gradient), before: kept(before) });
  }

  get(parameter: number): RetainedChange | undefined {
    return this.#changes.get(parameter);
  }

  /** The gradient of the snapshot before. */
  earlierGradient(parameter: number): TensorRef | undefined {
    return this.#earlier.get(parameter);
  }

  /** Ends a snapshot; its gradients are those to compare the next with. */
  passOn(keepsGradients: boolean): void {
    if (keepsGradients) {
      for (const [parameter, { gradient, before }] of this.#changes) {
        if (gradient === null) continue;
        giveUp(this.#earlier.get(parameter));
        this.#earlier.set(parameter, gradient);
        giveUp(before);
        this.#changes.delete(parameter);
      }
    }
    this.drop();
  }

  /** Gives up what the last step did. */
  drop(): void {
    for (const parameter of this.#changes.keys()) this.#drop(parameter);
  }

  /** Gives up everything. */
  clear(): void {
    this.drop();
    for (const gradient of this.#earlier.values()) giveUp(gradient);
    this.#earlier.clear();
  }

  #drop(parameter: number): void {
    const retained = this.#changes.get(parameter);
    giveUp(retained?.gradient);
    giveUp(retained?.before);
    this.#changes.delete(parameter);
  }
}

function kept(tensor: TensorRef | null): TensorRef | null {
  if (tensor === null) return null;
  const retained = tensor.retain?.();
  if (retained !== undefined) return retained;
  const { data } = tensor;
  return data === undefined ? null : copyOf(tensor, data);
}

function giveUp(tensor: TensorRef | RetainedTensor | null | undefined): void {
  if (tensor !== null && tensor !== undefined && 'release' in tensor) tensor.release();
}
