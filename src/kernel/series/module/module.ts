/** One instance of the series module and its memory. */
import { QuarkError } from '../../../base/errors.ts';
import { Arena } from '../../arena.ts';
import { compileEmbedded } from '../../twins.ts';
import { wasmBase64 } from './wasm.generated.ts';

/** Some exports of the module: numbers in, a number or nothing out. */
export type SeriesFunctions = Readonly<Record<string, (...args: number[]) => number | void>>;

const LIMIT_BYTES = 2 ** 31;
/** An instance whose memory has grown beyond this is dropped after the call that grew it, which gives the memory back. */
const RETAIN_BYTES = 16 * 1024 * 1024;

type Instance = { readonly exports: WebAssembly.Exports; readonly arena: Arena };

/**
 * Compiles the embedded module.
 *
 * @throws {WebAssembly.CompileError} where SIMD is missing or the page's policy forbids WebAssembly
 */
export async function compileSeries(): Promise<WebAssembly.Module> {
  return compileEmbedded(wasmBase64());
}

/** The series kernels of one thread. Not reentrant: `work` must not call {@link SeriesModule.use}. */
export class SeriesModule {
  readonly #module: WebAssembly.Module;
  readonly #retainBytes: number;
  #instance: Instance;

  /** @param retainBytes memory above this is given back after a call */
  constructor(module: WebAssembly.Module, retainBytes: number = RETAIN_BYTES) {
    this.#module = module;
    this.#retainBytes = retainBytes;
    this.#instance = createInstance(module);
  }

  /** Bytes of WebAssembly memory held between calls. */
  get memoryBytes(): number {
    return this.#instance.arena.capacityBytes;
  }

  /**
   * Lends the functions called `names` and the memory to `work`; what it allocates is taken back when it returns, so its result must
   * be a copy.
   *
   * @throws {QuarkError} `kernel_failed` when the module lacks a function or the memory is exhausted
   */
  use<F extends SeriesFunctions, T>(
    names: readonly (keyof F & string)[],
    work: (functions: F, arena: Arena) => T,
  ): T {
    const { exports, arena } = this.#instance;
    for (const name of names) {
      if (typeof exports[name] !== 'function') {
        throw new QuarkError(
          'kernel_failed',
          `The series module has no "${name}"; build it again with "npm run wasm".`,
          { details: { name } },
        );
      }
    }
    const mark = arena.mark();
    try {
      return work(exports as F, arena); // the one place where the exports of the module get their types
    } finally {
      arena.release(mark);
      if (this.memoryBytes > this.#retainBytes) this.#instance = createInstance(this.#module);
    }
  }
}

/** Copies values into the arena and returns their address. */
export function copyIn(arena: Arena, values: Float64Array): number {
  const address = arena.allocate(values.byteLength);
  arena.slots(address, values.length).set(values);
  return address;
}

function createInstance(module: WebAssembly.Module): Instance {
  // The scratch memory of the statistics among them lies below `memoryBase` of asconfig.series.json, where static data begins.
  const { exports } = new WebAssembly.Instance(module, { memory: { scratch: 0 } });
  const { memory, heapBase } = exports;
  if (!(memory instanceof WebAssembly.Memory) || typeof heapBase !== 'function') {
    throw new QuarkError(
      'kernel_failed',
      'The series module has no memory; build it again with "npm run wasm".',
    );
  }
  return { exports, arena: new Arena(memory, Number(heapBase()), LIMIT_BYTES) };
}
