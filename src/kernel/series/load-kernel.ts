/** The series kernel for one thread, without the workers: what workers load themselves. */
import { loadTwin, type Modules } from '../twins.ts';
import { compileSeries, SeriesModule } from './module/module.ts';
import { createWasmSeriesKernel, jsSeriesKernel, type SeriesKernel } from './series-kernel.ts';

/** The kernel in WebAssembly and in plain JavaScript. */
export const SERIES_TWINS = {
  compile: async (): Promise<Modules> => [await compileSeries()],
  create: ([module]: Modules): SeriesKernel => createWasmSeriesKernel(new SeriesModule(module)),
  plain: jsSeriesKernel,
};

/**
 * The fastest series kernel there is, on this thread alone: for programs that want answers at once and have no workers to close. Never
 * fails: where WebAssembly cannot run, it is the plain one.
 *
 * @example
 * ```js
 * import { loadSeriesKernel } from 'quark-sdk/kernels';
 *
 * const kernel = await loadSeriesKernel();
 * console.log(kernel.kind, kernel.median(Float64Array.of(5, 1, 3))); // wasm 3
 * ```
 */
export async function loadSeriesKernel(): Promise<SeriesKernel> {
  return (await loadTwin<SeriesKernel>(SERIES_TWINS, 'wasm')).kernel;
}
