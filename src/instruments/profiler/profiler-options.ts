/** The settings of a profiler: names, defaults, checks. */
import { invalidInput } from '../../base/errors.ts';
import { callable, flag, numberWhere, optional, orNull, readOptions } from '../../base/options.ts';
import type { TensorSource } from '../../base/profiling.ts';
import { PROFILE_MEASURES, type ProfileValues } from '../../profile/measures.ts';
import { watchDevice, type WatchedDevice } from './device-memory.ts';

/** What a metric of one's own may use. */
export type ProfileMetricContext = {
  /** When the profile began, in UTC epoch milliseconds. */
  readonly startedAtMs: number;
  /** Milliseconds since then. */
  readonly atMs: number;
  /** Name of the checkpoint; `End` for a summary. */
  readonly stepName: string;
  /** What has been measured at this checkpoint, with the metrics before this one. */
  readonly values: ProfileValues;
  /** What was measured at the first checkpoint. */
  readonly baseline: ProfileValues;
};

/**
 * A metric of one's own, taken at each checkpoint or once at the end.
 *
 * @example
 * ```js
 * import { statSync, writeFileSync } from 'node:fs';
 * import { Profiler } from 'quark-sdk/profiler';
 *
 * writeFileSync('model.bin', new Uint8Array(2 ** 21));
 * const collect = () => statSync('model.bin').size / 2 ** 20;
 * const profiler = new Profiler(undefined, { metrics: [{ name: 'model_size_mb', unit: 'MiB', kind: 'summary', collect }] });
 * const { summary } = await profiler.close();
 * console.log(summary.model_size_mb); // 2
 * ```
 */
export type ProfileMetric = {
  /** A lowercase letter, then lowercase letters, digits and "_". */
  readonly name: string;
  /** Unit of the numbers, such as `bytes` or `samples`. */
  readonly unit: string;
  readonly kind: 'checkpoint' | 'summary';
  /** What it says, for people. Default: nothing. */
  readonly definition?: string | undefined;
  /** The number; null or undefined where there is none now. What it throws is told once, and the number left out. */
  readonly collect: (context: ProfileMetricContext) => number | null | undefined;
};

/** Options of {@link Profiler}. */
export type ProfilerOptions = {
  /** TensorFlow.js, for the tensors that are alive and the memory that they have on a GPU. Default null. */
  readonly tf?: TensorSource | null | undefined;
  /** WebAssembly memories, or functions that return their bytes, by name; default none. They are measured together. */
  readonly memories?:
    | Readonly<Record<string, { readonly buffer: ArrayBufferLike } | (() => number)>>
    | undefined;
  /** WebGPU devices whose buffers and textures are counted from now on. Default none. */
  readonly devices?: readonly WatchedDevice[] | undefined;
  /** Metrics of one's own. Default none. */
  readonly metrics?: readonly ProfileMetric[] | undefined;
  /** Whether the memory of GPUs is read (`nvidia-smi`, `rocm-smi`). Node only; default true. */
  readonly captureGpu?: boolean | undefined;
  /** Whether scopes are opened for what Quark does itself: epochs, first step, evaluation, analysis, export. Default true. */
  readonly automatic?: boolean | undefined;
  /** Checkpoints of a profile, 2 to 1,000,000; those beyond are counted and left out. Default 10,000. */
  readonly maxCheckpoints?: number | undefined;
  /** Milliseconds that only go up; default `performance.now`. For tests. */
  readonly now?: (() => number) | undefined;
};

const MAX_CHECKPOINTS = 1_000_000;
const METRIC_NAME = /^[a-z][a-z0-9_]{0,99}$/;

const RULES = {
  tf: orNull((field: string, value: TensorSource) => {
    if (typeof value.memory !== 'function')
      throw invalidInput(field, value, 'TensorFlow.js, or null');
    return value;
  }),
  memories: optional(checkMemories),
  devices: optional((field: string, devices: readonly WatchedDevice[]) => {
    if (!Array.isArray(devices) || devices.some((one) => typeof one?.createBuffer !== 'function'))
      throw invalidInput(field, devices, 'a list of WebGPU devices');
    return devices;
  }),
  metrics: optional(checkMetrics),
  captureGpu: flag(true),
  automatic: flag(true),
  maxCheckpoints: numberWhere(
    (value) => Number.isInteger(value) && value >= 2 && value <= MAX_CHECKPOINTS,
    `an integer from 2 to ${MAX_CHECKPOINTS}`,
    10_000,
  ),
  now: optional<() => number, () => number>(callable),
};

