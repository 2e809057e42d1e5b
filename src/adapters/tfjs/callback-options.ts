/** What a training callback takes: the namespace, the model, the options. */
import type { MetricsLogger } from '../../session/metrics-logger.ts';
import type { SystemTelemetryConfig, TensorMemory } from '../../instruments/telemetry/config.ts';
import type { TfjsLayersModel, TfjsRuntime } from './tfjs-types.ts';
import type { TrainingProbesOptions } from './training-probes.ts';

/** The TensorFlow.js namespace, as `quarkCallback` uses it. */
export type TfjsNamespace = TfjsRuntime & TensorMemory;

/** The part of a `tf.LayersModel` that `quarkCallback` uses. */
export interface TfjsModel extends TfjsLayersModel {
  stopTraining: boolean;
  countParams(): number;
}

/** Options of `quarkCallback`. */
export type QuarkCallbackOptions = TrainingProbesOptions & {
  /**
   * Step of the first batch. Unless given, the session's callbacks go on counting: 0 in a new run, and
   * after a resume the last recorded step plus 1.
   */
  readonly initialStep?: number;
  /**
   * Number of the first epoch. Unless given, the one after the session's last epoch, or the one that fit itself counts where
   * that is later. After a resume that is the one after the last epoch of the run that ended.
   */
  readonly initialEpoch?: number;
  /** Records the metrics of every n-th step; 1 unless given. Epoch values are always recorded. */
  readonly everySteps?: number;
  /** Writes the metrics; one of its own unless given. */
  readonly metrics?: MetricsLogger;
  /**
   * What the machine does meanwhile: settings of a `SystemTelemetry`, or false for none. Unless given, every 10th step is recorded, with
   * the time it took and the tensors that are alive.
   */
  readonly telemetry?: SystemTelemetryConfig | false;
  /**
   * What the batches are like, as a `DataDiagnostics` records it: the counts of their classes or the spread of their targets, and after
   * each epoch the metrics `data/...` on samples that come again and on inputs that follow the target too closely. Every batch of the
   * first two epochs, then every 10th. Samples are not stored, and tensors on a device (WebGL, WebGPU) are not read. Where the program has
   * `DataDiagnostics` of its own for the run, it records the batches itself and these are left out. True, the default, or false.
   */
  readonly batches?: boolean;
  /**
   * Share of the training time that the callback may take of the training thread with all that it does: probes, telemetry, batches,
   * logging, flushes and itself. Above 0 and up to 1; 0.03 unless given. It is measured while the model trains. What costs too much is
   * done less often, first probes, then telemetry and the batches after the second epoch, as far as their options leave that to the
   * callback; a cadence that is given stands. Metrics are never left out. Null: everything as often as it is asked for.
   */
  readonly overheadBudget?: number | null;
  /** Milliseconds that only go up, for step times; `performance.now` unless given. */
  readonly now?: () => number;
};

/** What {@link QuarkCallbackOptions.telemetry} adds to. */
export const CALLBACK_TELEMETRY: SystemTelemetryConfig = Object.freeze({ sampleEveryNSteps: 10 });
