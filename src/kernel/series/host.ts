/** What the worker of the series kernels runs: any method, on series that lie in one buffer. */
import { QuarkError } from '../../base/errors.ts';
import { exposeHost } from '../workers/worker-host.ts';
import { SeriesModule } from './module/module.ts';
import { createWasmSeriesKernel, jsSeriesKernel, type SeriesKernel } from './series-kernel.ts';

/**
 * An argument of a method: numbers that lie as float64 in the buffer that comes with the call, to be read there or, where a plain array
 * is expected, from a list; an object with such among its fields; or anything else as it is.
 */
export type SeriesArgument =
  | { readonly kind: 'series' | 'list'; readonly byteOffset: number; readonly length: number }
  | { readonly kind: 'object'; readonly fields: readonly (readonly [string, SeriesArgument])[] }
  | { readonly kind: 'plain'; readonly value: unknown };

/** A method to run. */
export type SeriesCall = { readonly method: string; readonly args: readonly SeriesArgument[] };

/** Runs one call on `kernel`. */
export function executeSeriesCall(
  kernel: SeriesKernel,
  { method, args }: SeriesCall,
  buffer: ArrayBufferLike,
): unknown {
  return callMethod(
    kernel,
    method,
    args.map((argument) => read(argument, buffer)),
  );
}

function read(argument: SeriesArgument, buffer: ArrayBufferLike): unknown {
  switch (argument.kind) {
    case 'plain':
      return argument.value;
    case 'object':
      return Object.fromEntries(
        argument.fields.map(([name, field]) => [name, read(field, buffer)]),
      );
    case 'series':
      return new Float64Array(buffer, argument.byteOffset, argument.length);
    case 'list':
      return Array.from(new Float64Array(buffer, argument.byteOffset, argument.length));
  }
}

/** Calls a method by its name. */
export function callMethod(
  kernel: SeriesKernel,
  method: string,
  args: readonly unknown[],
): unknown {
  const found: unknown = Object.hasOwn(kernel, method) ? Reflect.get(kernel, method) : undefined;
  if (typeof found !== 'function')
    throw new QuarkError('kernel_failed', `The series kernel has no "${method}".`, {
      details: { method },
    });
  return Reflect.apply(found, kernel, args);
}

/** Makes this thread a worker of the series kernels. */
export function exposeSeriesKernel(): void {
  exposeHost<SeriesCall>((modules) => {
    const kernel =
      modules === null ? jsSeriesKernel : createWasmSeriesKernel(new SeriesModule(modules[0]));
    return { execute: (call, buffer) => executeSeriesCall(kernel, call, buffer) };
  });
}
