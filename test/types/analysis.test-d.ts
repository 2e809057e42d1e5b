// How a kernel's methods become async ones: the call's options join the method's, and everything else stays as it is.
import { expectTypeOf, test } from 'vitest';
import type {
  AsyncMethods,
  KernelCallOptions,
  SeriesKernels,
  SeriesValues,
} from 'quark-sdk/analysis';

interface Sample {
  readonly kind: 'wasm' | 'js';
  length(values: SeriesValues): number;
  smooth(values: SeriesValues, options?: { readonly alpha?: number }): Float64Array;
  trim(values: SeriesValues, options: { readonly share: number }): Float64Array;
  align(
    first: SeriesValues,
    second: SeriesValues,
    options?: { readonly fill?: number },
  ): { readonly first: Float64Array };
}

declare const twins: AsyncMethods<Sample>;
declare const signal: AbortSignal;
declare const series: Float64Array;

test('every method has its async twin, and nothing else has', () => {
  expectTypeOf<keyof AsyncMethods<Sample>>().toEqualTypeOf<
    'length' | 'smooth' | 'trim' | 'align'
  >();
  expectTypeOf(twins.length).parameter(0).toEqualTypeOf<SeriesValues>();
  expectTypeOf(twins.length).parameter(1).toEqualTypeOf<KernelCallOptions | undefined>();
  expectTypeOf(twins.length).returns.resolves.toEqualTypeOf<number>();
  expectTypeOf(twins.align(series, [1, 2])).resolves.toEqualTypeOf<{
    readonly first: Float64Array;
  }>();
});

test('options of the call stand beside those of the method', () => {
  expectTypeOf(twins.smooth).returns.resolves.toEqualTypeOf<Float64Array>();
  void twins.smooth(series);
  void twins.smooth([1, 2], { signal });
  void twins.smooth(series, { alpha: 0.5, signal, borrow: true });
  void twins.trim(series, { share: 0.1, signal });
  void twins.align(series, series, { fill: 0, signal });
  // @ts-expect-error the option is needed
  void twins.trim(series);
  // @ts-expect-error an option of that name does not exist
  void twins.smooth(series, { beta: 0.5 });
  // @ts-expect-error a series is numbers
  void twins.smooth(['1']);
});

test('the kernels themselves', () => {
  expectTypeOf<SeriesKernels>().toExtend<AsyncDisposable>();
  expectTypeOf<SeriesKernels['inline']['kind']>().toEqualTypeOf<'wasm' | 'js'>();
});
