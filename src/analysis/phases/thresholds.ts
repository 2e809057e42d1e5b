/** What the phase analyzer is set by. */
import { flag, numberWhere, orDefault, positive, readOptions } from '../../base/options.ts';
import { checkRoles, type AskedRoles } from '../../records/run-roles.ts';
import { CONVENTIONAL_ROLE_KEYS, type RoleKeys } from '../signals/roles/role-keys.ts';
import { metricKeyList } from '../signals/metric-keys.ts';

/**
 * Where phases begin. Changes are relative to the level of the loss before them (to a tenth of what the loss has fallen in all, where that is
 * more, so that a loss near zero has a scale too); of accuracies they are the plain difference, 0 to 1. So no result depends on the unit of
 * the loss.
 */
export type PhaseAnalyzerThresholds = {
  /** Points at the start of an epoch-level series that are called initialization. At least 1. Default 2. */
  readonly initializationPoints?: number;
  /** Relative fall of the loss, from point to point or over a whole segment, from which on it is rapid learning. Default 0.18. */
  readonly rapidLearningMinRelativeChange?: number;
  /** Relative change of the loss, from point to point or over a long window, up to which it is a plateau. Default 0.01. */
  readonly stagnationMaxRelativeChange?: number;
  /**
   * How far the validation loss must be above the training loss, relative to the validation loss; where it lay below at its best and
   * no longer does, how far they have parted since. Default 0.12.
   */
  readonly overfittingMinGap?: number;
  /** How much the training loss must have fallen since validation was best. Default 0.015. */
  readonly overfittingMinTrainRelativeChange?: number;
  /** How far the validation loss must stay above its best. Default 0.015. */
  readonly overfittingMinValidationRegression?: number;
  /** How much the loss must have risen since it began to rise. Default 0.15. */
  readonly divergenceMinRelativeRegression?: number;
  /** How far the loss must be above its best. Default 0.25. */
  readonly divergenceFromBestRatio?: number;
};

/** Thresholds with nothing left out. */
export type PhaseSettings = Readonly<Required<PhaseAnalyzerThresholds>>;

/** The defaults of {@link PhaseAnalyzerThresholds}. */
export const DEFAULT_PHASE_ANALYZER_THRESHOLDS: PhaseSettings = Object.freeze({
  initializationPoints: 2,
  rapidLearningMinRelativeChange: 0.18,
  stagnationMaxRelativeChange: 0.01,
  overfittingMinGap: 0.12,
  overfittingMinTrainRelativeChange: 0.015,
  overfittingMinValidationRegression: 0.015,
  divergenceMinRelativeRegression: 0.15,
  divergenceFromBestRatio: 0.25,
});

/** Settings of the phase analyzer. */
export type PhaseAnalyzerConfig = {
  readonly thresholds?: PhaseAnalyzerThresholds;
  /** Whether `analyze()` replaces what an earlier one found. Default true. */
  readonly replaceExistingOutputs?: boolean;
  /** Keys of the training loss, the preferred first. Default `train/loss`, `training/loss`. */
  readonly trainLossMetricKeys?: readonly string[];
  /** Keys of the validation loss. Default `val/loss`, `validation/loss`. */
  readonly valLossMetricKeys?: readonly string[];
  /** Keys of the training accuracy, 0 to 1 or 0 to 100. Default `train/accuracy`, `training/accuracy`, `train/acc`. */
  readonly trainAccuracyMetricKeys?: readonly string[];
  /** Keys of the validation accuracy. Default `val/accuracy`, `validation/accuracy`, `val/acc`. */
  readonly valAccuracyMetricKeys?: readonly string[];
  /**
   * Metrics that play a role, by their keys; null for none. These go before what the run remembers, and before what is found by names. An
   * analysis is refused where the run has no such metric. Default: none.
   */
  readonly roles?: AskedRoles;
};

/** A checked {@link PhaseAnalyzerConfig}. */
export type PhaseAnalyzerSettings = {
  readonly thresholds: PhaseSettings;
  readonly replaceExistingOutputs: boolean;
  readonly keys: RoleKeys;
  readonly roles: AskedRoles;
};

/** @throws {QuarkError} `invalid_input` naming the option */
export function checkPhaseConfig(config: PhaseAnalyzerConfig): PhaseAnalyzerSettings {
  const { replaceExistingOutputs, roles, thresholds, ...keys } = readOptions('config', config, {
    thresholds: (_field, given: PhaseAnalyzerThresholds = {}) => checkPhaseThresholds(given),
    replaceExistingOutputs: orDefault(flag(), true),
    trainLossMetricKeys: metricKeyList(CONVENTIONAL_ROLE_KEYS.trainLoss),
    valLossMetricKeys: metricKeyList(CONVENTIONAL_ROLE_KEYS.valLoss),
    trainAccuracyMetricKeys: metricKeyList(CONVENTIONAL_ROLE_KEYS.trainAccuracy),
    valAccuracyMetricKeys: metricKeyList(CONVENTIONAL_ROLE_KEYS.valAccuracy),
    roles: checkRoles,
  });
  return {
    thresholds,
    replaceExistingOutputs,
    roles,
    keys: {
      trainLoss: keys.trainLossMetricKeys,
      valLoss: keys.valLossMetricKeys,
      trainAccuracy: keys.trainAccuracyMetricKeys,
      valAccuracy: keys.valAccuracyMetricKeys,
    },
  };
}

/** @throws {QuarkError} `invalid_input` naming the threshold */
export function checkPhaseThresholds(given: PhaseAnalyzerThresholds = {}): PhaseSettings {
  const defaults = DEFAULT_PHASE_ANALYZER_THRESHOLDS;
  const fromZero = (fallback: number) =>
    numberWhere((value) => value >= 0 && value < Infinity, 'a finite number from 0 up', fallback);
  return Object.freeze(
    readOptions('thresholds', given, {
      initializationPoints: positive(defaults.initializationPoints),
      rapidLearningMinRelativeChange: fromZero(defaults.rapidLearningMinRelativeChange),
      stagnationMaxRelativeChange: fromZero(defaults.stagnationMaxRelativeChange),
      overfittingMinGap: fromZero(defaults.overfittingMinGap),
      overfittingMinTrainRelativeChange: fromZero(defaults.overfittingMinTrainRelativeChange),
      overfittingMinValidationRegression: fromZero(defaults.overfittingMinValidationRegression),
      divergenceMinRelativeRegression: fromZero(defaults.divergenceMinRelativeRegression),
      divergenceFromBestRatio: fromZero(defaults.divergenceFromBestRatio),
    }),
  );
}
