/** The settings of the telemetry: names, defaults, checks. */
import { invalidInput } from '../../base/errors.ts';
import { count, flag, orNull, positive, readOptions } from '../../base/options.ts';
import { WRITER_RULES, withWriter, type WriterOptions } from '../../session/writer-options.ts';

/** The part of TensorFlow.js that is read: pass `tf`. */
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
  /** Whether a GPU is read; default true. */
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

const { batchSize, captureCpu, captureGpu, emitScalarMetrics, gpuIndex, sampleEveryNSteps, tf } =
  DEFAULT_SYSTEM_TELEMETRY_CONFIG;

const RULES = {
  ...WRITER_RULES,
  batchSize: positive(batchSize),
  sampleEveryNSteps: positive(sampleEveryNSteps),
  emitScalarMetrics: flag(emitScalarMetrics),
  captureCpu: flag(captureCpu),
  captureGpu: flag(captureGpu),
  gpuIndex: orNull(count(), gpuIndex),
  tf: orNull((field: string, value: TensorMemory): TensorMemory => {
    if (typeof value.memory !== 'function')
      throw invalidInput(field, value, 'TensorFlow.js, or null');
    return value;
  }, tf),
};

/** @throws {QuarkError} `invalid_input` naming the option */
export function checkTelemetryConfig(config: SystemTelemetryConfig): SystemTelemetrySettings {
  return withWriter(readOptions('config', config, RULES, ''));
}
