/** The kernels that all probes of a program share: one WebAssembly instance, one worker pool. */
import { jsKernel } from '../../kernel/tensor/js-kernel.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { createKernels, type Kernels } from '../../kernel/tensor/kernels.ts';
import { warmUp } from './warm-up.ts';
import { handOverOf, type StepHandOver } from '../../kernel/tensor/step-hand-over.ts';

/** The kernels as a probe uses them. */
export interface KernelAccess {
  /** The kernel of this thread; plain JavaScript until the WebAssembly one has loaded. */
  readonly inline: Kernel;
  /** Hands parts of a step to workers; undefined where that is not possible, or not yet. */
  readonly steps: StepHandOver | undefined;
  /** Whether `inline` is what it will be: plain JavaScript adds up in another order, and finds other last digits. */
  readonly isLoaded: boolean;
  /** Whether it has been compiled besides: until then it takes many times as long. */
  readonly isReady: boolean;
  /** The kernels with their workers. */
  readonly loaded: Promise<Kernels>;
  /** Gives them back; the last user closes those that are shared. */
  release(): void;
}

let shared: { readonly loaded: Promise<Kernels>; users: number } | undefined;

/**
 * The kernels handed in, which stay the caller's, or the shared ones, made ready for the first probe in turns of the event loop.
 *
 * @param isLarge whether what is probed is worth a worker, which starts ahead then
 */
export function accessKernels(given: Kernels | undefined, isLarge: boolean): KernelAccess {
  if (given !== undefined)
    return {
      inline: given.inline,
      steps: handOverOf(given),
      isLoaded: true,
      isReady: true,
      loaded: Promise.resolve(given),
      release: () => undefined,
    };
  shared ??= { loaded: createKernels(), users: 0 };
  const own = shared;
  own.users += 1;
  let inline: Kernel = jsKernel;
  let steps: StepHandOver | undefined;
  let isLoaded = false;
  let isReady = false;
  let isReleased = false;
  void own.loaded.then(async (kernels) => {
    ({ inline } = kernels);
    isLoaded = true;
    steps = handOverOf(kernels);
    if (isReleased) return;
    if (isLarge) steps?.prepare();
    await warmUp(inline, () => isReleased);
    isReady = true;
  });
  return {
    get inline() {
      return inline;
    },
    get steps() {
      return steps;
    },
    get isLoaded() {
      return isLoaded;
    },
    get isReady() {
      return isReady;
    },
    loaded: own.loaded,
    release() {
      if (isReleased) return;
      isReleased = true;
      own.users -= 1;
      if (own.users > 0) return;
      if (shared === own) shared = undefined;
      void own.loaded.then((kernels) => kernels.close());
    },
  };
}
