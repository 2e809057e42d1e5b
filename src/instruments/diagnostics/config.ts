/** The settings of the data diagnostics: names, defaults, checks. */
import { invalidInput } from '../../base/errors.ts';
import { numberWhere, orNull, positive, readOptions } from '../../base/options.ts';
import { WRITER_RULES, withWriter, type WriterOptions } from '../../session/writer-options.ts';
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

const defaults = DEFAULT_DATA_DIAGNOSTICS_CONFIG;
const finiteAboveZero = (fallback: number) =>
  numberWhere((value) => value > 0 && value < Infinity, 'a finite number above 0', fallback);

const RULES = {
  ...WRITER_RULES,
  batchSize: positive(defaults.batchSize),
  adapter: orNull((field: string, value: BatchMetadataAdapter): BatchMetadataAdapter => {
    if (typeof value.extractBatchMetadata !== 'function')
      throw invalidInput(field, value, 'an object with extractBatchMetadata(batch), or null');
    return value;
  }, defaults.adapter),
  outlierZScoreThreshold: finiteAboveZero(defaults.outlierZScoreThreshold),
  outlierIqrMultiplier: finiteAboveZero(defaults.outlierIqrMultiplier),
  hardBatchPercentile: numberWhere(
    (value) => value >= 0 && value <= 1,
    'a number from 0 to 1',
    defaults.hardBatchPercentile,
  ),
  minBatchesForOutlierDetection: positive(defaults.minBatchesForOutlierDetection),
};

/** @throws {QuarkError} `invalid_input` naming the option */
export function checkDiagnosticsConfig(config: DataDiagnosticsConfig): DataDiagnosticsSettings {
  return withWriter(readOptions('config', config, RULES, ''));
}
