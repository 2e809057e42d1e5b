/**
 * Kernels in the memory of a framework: a tensor is read where it lies. What the kernels need for themselves, some 19 kB, comes from
 * the framework's own allocator and lasts as long as the memory; nothing else is written. Before an instance is used, and again when the
 * memory has grown, it computes numbers of a small tensor, which have to be those of the kernels' own memory, to the last bit.
 */
import { messageOf } from '../../base/errors.ts';
import { Arena } from '../arena.ts';
import type { TensorData } from '../kernel.ts';
import { inflateEmbedded, type Modules } from '../twins.ts';
import { hasRelaxedSimd, instantiateKernels } from './abi.ts';
import { PAIR_SLOTS, SCRATCH_BYTES, SLOT_BYTES, STATS_SLOTS } from './layout.ts';
import { lendMemory, type LentMemory } from './lent-memory.ts';
import type { Instance } from './wasm-instance.ts';
import { wasmBase64 } from './wasm.generated.ts';

/** A memory of a framework, and its allocator. */
export type MemoryOwner = {
  readonly memory: WebAssembly.Memory;
  /** The address of so many bytes, which are never given back. The memory may grow, which detaches every view. */
  readonly allocate: (sizeBytes: number) => number;
};

type Tried = {
  readonly instance: Instance;
  /** The buffer of the memory when the numbers were compared last. */
  checkedFor: ArrayBufferLike | undefined;
};

const ALIGNMENT = 16;
const STATE_BYTES = STATS_SLOTS * SLOT_BYTES;
/** A block of the swift way and a rest. */
const SAMPLE_LENGTH = 203;
const SAMPLE_BYTES = SAMPLE_LENGTH * 4;

export class ForeignMemory implements LentMemory {
  readonly #memory: WebAssembly.Memory;
  /** Scratch memory, then a state, then the small tensor. */
  readonly #base: number;
  readonly #isShared: boolean;
  /** By the number of modules: with and without relaxed SIMD. */
  readonly #tried = new Map<number, Tried>();
  #lentFor: ArrayBufferLike | undefined;
  #failure: string | undefined;

