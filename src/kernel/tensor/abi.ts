/** The exports of the WebAssembly module, typed: the one place where they get their types. */
import { QuarkError } from '../../base/errors.ts';
import type { PairType, TensorType } from '../kernel.ts';
import { compileEmbedded, type Modules } from '../twins.ts';
import { WASM_BASE64 } from './wasm.generated.ts';

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

type WasmFunctions = {
  readonly heapBase: () => number;
  readonly statsReset: (state: number) => void;
  readonly statsF32: StatsFunction;
  readonly statsF64: StatsFunction;
  readonly statsI32: StatsFunction;
  readonly statsU8: StatsFunction;
  readonly statsF16: StatsFunction;
  readonly statsBF16: StatsFunction;
  readonly pairF32: PairFunction;
  readonly pairF64: PairFunction;
  readonly histogramReset: (table: number, bins: number, beside: number) => void;
  readonly histogramF32: HistogramFunction;
  readonly histogramF64: HistogramFunction;
  readonly histogramCollect: (table: number, bins: number, out: number) => void;
  readonly histogramLogF32: HistogramLogFunction;
  readonly histogramLogF64: HistogramLogFunction;
  readonly widenF16: WidenFunction;
  readonly widenBF16: WidenFunction;
  readonly widenU8: WidenFunction;
  readonly widenI32: WidenFunction;
  readonly unitRowsF32: UnitRowsFunction;
  readonly unitRowsF64: UnitRowsFunction;
  readonly unitRunsF32: UnitRunsFunction;
  readonly unitRunsF64: UnitRunsFunction;
};

const FUNCTION_NAMES: readonly (keyof WasmFunctions)[] = [
  'heapBase',
  'statsReset',
  'statsF32',
  'statsF64',
  'statsI32',
  'statsU8',
  'statsF16',
  'statsBF16',
  'pairF32',
  'pairF64',
  'histogramReset',
  'histogramF32',
  'histogramF64',
  'histogramCollect',
  'histogramLogF32',
  'histogramLogF64',
  'widenF16',
  'widenBF16',
  'widenU8',
  'widenI32',
  'unitRowsF32',
  'unitRowsF64',
  'unitRunsF32',
  'unitRunsF64',
];

/** The element types that the kernels of histograms and units read; others are widened to one of them. */
export type WideType = PairType;

/** The kernels over linear memory, by element type where there are several. Addresses are byte offsets. */
export type KernelExports = Pick<
  WasmFunctions,
  'heapBase' | 'statsReset' | 'histogramReset' | 'histogramCollect'
> & {
  readonly memory: WebAssembly.Memory;
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
  const fixed = await compileEmbedded(WASM_BASE64);
  if (!relaxedSimd || !hasRelaxedSimd()) return [fixed];
  try {
    const { WASM_BASE64: text } = await import('./wasm-relaxed.generated.ts');
    return [fixed, await compileEmbedded(text)];
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

/** A new instance, with a memory of its own. Later modules work in it too, and what they export takes the place of the same name. */
export function instantiateKernels([first, ...others]: Modules): KernelExports {
  const exports = new WebAssembly.Instance(first, {}).exports;
  const { memory } = exports;
  if (!(memory instanceof WebAssembly.Memory)) throw missing('memory');
  const found: WebAssembly.Exports = { ...exports };
  for (const module of others)
    Object.assign(found, new WebAssembly.Instance(module, { env: { memory } }).exports);
  for (const name of FUNCTION_NAMES) {
    if (typeof found[name] !== 'function') throw missing(name);
  }
  const f = found as WasmFunctions;
  return {
    memory,
    heapBase: f.heapBase,
    statsReset: f.statsReset,
    stats: {
      float32: f.statsF32,
      float64: f.statsF64,
      int32: f.statsI32,
      uint8: f.statsU8,
      float16: f.statsF16,
      bfloat16: f.statsBF16,
    },
    histogramReset: f.histogramReset,
    histogram: { float32: f.histogramF32, float64: f.histogramF64 },
    histogramCollect: f.histogramCollect,
    pair: { float32: f.pairF32, float64: f.pairF64 },
    histogramLog: { float32: f.histogramLogF32, float64: f.histogramLogF64 },
    widen: { float16: f.widenF16, bfloat16: f.widenBF16, uint8: f.widenU8, int32: f.widenI32 },
    unitRows: { float32: f.unitRowsF32, float64: f.unitRowsF64 },
    unitRuns: { float32: f.unitRunsF32, float64: f.unitRunsF64 },
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
