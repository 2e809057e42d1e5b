/**
 * Tensors of TensorFlow.js' WebAssembly backend where they lie. The backend is read as 4.x has it and never changed; one that is built
 * differently is not known here, and its tensors are copied.
 */
import type { TensorData } from '../../kernel/kernel.ts';
import { messageOf } from '../../base/errors.ts';
import { ForeignMemory } from '../../kernel/tensor/foreign-memory.ts';
import { lendMemory } from '../../kernel/tensor/lent-memory.ts';
import type { TfTensor } from './tfjs-types.ts';

/** The part of the backend that knows where tensors lie. */
type WasmBackend = {
  readonly wasm: { readonly HEAPU8: Uint8Array };
  readonly dataIdMap: { has(dataId: object): boolean; get(dataId: object): unknown };
};

/** By the backend; null for one that is built differently. */
const memories = new WeakMap<object, BackendMemory | null>();

/** Tensors of each type up to this length are compared with a copy until one has been. */
const MAX_COMPARED_LENGTH = 1 << 12;

/** The memory of a backend; undefined where views of it are not to be had. */
export function memoryOf(backend: object): BackendMemory | undefined {
  const known = memories.get(backend);
  if (known !== undefined) return known ?? undefined;
  const memory = isWasmBackend(backend) ? new BackendMemory(backend) : null;
  memories.set(backend, memory);
  return memory ?? undefined;
}

/** Views of the tensors of one backend, each good until the next operation. */
export class BackendMemory {
  readonly #backend: WasmBackend;
  readonly #compared = new Set<string>();
  readonly #lend: (buffer: ArrayBufferLike) => void;

  constructor(backend: WasmBackend) {
    this.#backend = backend;
    this.#lend = lenderOf(backend.wasm);
  }

  /** Whether a view is over the memory as it is now. */
  isCurrent(view: TensorData): boolean {
    return view.buffer === this.#backend.wasm.HEAPU8.buffer;
  }

  /**
   * A view of a tensor, which spares the copy that `dataSync` makes; undefined where it is not known.
   *
   * @param copyOf gives the elements as the backend does
   */
  viewOf(tensor: TfTensor, copyOf: (tensor: TfTensor) => TensorData): TensorData | undefined {
    const view = this.#find(tensor);
    if (view === undefined) return undefined;
    const { dtype, size } = tensor;
    if (this.#compared.has(dtype) || size > MAX_COMPARED_LENGTH || size === 0) return view;
    if (!hasSameBits(view, copyOf(tensor))) {
      memories.set(this.#backend, null);
      return undefined;
    }
    this.#compared.add(dtype);
    return view;
  }

  #find({ dataId, dtype, size }: TfTensor): TensorData | undefined {
    const { wasm, dataIdMap } = this.#backend;
    if (!dataIdMap.has(dataId)) return undefined;
    const entry: unknown = dataIdMap.get(dataId);
    if (typeof entry !== 'object' || entry === null || !('memoryOffset' in entry)) return undefined;
    const { memoryOffset: at } = entry;
    if (typeof at !== 'number' || !Number.isSafeInteger(at) || at < 0) return undefined;
    const { buffer } = wasm.HEAPU8;
    const elementBytes = dtype === 'bool' ? 1 : 4;
    // A shared memory that another thread has grown: the backend's own view is behind.
    if (at % elementBytes !== 0 || at + size * elementBytes > buffer.byteLength) return undefined;
    this.#lend(buffer);
    if (dtype === 'float32') return new Float32Array(buffer, at, size);
    if (dtype === 'int32') return new Int32Array(buffer, at, size);
    if (dtype === 'bool') return new Uint8Array(buffer, at, size);
    return undefined;
  }
}

function isWasmBackend(backend: object): backend is WasmBackend {
  if (!('wasm' in backend) || !('dataIdMap' in backend)) return false;
  const { wasm, dataIdMap } = backend;
  if (typeof wasm !== 'object' || wasm === null || !('HEAPU8' in wasm)) return false;
  if (!(wasm.HEAPU8 instanceof Uint8Array)) return false;
  if (typeof dataIdMap !== 'object' || dataIdMap === null) return false;
  if (!('get' in dataIdMap) || typeof dataIdMap.get !== 'function') return false;
  return 'has' in dataIdMap && typeof dataIdMap.has === 'function';
}

/** Lets kernels work in the memory of a backend, or says why they do not. */
function lenderOf(wasm: WasmBackend['wasm']): (buffer: ArrayBufferLike) => void {
  try {
    const lent = new ForeignMemory({
      memory: webAssemblyMemoryOf(wasm),
      allocate: allocatorOf(wasm),
    });
    return (buffer) => lent.lend(buffer);
  } catch (error) {
    const failure = messageOf(error);
    return (buffer) => lendMemory(buffer, { instanceFor: () => failure });
  }
}

/** Where builds have it: on the module of a threaded one, else among the exports, which have two names. */
function webAssemblyMemoryOf(wasm: WasmBackend['wasm']): WebAssembly.Memory {
  const found = [
    'wasmMemory' in wasm ? wasm.wasmMemory : undefined,
    ...['asm' in wasm ? wasm.asm : undefined, 'wasmExports' in wasm ? wasm.wasmExports : undefined]
      .filter((exports) => typeof exports === 'object' && exports !== null)
      .map((exports) => ('memory' in exports ? exports.memory : undefined)),
  ].find((memory) => memory instanceof WebAssembly.Memory);
  if (found === undefined || found.buffer !== wasm.HEAPU8.buffer)
    throw new TypeError('The WebAssembly backend does not show its memory.');
  return found;
}

function allocatorOf(wasm: WasmBackend['wasm']): (sizeBytes: number) => number {
  const allocate: unknown = Reflect.get(wasm, '_malloc');
  if (typeof allocate !== 'function')
    throw new TypeError('The WebAssembly backend does not show its allocator.');
  // Addresses above 2 GB come as negative numbers.
  return (sizeBytes) => Number(Reflect.apply(allocate, wasm, [sizeBytes])) >>> 0;
}

function hasSameBits(view: TensorData, copy: TensorData): boolean {
  if (view.byteLength !== copy.byteLength) return false;
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  const expected = new Uint8Array(copy.buffer, copy.byteOffset, copy.byteLength);
  return bytes.every((byte, at) => byte === expected[at]);
}
