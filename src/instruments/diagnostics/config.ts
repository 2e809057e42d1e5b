/** The settings of the data diagnostics: names, defaults, checks. */
import { checkOptionNames, checkPositive } from '../../base/assert.ts';
import { invalidInput } from '../../base/errors.ts';
import { DEFAULT_WRITER_OPTIONS, type WriterOptions } from '../../session/buffered-writer.ts';
import type { BatchMetadataAdapter } from './batch-metadata.ts';

/** Settings of {@link DataDiagnostics}. `batchSize` is the number of records that are written at once. */
export type DataDiagnosticsConfig = WriterOptions & {
  /** Knows the batches of the data loader; default null: everything is handed in by name. */
  readonly adapter?: BatchMetadataAdapter | null;
  /** A loss or sequence length so many standard deviations above the mean is an outlier; default 2.5. */
  readonly outlierZScoreThreshold?: number;
  /** So is one so many interquartile ranges above the third quartile; default 1.5. */
  readonly outlierIqrMultiplier?: number;
  /** Batches at or above this quantile of the losses, and above the median, are hard; 0 to 1, default 0.9. */
  readonly hardBatchPercentile?: number;
  /** With fewer batches nothing stands out but a loss that is not finite; default 5. */
  readonly minBatchesForOutlierDetection?: number;
};

/** The defaults of {@link DataDiagnosticsConfig}. */
export const DEFAULT_DATA_DIAGNOSTICS_CONFIG = Object.freeze({
  batchSize: 100,
  adapter: null,
  outlierZScoreThreshold: 2.5,
  outlierIqrMultiplier: 1.5,
  hardBatchPercentile: 0.9,
  minBatchesForOutlierDetection: 5,
} as const);

/** When a batch stands out. */
export type OutlierSettings = Required<
  Pick<
    DataDiagnosticsConfig,
    | 'outlierZScoreThreshold'
    | 'outlierIqrMultiplier'
    | 'hardBatchPercentile'
    | 'minBatchesForOutlierDetection'
  >
>;

/** A {@link DataDiagnosticsConfig} with everything filled in. */
export type DataDiagnosticsSettings = OutlierSettings & {
  readonly adapter: BatchMetadataAdapter | null;
  readonly writer: WriterOptions;
};

/** @throws {QuarkError} `invalid_input` naming the option */
export function checkDiagnosticsConfig(config: DataDiagnosticsConfig): DataDiagnosticsSettings {
  checkOptionNames(
    'config',
    config,
    Object.keys({ ...DEFAULT_DATA_DIAGNOSTICS_CONFIG, ...DEFAULT_WRITER_OPTIONS }),
  );
  const defaults = DEFAULT_DATA_DIAGNOSTICS_CONFIG;
  const {
    adapter = defaults.adapter,
    outlierZScoreThreshold = defaults.outlierZScoreThreshold,
    outlierIqrMultiplier = defaults.outlierIqrMultiplier,
    hardBatchPercentile = defaults.hardBatchPercentile,
    minBatchesForOutlierDetection = defaults.minBatchesForOutlierDetection,
    ...writer
  } = config;
  if (adapter !== null && typeof adapter?.extractBatchMetadata !== 'function')
    throw invalidInput('adapter', adapter, 'an object with extractBatchMetadata(batch), or null');
  for (const [name, value] of Object.entries({ outlierZScoreThreshold, outlierIqrMultiplier })) {
    if (typeof value !== 'number' || !(value > 0) || value === Infinity)
      throw invalidInput(name, value, 'a finite number above 0');
  }
  if (
    typeof hardBatchPercentile !== 'number' ||
    !(hardBatchPercentile >= 0 && hardBatchPercentile <= 1)
  )
    throw invalidInput('hardBatchPercentile', hardBatchPercentile, 'a number from 0 to 1');
  checkPositive('minBatchesForOutlierDetection', minBatchesForOutlierDetection);
  return {
    adapter,
    outlierZScoreThreshold,
    outlierIqrMultiplier,
    hardBatchPercentile,
    minBatchesForOutlierDetection,
    writer: { batchSize: defaults.batchSize, ...writer },
  };
}