  /**
   * Takes the bytes: to be made while nobody has a view of the memory.
   *
   * @throws {RangeError} when the allocator has none, and what it throws
   */
  constructor({ memory, allocate }: MemoryOwner) {
    const sizeBytes = SCRATCH_BYTES + STATE_BYTES + SAMPLE_BYTES + ALIGNMENT;
    const address = allocate(sizeBytes);
    const isWithin = address > 0 && address + sizeBytes <= memory.buffer.byteLength;
    if (!Number.isSafeInteger(address) || !isWithin)
      throw new RangeError(`The allocator gave address ${address} for ${sizeBytes} bytes.`);
    this.#memory = memory;
    this.#base = Math.ceil(address / ALIGNMENT) * ALIGNMENT;
    this.#isShared = !(memory.buffer instanceof ArrayBuffer);
    if (this.#isShared) void this.#prepareShared();
  }

  /** Lets kernels read what lies in `buffer`, over which the framework has its views now. */
  lend(buffer: ArrayBufferLike): void {
    if (buffer === this.#lentFor) return;
    this.#lentFor = buffer;
    lendMemory(buffer, this);
  }

  instanceFor({ buffer }: TensorData, modules: Modules, own: Instance): Instance | string | null {
    if (this.#failure !== undefined) return this.#failure;
    // The buffer from before a growth, of a shared memory, is as good as ever, but not the one that addresses are checked against.
    if (buffer !== this.#memory.buffer) return null;
    const tried = this.#tried.get(modules.length);
    if (tried?.checkedFor === buffer) return tried.instance;
    const fitting = this.#isShared ? sharedModules?.get(modules.length) : modules;
    if (fitting === undefined) return null; // being compiled
    try {
      const { instance } = tried ?? this.#instantiate(fitting);
      this.#compare(instance, own);
      this.#tried.set(modules.length, { instance, checkedFor: buffer });
      return instance;
    } catch (error) {
      this.#failure = messageOf(error);
      return this.#failure;
    }
  }

  async #prepareShared(): Promise<void> {
    try {
      await compileShared();
    } catch (error) {
      this.#failure = messageOf(error);
    }
  }

  #instantiate(modules: Modules): Tried {
    const memory = this.#memory;
    const state = this.#base + SCRATCH_BYTES;
    const instance = {
      exports: instantiateKernels(modules, memory, this.#base),
      // No bytes of it may be handed out.
      arena: new Arena(memory, 0, 0),
      state,
      block: state + STATE_BYTES,
      blockBytes: SAMPLE_BYTES,
    };
    return { instance, checkedFor: undefined };
  }

  /** @throws {TypeError} unless the numbers of the small tensor are those of `own` */
  #compare(instance: Instance, own: Instance): void {
    const sample = new Float32Array(this.#memory.buffer, instance.block, SAMPLE_LENGTH);
    sample.set(sampleValues());
    const there = numbersOf(instance, sample);
    const here = numbersOf(own, sample);
    if (there.some((bits, slot) => bits !== here[slot]))
      throw new TypeError('Kernels in the memory of the framework give other numbers.');
  }
}

/** The bits of statistics of a tensor, and of its halves as a pair. */
function numbersOf({ exports, arena, state, block }: Instance, sample: Float32Array): bigint[] {
  const at = arena.locate(block, sample, 0, SAMPLE_BYTES);
  const bitsOf = (slots: number): bigint[] => {
    const { buffer, byteOffset } = arena.slots(state, slots);
    return [...new BigUint64Array(buffer, byteOffset, slots)];
  };
  exports.statsReset(state);
  exports.stats.float32(at, SAMPLE_LENGTH, 2 ** -10, 0.75, state);
  const stats = bitsOf(STATS_SLOTS);
  const half = SAMPLE_LENGTH >> 1;
  exports.pair.float32(at, at + half * 4, half, state);
  return [...stats, ...bitsOf(PAIR_SLOTS)];
}

/** Values from -1 to 1, with those that float32 has trouble with among them. */
function sampleValues(): Float32Array {
  const odd = [Number.NaN, -0, 1e-45, -1e-40, Infinity, 3e38, -Infinity];
  return Float32Array.from(
    { length: SAMPLE_LENGTH },
    (_, i) => odd[i % 29] ?? ((i * 7919) % 1013) / 512 - 1,
  );
}

/** Modules for shared memories, by their number; undefined until they have been compiled. */
let sharedModules: ReadonlyMap<number, Modules> | undefined;
let compilingShared: Promise<void> | undefined;

function compileShared(): Promise<void> {
  return (compilingShared ??= (async () => {
    const fixed = await WebAssembly.compile(withSharedMemory(await inflateEmbedded(wasmBase64())));
    const found = new Map<number, Modules>([[1, [fixed]]]);
    if (hasRelaxedSimd()) {
      const embedded = await import('./wasm-relaxed.generated.ts');
      const relaxed = await WebAssembly.compile(
        withSharedMemory(await inflateEmbedded(embedded.wasmBase64())),
      );
      found.set(2, [fixed, relaxed]);
    }
    sharedModules = found;
  })());
}

/** `env`, `memory`, that it is a memory, and that it has a maximum: as the import section of a module says it. */
const MEMORY_IMPORT = '\u0003env\u0006memory\u0002\u0001';
const SHARED = 3;

/** The same module for a shared memory, which only the import of the memory says: one byte of it. */
function withSharedMemory(module: ArrayBuffer): ArrayBuffer {
  const bytes = new Uint8Array(module);
  const at = String.fromCharCode(...bytes.subarray(0, 1024)).indexOf(MEMORY_IMPORT);
  if (at < 0) throw new TypeError('The kernels import no memory.');
  bytes[at + MEMORY_IMPORT.length - 1] = SHARED;
  return module;
}
