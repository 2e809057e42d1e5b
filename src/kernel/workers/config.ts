/** The settings of the kernels: names, defaults, checks. */
import {
  checkCount,
  checkLiteral,
  checkOptionNames,
  checkPositive,
  checkFlag,
} from '../../base/assert.ts';
import type { Clock } from '../../base/clock.ts';
import { invalidInput } from '../../base/errors.ts';
import type { Kernel } from '../kernel.ts';
import { canShareMemory, processorCount } from './machine.ts';
import { WORKER_MODES, type WorkerLike, type WorkerMode } from './spawn.ts';

/** Settings of {@link createKernels}. */
export type KernelsConfig = {
  /** Most workers; default one less than the processors, at most 4. 0: everything runs on the calling thread. */
  readonly workers?: number;
  /**
   * Null, the default: a call goes to a worker where handing its data over blocks the caller for less time than computing on the spot
   * would, as measured on this machine (`diagnostics().handOver`). A number: tensors of up to so many bytes are computed on the calling
   * thread, and all larger ones by workers, to keep the thread free for other things. It is a figure for statistics of float32; an element
   * of float64 counts as 14 bytes, of int32 as 10, of uint8 as 3, of the 16-bit floats as 6, an element of the statistics of units as 10,
   * of a histogram as 20. Series are not measured: null means 262,144 for them.
   */
  readonly inlineBytes?: number | null;
  /** Larger tensors are computed in chunks of so many bytes, a multiple of 8,192; default 4 MiB. */
  readonly chunkBytes?: number;
  /**
   * Most bytes of copies waiting for or at workers, buffers kept for later included; default 256 MiB. A call that would exceed it is
   * computed on the calling thread.
   */
  readonly maxPendingBytes?: number;
  /** Workers without work for so long are ended, and kept buffers with them; default 30,000. */
  readonly idleMs?: number;
  /** A worker that has not answered its first message by then counts as not working; default 10,000. */
  readonly startTimeoutMs?: number;
  /** A chunk that has not been answered by then fails, and its worker is replaced; default 60,000. */
  readonly callTimeoutMs?: number;
  /** Whether tensors reach workers in shared memory; default: where that is possible. */
  readonly sharedMemory?: boolean;
  /** How workers are made; default `auto`. */
  readonly workerMode?: WorkerMode;
  /**
   * Makes the workers instead, for set-ups that reach neither the worker's URL nor its text. It runs the package's
   * `worker.js`, or `series-worker.js` for series kernels.
   */
  readonly spawn?: () => WorkerLike;
  /** The implementation on the calling thread; default `wasm`, which falls back to `js` where WebAssembly cannot run. */
  readonly kernel?: Kernel['kind'];
  /**
   * Whether relaxed SIMD is used where the engine has it; default true. It makes some kernels faster by 5 to 60 %. Results then differ in
   * their last bits between machines, within the bounds they have anyway; on one machine they are the same from run to run.
   */
  readonly relaxedSimd?: boolean;
  /** Source of time for the timeouts; default the machine's. */
  readonly clock?: Clock;
};

/** The defaults of {@link KernelsConfig} that do not depend on the machine. */
export const DEFAULT_KERNELS_CONFIG = Object.freeze({
  inlineBytes: null,
  chunkBytes: 4 * 1024 * 1024,
  maxPendingBytes: 256 * 1024 * 1024,
  idleMs: 30_000,
  startTimeoutMs: 10_000,
  callTimeoutMs: 60_000,
  workerMode: 'auto',
  kernel: 'wasm',
  relaxedSimd: true,
} as const);

/** A {@link KernelsConfig} with everything filled in. */
export type KernelsSettings = Required<Omit<KernelsConfig, 'spawn' | 'clock'>> &
  Pick<KernelsConfig, 'spawn' | 'clock'>;

/** Chunks end where blocks of the statistics end, so that a chunk is made of whole blocks. */
const CHUNK_STEP_BYTES = 8192;
const MAX_WORKERS = 64;
const DEFAULT_MOST_WORKERS = 4;
/** Names of {@link KernelsConfig}. */
export const KERNELS_CONFIG_NAMES: readonly string[] = [
  ...Object.keys(DEFAULT_KERNELS_CONFIG),
  'workers',
  'sharedMemory',
  'spawn',
  'clock',
];

/** @throws {QuarkError} `invalid_input` */
export function checkKernelsConfig(config: KernelsConfig): KernelsSettings {
  if (typeof config !== 'object' || config === null)
    throw invalidInput('config', config, 'an object');
  checkOptionNames('config', config, KERNELS_CONFIG_NAMES);
  const settings = {
    ...DEFAULT_KERNELS_CONFIG,
    workers: defaultWorkers(),
    sharedMemory: canShareMemory(),
    ...withoutUndefined(config),
  };
  if (checkCount('workers', settings.workers) > MAX_WORKERS) {
    throw invalidInput('workers', settings.workers, `at most ${MAX_WORKERS}`);
  }
  if (settings.inlineBytes !== null) checkCount('inlineBytes', settings.inlineBytes);
  if (checkPositive('chunkBytes', settings.chunkBytes) % CHUNK_STEP_BYTES !== 0) {
    throw invalidInput('chunkBytes', settings.chunkBytes, `a multiple of ${CHUNK_STEP_BYTES}`);
  }
  checkCount('maxPendingBytes', settings.maxPendingBytes);
  checkPositive('idleMs', settings.idleMs);
  checkPositive('startTimeoutMs', settings.startTimeoutMs);
  checkPositive('callTimeoutMs', settings.callTimeoutMs);
  checkFlag('sharedMemory', settings.sharedMemory);
  if (settings.sharedMemory && !canShareMemory()) {
    throw invalidInput(
      'sharedMemory',
      true,
      'false here: memory can be shared in Node and in cross-origin isolated pages only',
    );
  }
  checkLiteral('workerMode', settings.workerMode, WORKER_MODES);
  checkLiteral('kernel', settings.kernel, ['wasm', 'js']);
  checkFlag('relaxedSimd', settings.relaxedSimd);
  if (settings.spawn !== undefined && typeof settings.spawn !== 'function') {
    throw invalidInput('spawn', settings.spawn, 'a function that returns a worker');
  }
  return settings;
}

function defaultWorkers(): number {
  return Math.min(DEFAULT_MOST_WORKERS, Math.max(0, processorCount() - 1));
}

/** An option that is present and undefined means its default. */
function withoutUndefined(config: KernelsConfig): KernelsConfig {
  return Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined));
}
