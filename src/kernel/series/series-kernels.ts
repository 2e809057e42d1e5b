/**
 * The way to the series kernels for programs that must not be held up: short series are computed on the calling thread, longer ones
 * are copied and go to workers. Every method of {@link SeriesKernel} is here once more, with a promise.
 */
import { inSpan, KERNEL_START } from '../../base/profiling.ts';
import { checkOptionNames } from '../../base/assert.ts';
import { ASYNC_DISPOSE } from '../../base/dispose.ts';
import { invalidInput } from '../../base/errors.ts';
import { checkKernelsConfig, KERNELS_CONFIG_NAMES, type KernelsConfig } from '../workers/config.ts';
import {
  borrowedRoom,
  Dispatcher,
  type KernelCallOptions,
  type KernelsDiagnostics,
  type Room,
} from '../workers/dispatch.ts';
import { loadTwin } from '../twins.ts';
import {
  copyWhole,
  describeArguments,
  lengthOf,
  seriesOf,
  argumentBytes,
  writeArguments,
  type Argument,
} from './arguments.ts';
import { costOf } from './costs.ts';
import { callMethod, executeSeriesCall, type SeriesArgument, type SeriesCall } from './host.ts';
import { SERIES_TWINS } from './load-kernel.ts';
import type { SeriesKernel } from './series-kernel.ts';
import type { SeriesValues } from './module/values.ts';
import { SERIES_WORKER } from './worker-file.ts';

/**
 * Settings of {@link createSeriesKernels}: those of `createKernels`, but for the chunks, which series are not cut into, and relaxed SIMD, which
 * they do not use. `inlineBytes` counts the time of statistics of float32 here too: a series stays on the calling thread while it takes no longer than that many bytes.
 */
export type SeriesKernelsConfig = Omit<KernelsConfig, 'chunkBytes' | 'relaxedSimd'>;

/** The arguments of a method, with {@link KernelCallOptions} among its options. */
export type AsyncArguments<A extends readonly unknown[]> = A extends readonly [
  ...infer Series,
  infer Last,
]
  ? [Last] extends [SeriesValues]
    ? [...Series, values: Last, options?: KernelCallOptions]
    : [...Series, options: Last & KernelCallOptions]
  : Required<A> extends readonly [...infer Series, infer Last]
    ? [...Series, options?: NonNullable<Last> & KernelCallOptions]
    : never;

type Method = (...args: never[]) => unknown;

/** Every method of a kernel, with a promise for its result. */
export type AsyncMethods<K> = {
  readonly [M in keyof K as K[M] extends Method ? M : never]: K[M] extends (
    ...args: infer A
  ) => infer R
    ? (...args: AsyncArguments<A>) => Promise<R>
    : never;
};

/**
 * The series kernels with their workers: every method of {@link SeriesKernel} as an async one. Series are copied before a method
 * returns and are never changed or transferred; what a result holds belongs to the receiver. `borrow` is for one Float64Array over a
 * SharedArrayBuffer. Make them with {@link createSeriesKernels}; close them when they are no longer needed.
 *
 * Every method rejects with a {@link QuarkError}: `invalid_input`, `aborted`, or `kernel_failed` when the worker died or the kernels
 * are closed.
 */
export interface SeriesKernels extends AsyncMethods<SeriesKernel>, AsyncDisposable {
  /** The kernel of the calling thread, for those who want an answer at once. */
  readonly inline: SeriesKernel;

  /** What the kernels are made of and doing. */
  diagnostics(): KernelsDiagnostics;

  /** Ends the workers. Calls that are running or waiting fail with `kernel_failed`, and so do later ones. */
  close(): Promise<void>;
}

const FOREIGN_NAMES: ReadonlySet<string> = new Set(['chunkBytes', 'relaxedSimd']);

/**
 * Loads the kernels over series: smoothing, quantiles, outliers, change points, drawing. Workers start with the first call that needs one.
 *
 * @throws {QuarkError} `invalid_input`
 * @example
 * ```js
 * import { createSeriesKernels } from 'quark-sdk/kernels';
 *
 * const kernels = await createSeriesKernels();
 * const loss = Float64Array.from({ length: 1000 }, (_, i) => Math.exp(-i / 100));
 * const smooth = await kernels.smoothExponential(loss, { alpha: 0.1 });
 * console.log(smooth.length, await kernels.median(Float64Array.of(5, 1, 3))); // 1000 3
 * await kernels.close();
 * ```
 */
