/** The settings of the parameter diagnostics: names, defaults, checks. */
import { checkLiteral } from '../../base/assert.ts';
import { asGiven, flag, numberWhere, positive, readOptions } from '../../base/options.ts';
import { MAX_HISTOGRAM_BINS } from '../../kernel/tensor/checks.ts';
import {
  PARAMETER_DISTRIBUTION_TYPES,
  type ParameterDistributionType,
} from '../../records/literals.ts';
import { nonNegative, PROBE_RULES, type ProbeConfig, type ProbeSettings } from './hook-config.ts';
import { parameterFilter, nameSet, type ParameterFilterConfig } from './layer-filter.ts';
import type { ParameterInfo } from './model-source.ts';
import { DEFAULT_HOOK_SCHEDULE_CONFIG, Schedule, type HookScheduleConfig } from './schedule.ts';

/** Settings of {@link ParameterDiagnostics}. */
export type ParameterDiagnosticsConfig = ProbeConfig &
  ParameterFilterConfig & {
    /** When snapshots are taken. */
    readonly schedule?: HookScheduleConfig;
    /** Records summaries; default true. */
    readonly captureSummaries?: boolean;
    /** Records histograms; default false. */
    readonly captureDistributions?: boolean;
    /** What histograms are made of; default values only. */
    readonly distributionTypes?: Iterable<ParameterDistributionType>;
    /** Bins of a histogram, 1 to 65,536; default 32. */
    readonly histogramBins?: number;
    /** A value counts as near zero when |x| <= this. 0 or more; default 1e-8. */
    readonly nearZeroEpsilon?: number;
    /** Most elements that a histogram counts, evenly spread over the tensor; default 100,000. */
    readonly maxHistogramValues?: number;
    /**
     * Records the cosine between the gradient and that of the snapshot before, for which one gradient of each parameter
     * stays in memory; default true.
     */
    readonly captureGradientCosine?: boolean;
  };

/** The defaults of {@link ParameterDiagnosticsConfig}. */
export const DEFAULT_PARAMETER_DIAGNOSTICS_CONFIG = Object.freeze({
  schedule: DEFAULT_HOOK_SCHEDULE_CONFIG,
  batchSize: 100,
  captureSummaries: true,
  captureDistributions: false,
  distributionTypes: Object.freeze(['value']) as readonly ParameterDistributionType[],
  histogramBins: 32,
  nearZeroEpsilon: 1e-8,
  maxHistogramValues: 100_000,
  includeParameterPatterns: Object.freeze([]) as readonly string[],
  excludeParameterPatterns: Object.freeze([]) as readonly string[],
  includeParameterRoles: Object.freeze([]) as readonly never[],
  raiseOnError: null,
  captureGradientCosine: true,
  overheadBudget: null,
  probeTimeoutMs: 30_000,
});

/** {@link ParameterDiagnosticsConfig}, checked. */
export type ParameterSettings = ProbeSettings & {
  readonly schedule: Schedule;
  readonly isWanted: (parameter: ParameterInfo) => boolean;
  readonly captureSummaries: boolean;
  readonly distributions: ReadonlySet<ParameterDistributionType>;
  readonly histogram: { readonly bins: number; readonly maxValues: number };
  readonly nearZeroEpsilon: number;
  readonly captureGradientCosine: boolean;
};

const DEFAULTS = DEFAULT_PARAMETER_DIAGNOSTICS_CONFIG;

const RULES = {
  ...PROBE_RULES,
  schedule: (_field: string, config?: HookScheduleConfig) => new Schedule(config),
  includeParameterPatterns: asGiven,
  excludeParameterPatterns: asGiven,
  includeParameterRoles: asGiven,
  captureSummaries: flag(DEFAULTS.captureSummaries),
  captureDistributions: flag(DEFAULTS.captureDistributions),
  distributionTypes: (field: string, given: Iterable<string> = DEFAULTS.distributionTypes) =>
    [...nameSet(field, given)].map((type, i) =>
      checkLiteral(`${field}[${i}]`, type, PARAMETER_DISTRIBUTION_TYPES),
    ),
  histogramBins: numberWhere(
    (bins) => Number.isInteger(bins) && bins >= 1 && bins <= MAX_HISTOGRAM_BINS,
    `an integer from 1 to ${MAX_HISTOGRAM_BINS}`,
    DEFAULTS.histogramBins,
  ),
  maxHistogramValues: positive(DEFAULTS.maxHistogramValues),
  nearZeroEpsilon: nonNegative(DEFAULTS.nearZeroEpsilon),
  captureGradientCosine: flag(DEFAULTS.captureGradientCosine),
};

/** @throws {QuarkError} `invalid_input` naming the field */
export function checkParameterConfig(config: ParameterDiagnosticsConfig): ParameterSettings {
  const {
    captureDistributions,
    distributionTypes,
    histogramBins,
    maxHistogramValues,
    ...settings
  } = readOptions('config', config, RULES, '');
  return {
    ...settings,
    isWanted: parameterFilter(config),
    distributions: new Set(captureDistributions ? distributionTypes : []),
    histogram: { bins: histogramBins, maxValues: maxHistogramValues },
  };
}