/** Settings with everything filled in. */
export type ProfilerSettings = ReturnType<typeof checkProfilerOptions>;

/** @throws {QuarkError} `invalid_input` naming the option */
export function checkProfilerOptions(options: ProfilerOptions) {
  return readOptions<ProfilerOptions, typeof RULES>('options', options, RULES);
}

function checkMemories(field: string, memories: NonNullable<ProfilerOptions['memories']>) {
  if (typeof memories !== 'object' || memories === null)
    throw invalidInput(field, memories, 'an object of memories');
  return Object.entries(memories).map(([name, memory]) => {
    if (typeof memory === 'function') return memory;
    if (typeof memory?.buffer?.byteLength !== 'number')
      throw invalidInput(`${field}.${name}`, memory, 'a WebAssembly.Memory, or a function');
    return () => memory.buffer.byteLength;
  });
}

function checkMetrics(field: string, metrics: readonly ProfileMetric[]): readonly ProfileMetric[] {
  if (!Array.isArray(metrics)) throw invalidInput(field, metrics, 'a list of metrics');
  const names = new Set<string>(Object.keys(PROFILE_MEASURES));
  for (const [i, metric] of metrics.entries()) {
    const at = `${field}[${i}]`;
    if (typeof metric !== 'object' || metric === null) throw invalidInput(at, metric, 'an object');
    const { collect, definition = '', kind, name, unit } = metric;
    if (typeof name !== 'string' || !METRIC_NAME.test(name))
      throw invalidInput(
        `${at}.name`,
        name,
        'a lowercase letter, then lowercase letters, digits and "_"',
      );
    if (names.has(name)) throw invalidInput(`${at}.name`, name, 'a name that no other measure has');
    if (typeof unit !== 'string') throw invalidInput(`${at}.unit`, unit, 'text');
    if (typeof definition !== 'string') throw invalidInput(`${at}.definition`, definition, 'text');
    if (kind !== 'checkpoint' && kind !== 'summary')
      throw invalidInput(`${at}.kind`, kind, '"checkpoint" or "summary"');
    if (typeof collect !== 'function') throw invalidInput(`${at}.collect`, collect, 'a function');
    names.add(name);
  }
  return [...metrics];
}

/** What is measured beside the process: tensors, memories, devices. */
export class ExtraMeter {
  readonly #memories: ProfilerSettings['memories'];
  #tf: TensorSource | null;
  readonly #devices: readonly ReturnType<typeof watchDevice>[];

  constructor({ devices, memories, tf }: ProfilerSettings) {
    this.#memories = memories;
    this.#tf = tf;
    this.#devices = (devices ?? []).map((device) => watchDevice(device));
  }

  /** Reads these tensors from now on, unless others were handed in. */
  offer(tf: TensorSource): void {
    this.#tf ??= tf;
  }

  /** Adds to `values`. What throws, such as TensorFlow.js before its backend is ready, is left out. */
  read(values: Record<string, number>): void {
    const memories = this.#memories;
    const tf = this.#tf;
    if (tf !== null) {
      try {
        const { numBytes, numBytesInGPU, numTensors } = tf.memory();
        values['tensor_count'] = numTensors;
        values['tensor_bytes'] = numBytes;
        if (numBytesInGPU !== undefined) values['tensor_gpu_bytes'] = numBytesInGPU;
      } catch {
        // No backend yet.
      }
    }
    if (memories !== undefined)
      values['wasm_bytes'] = memories.reduce((sum, one) => sum + one(), 0);
    if (this.#devices.length > 0)
      values['webgpu_bytes'] = this.#devices.reduce((sum, one) => sum + one.bytes(), 0);
  }

  close(): void {
    for (const device of this.#devices) device.close();
  }
}
