/** Tensors on a device, counted: freed when the last one who holds them lets go. */
import type { RetainedTensor, TensorRef } from '../../../instruments/probes/model-source.ts';
import { hostRef, isTensorOnHost, type OrtTensor } from '../ort.ts';

/** Knows who holds what. Tensors on the host are left to the garbage collector. */
export class DeviceTensors {
  readonly #counts = new Map<OrtTensor, number>();
  readonly #tensors = new WeakMap<TensorRef, OrtTensor>();
  readonly #reducesAll: boolean;

  /** @param reducesAll whether tensors on the host are to be reduced with the others as well, instead of being read */
  constructor(reducesAll = false) {
    this.#reducesAll = reducesAll;
  }

  /** Keeps a tensor from being freed. */
  hold(tensor: OrtTensor): void {
    if (!isTensorOnHost(tensor)) this.#counts.set(tensor, (this.#counts.get(tensor) ?? 0) + 1);
  }

  /** Undoes one {@link hold}. */
  drop(tensor: OrtTensor): void {
    const count = this.#counts.get(tensor);
    if (count === undefined) return;
    if (count > 1) this.#counts.set(tensor, count - 1);
    else {
      this.#counts.delete(tensor);
      tensor.dispose();
    }
  }

  /** How many tensors are held. */
  get count(): number {
    return this.#counts.size;
  }

  /** A tensor as probes see it. */
  refer(tensor: OrtTensor): TensorRef {
    return isTensorOnHost(tensor) && !this.#reducesAll
      ? hostRef(tensor)
      : this.referOnDevice(tensor);
  }

  /** A tensor as probes see it, whose numbers are not read but reduced. */
  referOnDevice(tensor: OrtTensor): TensorRef & { retain(): RetainedTensor } {
    const ref = {
      shape: tensor.dims,
      dtype: tensor.type,
      data: undefined,
      retain: (): RetainedTensor => {
        this.hold(tensor);
        const kept = { ...this.referOnDevice(tensor), release: () => this.drop(tensor) };
        this.#tensors.set(kept, tensor);
        return kept;
      },
    };
    this.#tensors.set(ref, tensor);
    return ref;
  }

  /** The tensor behind a reference; undefined for one that is not from here. */
  tensorOf(ref: TensorRef): OrtTensor | undefined {
    return this.#tensors.get(ref);
  }
}