export async function createSeriesKernels(
  config: SeriesKernelsConfig = {},
): Promise<SeriesKernels> {
  if (typeof config !== 'object' || config === null)
    throw invalidInput('config', config, 'an object');
  const known = KERNELS_CONFIG_NAMES.filter((name) => !FOREIGN_NAMES.has(name));
  checkOptionNames('config', config, known);
  const settings = checkKernelsConfig(config);
  const { kernel, wasmFailure, simd, modules } = await inSpan(KERNEL_START, () =>
    loadTwin<SeriesKernel>(SERIES_TWINS, settings.kernel),
  );
  const dispatcher = new Dispatcher<SeriesCall, unknown>({
    settings,
    file: SERIES_WORKER,
    modules,
    runHere: (call, buffer) => executeSeriesCall(kernel, call, buffer),
  });
  const close = async (): Promise<void> => dispatcher.close();
  return Object.freeze({
    ...asyncMethods(kernel, dispatcher),
    inline: kernel,
    diagnostics: () => ({ kernel: kernel.kind, simd, wasmFailure, ...dispatcher.state() }),
    close,
    [ASYNC_DISPOSE]: close,
  });
}

function asyncMethods(
  kernel: SeriesKernel,
  dispatcher: Dispatcher<SeriesCall, unknown>,
): AsyncMethods<SeriesKernel> {
  const methods = Object.entries(kernel).flatMap(([name, value]) =>
    typeof value === 'function'
      ? [[name, async (...given: unknown[]) => run(kernel, dispatcher, name, given)] as const]
      : [],
  );
  // The one place where a method found by its name gets the type that the name stands for.
  return Object.fromEntries(methods) as AsyncMethods<SeriesKernel>;
}

async function run(
  kernel: SeriesKernel,
  dispatcher: Dispatcher<SeriesCall, unknown>,
  method: string,
  given: readonly unknown[],
): Promise<unknown> {
  const { args, options } = takeCallOptions(given);
  dispatcher.checkReady(options);
  const described = describeArguments(args);
  const length = lengthOf(described);
  const sent = dispatcher.staysHere(length * costOf(method), length * 8)
    ? undefined
    : send(dispatcher, described, options);
  if (sent === undefined) return callMethod(kernel, method, args);
  return dispatcher.hold([sent.room], options.signal, async (runIn) =>
    runIn(sent.room, { method, args: sent.args }),
  );
}

/** The arguments in a room; undefined when there is none, or when one cannot be copied: the kernel says what is wrong with it. */
function send(
  dispatcher: Dispatcher<SeriesCall, unknown>,
  args: readonly Argument[],
  options: KernelCallOptions,
): { readonly room: Room; readonly args: readonly SeriesArgument[] } | undefined {
  const [first, ...others] = args;
  const lent = canLend(dispatcher, args, options);
  const [room] = lent
    ? [borrowedRoom(lent.buffer)]
    : (dispatcher.acquire([argumentBytes(args)]) ?? []);
  if (room?.buffer === undefined) return undefined;
  try {
    if (lent === undefined || first === undefined)
      return { room, args: writeArguments(args, room.buffer) };
    const { byteOffset, length } = lent;
    return { room, args: [{ kind: 'series', byteOffset, length }, ...others.map(copyWhole)] };
  } catch {
    dispatcher.release(room);
    return undefined;
  }
}

/** The one typed array among the arguments, the first of them, when its memory can be handed over as it is. */
function canLend(
  dispatcher: Dispatcher<SeriesCall, unknown>,
  args: readonly Argument[],
  options: KernelCallOptions,
): Float64Array | undefined {
  const [first] = args;
  if (first?.kind !== 'series' || !(first.values instanceof Float64Array)) return undefined;
  const isOnly = seriesOf(args).filter((values) => ArrayBuffer.isView(values)).length === 1;
  return isOnly && dispatcher.canBorrow(first.values.buffer, options) ? first.values : undefined;
}

/** The options of the call taken out of those of the method, which are the last argument. */
function takeCallOptions(given: readonly unknown[]): {
  readonly args: readonly unknown[];
  readonly options: KernelCallOptions;
} {
  const last = given.at(-1);
  if (typeof last !== 'object' || last === null || Array.isArray(last) || ArrayBuffer.isView(last))
    return { args: given, options: {} };
  const { signal, borrow, ...rest }: Record<string, unknown> = { ...last };
  const options = Object.fromEntries(
    Object.entries({ signal, borrow }).filter(([, value]) => value !== undefined),
  );
  return { args: [...given.slice(0, -1), rest], options };
}
