/** The settings of the parameter diagnostics: names, defaults, checks. */
import { checkLiteral, checkPositive, checkFlag } from '../../base/assert.ts';
import { invalidInput } from '../../base/errors.ts';
import { MAX_HISTOGRAM_BINS } from '../../kernel/tensor/checks.ts';
import {
  PARAMETER_DISTRIBUTION_TYPES,
  type ParameterDistributionType,
} from '../../records/literals.ts';
import {
  checkProbeConfig,
  givenOf,
  isNonNegative,
  type ProbeConfig,
  type ProbeSettings,
} from './hook-config.ts';
import { parameterFilter, texts, type ParameterFilterConfig } from './layer-filter.ts';
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
    /** Most elements a histogram looks at, evenly spread over the tensor; default 100,000. */
    readonly maxHistogramValues?: number;
    /**
     * Records the cosine between the gradient and that of the snapshot before, for which one gradient of each parameter is
     * kept; default true.
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

/** @throws {QuarkError} `invalid_input` naming the field */
export function checkParameterConfig(config: ParameterDiagnosticsConfig): ParameterSettings {
  const probe = checkProbeConfig(config, Object.keys(DEFAULT_PARAMETER_DIAGNOSTICS_CONFIG));
  const given = { ...DEFAULT_PARAMETER_DIAGNOSTICS_CONFIG, ...givenOf(config) };
  const { nearZeroEpsilon, histogramBins, maxHistogramValues } = given;
  if (!isNonNegative(nearZeroEpsilon))
    throw invalidInput('nearZeroEpsilon', nearZeroEpsilon, 'a number of 0 or more');
  if (checkPositive('histogramBins', histogramBins) > MAX_HISTOGRAM_BINS)
    throw invalidInput('histogramBins', histogramBins, `at most ${MAX_HISTOGRAM_BINS}`);
  const types = [...texts('distributionTypes', given.distributionTypes)].map((type, i) =>
    checkLiteral(`distributionTypes[${i}]`, type, PARAMETER_DISTRIBUTION_TYPES),
  );
  const captureDistributions = checkFlag('captureDistributions', given.captureDistributions);
  return {
    ...probe,
    schedule: new Schedule(config.schedule),
    isWanted: parameterFilter(config),
    captureSummaries: checkFlag('captureSummaries', given.captureSummaries),
    distributions: new Set(captureDistributions ? types : []),
    histogram: {
      bins: histogramBins,
      maxValues: checkPositive('maxHistogramValues', maxHistogramValues),
    },
    nearZeroEpsilon,
    captureGradientCosine: checkFlag('captureGradientCosine', given.captureGradientCosine),
  };
}
