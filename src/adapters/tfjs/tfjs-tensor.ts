/** Tensors of TensorFlow.js as probes see them. */
import type { TensorData } from '../../kernel/kernel.ts';
import type { RetainedTensor, TensorRef } from '../../probes/model-source.ts';
import type { TfjsRuntime, TfTensor } from './tfjs-types.ts';

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
    return isOnHost(this.#tf) ? hostData(this.#tf, this.tensor) : undefined;
  }

  retain(): RetainedTensor {
    // The cpu backend makes an array for each tensor and never writes to it again: the array is all there is to hold.
    if (this.#tf.getBackend() === 'cpu')
      return new RetainedArray(this.tensor, hostData(this.#tf, this.tensor));
    // A clone counts a reference. A copy of the elements, even of a few thousand, costs twice as much.
    return new RetainedTfTensor(this.#tf, this.#tf.keep(this.tensor.clone()));
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

/** The memory of a tensor. Views of the WebAssembly backend's memory are good until its next operation. */
function hostData(tf: TfjsRuntime, tensor: TfTensor): TensorData {
  const view = tf.getBackend() === 'wasm' ? wasmView(tf.backend(), tensor) : undefined;
  if (view !== undefined) return view;
  const data: unknown = tensor.dataSync();
  if (
    data instanceof Float32Array ||
    data instanceof Int32Array ||
    data instanceof Uint8Array ||
    data instanceof Float64Array
  )
    return data;
  // The cpu backend keeps what it was given, which may be a plain array.
  if (Array.isArray(data) && tensor.dtype !== 'string') return Float32Array.from(data as number[]);
  throw new TypeError(`tensors of type ${tensor.dtype} have no statistics`);
}

/** Spares the copy that `dataSync` makes; undefined where the backend is built differently from 4.x. */
function wasmView(backend: object, { dataId, dtype, size }: TfTensor): TensorData | undefined {
  if (!('wasm' in backend) || !('dataIdMap' in backend)) return undefined;
  const { wasm, dataIdMap } = backend;
  if (typeof wasm !== 'object' || wasm === null || !('HEAPU8' in wasm)) return undefined;
  if (typeof dataIdMap !== 'object' || dataIdMap === null || !('get' in dataIdMap))
    return undefined;
  if (!(wasm.HEAPU8 instanceof Uint8Array) || typeof dataIdMap.get !== 'function') return undefined;
  if ('has' in dataIdMap && typeof dataIdMap.has === 'function' && dataIdMap.has(dataId) !== true)
    return undefined;
  const entry: unknown = dataIdMap.get(dataId);
  if (typeof entry !== 'object' || entry === null || !('memoryOffset' in entry)) return undefined;
  const { memoryOffset } = entry;
  if (typeof memoryOffset !== 'number') return undefined;
  const { buffer } = wasm.HEAPU8;
  if (dtype === 'float32' && memoryOffset % 4 === 0)
    return new Float32Array(buffer, memoryOffset, size);
  if (dtype === 'int32' && memoryOffset % 4 === 0)
    return new Int32Array(buffer, memoryOffset, size);
  if (dtype === 'bool') return new Uint8Array(buffer, memoryOffset, size);
  return undefined;
}
