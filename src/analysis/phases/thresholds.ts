/** Where phases begin. */
import { numberWhere, positive, readOptions } from '../../base/options.ts';

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
