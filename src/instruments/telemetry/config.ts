/** The settings of the telemetry: names, defaults, checks. */
import { checkCount, checkOptionNames, checkPositive, checkFlag } from '../../base/assert.ts';
import { invalidInput } from '../../base/errors.ts';
import { DEFAULT_WRITER_OPTIONS, type WriterOptions } from '../../session/buffered-writer.ts';

/** The part of TensorFlow.js that is asked: hand in `tf`. */
export type TensorMemory = {
  memory(): { readonly numTensors: number; readonly numBytes: number };
};

/** Settings of {@link SystemTelemetry}. */
export type SystemTelemetryConfig = WriterOptions & {
  /** `recordStep` and `startStep` record steps that are a multiple of this; default 1: all of them. */
  readonly sampleEveryNSteps?: number;
  /** Whether numbers are recorded as metrics too (`system/runtime/step_time_ms`, ...); default true. */
  readonly emitScalarMetrics?: boolean;
  /** Whether processor, memory and disks (in a page: heap, long tasks, battery) are read; default true. */
  readonly captureCpu?: boolean;
  /** Whether a GPU is looked for; default true. */
  readonly captureGpu?: boolean;
  /** Which GPU, as `nvidia-smi` counts them; default null: the first. Node only. */
  readonly gpuIndex?: number | null;
  /** TensorFlow.js, to record how many tensors are alive. Default null. */
  readonly tf?: TensorMemory | null;
};

/** The defaults of {@link SystemTelemetryConfig}. */
export const DEFAULT_SYSTEM_TELEMETRY_CONFIG = Object.freeze({
  sampleEveryNSteps: 1,
  emitScalarMetrics: true,
  captureCpu: true,
  captureGpu: true,
  gpuIndex: null,
  tf: null,
  batchSize: 20,
} as const);

/** A {@link SystemTelemetryConfig} with everything filled in. */
export type SystemTelemetrySettings = Required<Omit<SystemTelemetryConfig, keyof WriterOptions>> & {
  readonly writer: WriterOptions;
};

/** @throws {QuarkError} `invalid_input` naming the option */
export function checkTelemetryConfig(config: SystemTelemetryConfig): SystemTelemetrySettings {
  checkOptionNames(
    'config',
    config,
    Object.keys({ ...DEFAULT_SYSTEM_TELEMETRY_CONFIG, ...DEFAULT_WRITER_OPTIONS }),
  );
  const {
    sampleEveryNSteps = DEFAULT_SYSTEM_TELEMETRY_CONFIG.sampleEveryNSteps,
    emitScalarMetrics = DEFAULT_SYSTEM_TELEMETRY_CONFIG.emitScalarMetrics,
    captureCpu = DEFAULT_SYSTEM_TELEMETRY_CONFIG.captureCpu,
    captureGpu = DEFAULT_SYSTEM_TELEMETRY_CONFIG.captureGpu,
    gpuIndex = DEFAULT_SYSTEM_TELEMETRY_CONFIG.gpuIndex,
    tf = DEFAULT_SYSTEM_TELEMETRY_CONFIG.tf,
    ...writer
  } = config;
  checkPositive('sampleEveryNSteps', sampleEveryNSteps);
  for (const [name, value] of Object.entries({ emitScalarMetrics, captureCpu, captureGpu }))
    checkFlag(name, value);
  if (gpuIndex !== null) checkCount('gpuIndex', gpuIndex);
  if (tf !== null && typeof tf?.memory !== 'function')
    throw invalidInput('tf', tf, 'TensorFlow.js, or null');
  return {
    sampleEveryNSteps,
    emitScalarMetrics,
    captureCpu,
    captureGpu,
    gpuIndex,
    tf,
    writer: { batchSize: DEFAULT_SYSTEM_TELEMETRY_CONFIG.batchSize, ...writer },
  };
}
