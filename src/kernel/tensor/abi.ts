/** The exports of the WebAssembly module, typed: the one place where they get their types. */
import { QuarkError } from '../../base/errors.ts';
import type { PairType, TensorType } from '../kernel.ts';
import { compileEmbedded, type Modules } from '../twins.ts';
import { wasmBase64 } from './wasm.generated.ts';

type StatsFunction = (
  data: number,
  count: number,
  epsilon: number,
  threshold: number,
  state: number,
) => void;
type HistogramFunction = (
  data: number,
  count: number,
  low: number,
  high: number,
  bins: number,
  table: number,
  beside: number,
) => void;

type HistogramLogFunction = (
  data: number,
  count: number,
  firstExponent: number,
  octaves: number,
  log2BinsPerOctave: number,
  table: number,
  beside: number,
) => void;
type WidenFunction = (data: number, count: number, out: number) => void;
type UnitRowsFunction = (
  data: number,
  rows: number,
  units: number,
  epsilon: number,
  state: number,
) => void;
type UnitRunsFunction = (
  data: number,
  unit: number,
  units: number,
  length: number,
  epsilon: number,
  state: number,
) => void;

type PairFunction = (first: number, second: number, count: number, out: number) => void;

/** The element types that the kernels of histograms and units read; others are widened to one of them. */
export type WideType = PairType;

/** The kernels over linear memory, by element type where there are several. Addresses are byte offsets. */
export type KernelExports = {
  readonly statsReset: (state: number) => void;
  readonly histogramReset: (table: number, bins: number, beside: number) => void;
  readonly histogramCollect: (table: number, bins: number, out: number) => void;
  readonly stats: Readonly<Record<TensorType, StatsFunction>>;
  readonly histogram: Readonly<Record<WideType, HistogramFunction>>;
  readonly pair: Readonly<Record<PairType, PairFunction>>;
  readonly histogramLog: Readonly<Record<WideType, HistogramLogFunction>>;
  readonly widen: Readonly<Record<Exclude<TensorType, WideType>, WidenFunction>>;
  readonly unitRows: Readonly<Record<WideType, UnitRowsFunction>>;
  readonly unitRuns: Readonly<Record<WideType, UnitRunsFunction>>;
};

/**
 * Compiles the embedded module, and the one with relaxed SIMD where the engine has that. Rejects where the engine lacks SIMD or the
 * page's policy forbids WebAssembly.
 */
export async function compileKernels({
  relaxedSimd = true,
}: { readonly relaxedSimd?: boolean } = {}): Promise<Modules> {
  const fixed = await compileEmbedded(wasmBase64());
  if (!relaxedSimd || !hasRelaxedSimd()) return [fixed];
  try {
    const relaxed = await import('./wasm-relaxed.generated.ts');
    return [fixed, await compileEmbedded(relaxed.wasmBase64())];
  } catch {
    return [fixed]; // a chunk that cannot be fetched: the other module does all of it
  }
}

/** Whether the engine knows relaxed SIMD. */
export function hasRelaxedSimd(): boolean {
  return WebAssembly.validate(RELAXED_PROBE);
}

/** A module with one function, from three v128 to one by `f32x4.relaxed_madd`: header, type, function and code sections. */
const RELAXED_PROBE = Uint8Array.from(
  '0061736d01000000 010801 60037b7b7b017b 03020100 0a0d010b00 2000 2001 2002 fd8502 0b'
    .replaceAll(' ', '')
    .match(/../g) ?? [],
  (byte) => Number.parseInt(byte, 16),
);

/**
 * A new instance that works in `memory`. Later modules work in it too, and what they export replaces that of the same name.
 *
 * @param scratch address of SCRATCH_BYTES for the instance alone, a multiple of 16
 */
export function instantiateKernels(
  modules: Modules,
  memory: WebAssembly.Memory,
  scratch: number,
): KernelExports {
  const found: WebAssembly.Exports = {};
  for (const module of modules)
    Object.assign(
      found,
      new WebAssembly.Instance(module, { env: { memory }, memory: { scratch } }).exports,
    );
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the one position where exports get their types
  const get = <F>(name: string): F => {
    if (typeof found[name] !== 'function') throw missing(name);
    return found[name] as F;
  };
  return {
    statsReset: get('statsReset'),
    stats: {
      float32: get('statsF32'),
      float64: get('statsF64'),
      int32: get('statsI32'),
      uint8: get('statsU8'),
      float16: get('statsF16'),
      bfloat16: get('statsBF16'),
    },
    histogramReset: get('histogramReset'),
    histogram: { float32: get('histogramF32'), float64: get('histogramF64') },
    histogramCollect: get('histogramCollect'),
    pair: { float32: get('pairF32'), float64: get('pairF64') },
    histogramLog: { float32: get('histogramLogF32'), float64: get('histogramLogF64') },
    widen: {
      float16: get('widenF16'),
      bfloat16: get('widenBF16'),
      uint8: get('widenU8'),
      int32: get('widenI32'),
    },
    unitRows: { float32: get('unitRowsF32'), float64: get('unitRowsF64') },
    unitRuns: { float32: get('unitRunsF32'), float64: get('unitRunsF64') },
  };
}

function missing(name: string): QuarkError {
  return new QuarkError(
    'kernel_failed',
    `The kernel module has no "${name}"; build it again with "npm run wasm".`,
    {
      details: { name },
    },
  );
}
