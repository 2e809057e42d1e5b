/** Tensors of TensorFlow.js as probes see them. */
import type { TensorData } from '../../kernel/kernel.ts';
import type { RetainedTensor, TensorRef } from '../../instruments/probes/model-source.ts';
import type { TfjsRuntime, TfTensor } from './tfjs-types.ts';
import { memoryOf } from './wasm-memory.ts';

/** Backends whose tensors are in the memory of this process. */
const HOST_BACKENDS: ReadonlySet<string> = new Set(['cpu', 'wasm', 'tensorflow']);

/** Whether tensors of the backend in use can be read without waiting. */
export function isOnHost(tf: TfjsRuntime): boolean {
  return HOST_BACKENDS.has(tf.getBackend());
}

/** A tensor on its way to a probe. */
export class TfTensorRef implements TensorRef {
  readonly tensor: TfTensor;
  readonly #tf: TfjsRuntime;
  /** What `data` gave last, of the WebAssembly backend: to find it takes as long as to reduce it. */
  #view: TensorData | undefined;

  constructor(tf: TfjsRuntime, tensor: TfTensor) {
    this.#tf = tf;
    this.tensor = tensor;
  }

  get shape(): readonly number[] {
    return this.tensor.shape;
  }

  get dtype(): string {
    return this.tensor.dtype;
  }

  get data(): TensorData | undefined {
    const tf = this.#tf;
    const backend = tf.getBackend();
    if (backend !== 'wasm') return HOST_BACKENDS.has(backend) ? elementsOf(this.tensor) : undefined;
    const memory = memoryOf(tf.backend());
    if (memory === undefined || this.tensor.isDisposed) return elementsOf(this.tensor);
    if (this.#view === undefined || !memory.isCurrent(this.#view))
      this.#view = memory.viewOf(this.tensor, elementsOf);
    return this.#view ?? elementsOf(this.tensor);
  }

  retain(): RetainedTensor {
    const { tensor } = this;
    const backend = this.#tf.getBackend();
    // The cpu backend makes an array for each tensor and never writes to it again: the array is all there is to hold.
    if (backend === 'cpu') return new RetainedArray(tensor, elementsOf(tensor));
    if (backend === 'wasm' && tensor.size <= MAX_COPY_LENGTH) {
      const { data } = this;
      if (data instanceof Float32Array) return new RetainedCopy(tensor, data);
    }
    // A clone counts a reference, which costs less than a copy of many elements.
    return new RetainedTfTensor(this.#tf, this.#tf.keep(tensor.clone()));
  }
}

class RetainedArray implements RetainedTensor {
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly data: TensorData;

  constructor({ shape, dtype }: TfTensor, data: TensorData) {
    this.shape = shape;
    this.dtype = dtype;
    this.data = data;
  }

  retain(): RetainedTensor {
    return this;
  }

  release(): void {}
}

/** Elements that are copied: a clone is an operation of the engine, which costs as much as these. */
const MAX_COPY_LENGTH = 1 << 13;
/** Arrays to copy into, by length: the same few tensors are retained again and again. */
const spares = new Map<number, Float32Array[]>();
const MAX_SPARES_A_LENGTH = 16;
const MAX_SPARE_LENGTHS = 64;

/** A copy for all who retain it. */
class RetainedCopy implements RetainedTensor {
  readonly shape: readonly number[];
  readonly dtype: string;
  #data: Float32Array | undefined;
  #users = 1;

  constructor({ shape, dtype }: TfTensor, data: Float32Array) {
    this.shape = shape;
    this.dtype = dtype;
    this.#data = spares.get(data.length)?.pop() ?? new Float32Array(data.length);
    this.#data.set(data);
  }

  get data(): TensorData | undefined {
    return this.#data;
  }

  retain(): RetainedTensor {
    this.#users += 1;
    return this;
  }

  release(): void {
    this.#users -= 1;
    if (this.#users > 0 || this.#data === undefined) return;
    const { length } = this.#data;
    let spare = spares.get(length);
    if (spare === undefined && spares.size < MAX_SPARE_LENGTHS) {
      spare = [];
      spares.set(length, spare);
    }
    if (spare !== undefined && spare.length < MAX_SPARES_A_LENGTH) spare.push(this.#data);
    this.#data = undefined;
  }
}

/** One reference for all who retain it: a clone costs an operation of the engine. */
class RetainedTfTensor extends TfTensorRef implements RetainedTensor {
  #users = 1;

  override retain(): RetainedTensor {
    this.#users += 1;
    return this;
  }

  release(): void {
    this.#users -= 1;
    if (this.#users === 0 && !this.tensor.isDisposed) this.tensor.dispose();
  }
}

/** The elements of a tensor in host memory, as the backend has them or gives them. */
function elementsOf(tensor: TfTensor): TensorData {
  const data: unknown = tensor.dataSync();
  if (
    data instanceof Float32Array ||
    data instanceof Int32Array ||
    data instanceof Uint8Array ||
    data instanceof Float64Array
  )
    return data;
  // The cpu backend references what it was given, which may be a plain array.
  if (Array.isArray(data) && tensor.dtype !== 'string') return Float32Array.from(data as number[]);
  throw new TypeError(`tensors of type ${tensor.dtype} have no statistics`);
}
