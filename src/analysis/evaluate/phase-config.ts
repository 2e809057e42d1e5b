/** What the phase analyzer is set by. */
import { flag, orDefault, readOptions } from '../../base/options.ts';
import { checkRoles, type AskedRoles } from '../../records/run-roles.ts';
import { NO_OWN_RULES } from '../own/own-rules.ts';
import {
  checkPhaseThresholds,
  type PhaseAnalyzerThresholds,
  type PhaseSettings,
} from '../phases/thresholds.ts';
import { metricKeyList } from '../signals/metric-keys.ts';
import {
  checkAnalyzerConfig,
  type AnalyzerEngineConfig,
  type AnalyzerSettings,
} from './analyzer-config.ts';

/** Settings of the phase analyzer. */
export type PhaseAnalyzerConfig = {
  readonly thresholds?: PhaseAnalyzerThresholds;
  /** Whether `analyze()` replaces what an earlier one found. Default true. */
  readonly replaceExistingOutputs?: boolean;
  /** Keys of the training loss, the preferred first. Default: those of `analyzer`, which are `train/loss`, `training/loss`. */
  readonly trainLossMetricKeys?: readonly string[];
  /** Keys of the validation loss. Default: those of `analyzer`, which are `val/loss`, `validation/loss`. */
  readonly valLossMetricKeys?: readonly string[];
  /** Keys of the training accuracy, 0 to 1 or 0 to 100. Default: those of `analyzer`, which are `train/accuracy`, `training/accuracy`, `train/acc`. */
  readonly trainAccuracyMetricKeys?: readonly string[];
  /** Keys of the validation accuracy. Default: those of `analyzer`, which are `val/accuracy`, `validation/accuracy`, `val/acc`. */
  readonly valAccuracyMetricKeys?: readonly string[];
  /**
   * Metrics that play a role, by their keys; null for none. These go before those of `analyzer`, before what the run remembers, and before
   * what is found by names. An analysis is refused where the run has no such metric. Default: none.
   */
  readonly roles?: AskedRoles;
  /**
   * How alerts are found: phases agree with them, so that an alert of divergence or overfitting is a phase, too. What the analyzer of the
   * run is set by, such as `loaded?.config` of `loadQuarkConfig()`. Default: the defaults of the analyzer.
   */
  readonly analyzer?: AnalyzerEngineConfig;
};

/** A checked {@link PhaseAnalyzerConfig}. */
export type PhaseAnalyzerSettings = {
  readonly thresholds: PhaseSettings;
  readonly replaceExistingOutputs: boolean;
  /** Without rules of one's own: phases depend on those of Quark only. */
  readonly analyzer: AnalyzerSettings;
};

/** @throws {QuarkError} `invalid_input` naming the option */
export function checkPhaseConfig(config: PhaseAnalyzerConfig = {}): PhaseAnalyzerSettings {
  const base = checkAnalyzerConfig(config.analyzer, 'config.analyzer');
  const { replaceExistingOutputs, roles, thresholds, ...keys } = readOptions('config', config, {
    thresholds: (_field, given: PhaseAnalyzerThresholds = {}) => checkPhaseThresholds(given),
    replaceExistingOutputs: orDefault(flag(), true),
    trainLossMetricKeys: metricKeyList(base.trainLossMetricKeys),
    valLossMetricKeys: metricKeyList(base.valLossMetricKeys),
    trainAccuracyMetricKeys: metricKeyList(base.trainAccuracyMetricKeys),
    valAccuracyMetricKeys: metricKeyList(base.valAccuracyMetricKeys),
    roles: checkRoles,
    analyzer: () => base,
  });
  return {
    thresholds,
    replaceExistingOutputs,
    analyzer: {
      ...base,
      ...keys,
      roles: checkRoles('config.roles', { ...base.roles, ...roles }),
      rules: NO_OWN_RULES,
    },
  };
}
