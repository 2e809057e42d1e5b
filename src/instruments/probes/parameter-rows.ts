/** What was found of a parameter, as rows. */
import type { ParameterDistributionType } from '../../records/literals.ts';
import type { parameterDistributionTable } from '../../records/parameter-distribution.ts';
import type { parameterSummaryTable } from '../../records/parameter-summary.ts';
import type { ProbePosition } from './instrument.ts';
import type { ParameterInfo, TensorSummary } from './model-source.ts';
import type { NewRow } from '../../session/record-writer.ts';

/** A row of `parameter_summaries`. */
export type SummaryRow = NewRow<typeof parameterSummaryTable.columns>;
/** A row of `parameter_distributions`. */
export type DistributionRow = NewRow<typeof parameterDistributionTable.columns>;

/** What was found of one parameter. */
export type ParameterFindings = {
  readonly info: ParameterInfo;
  value: TensorSummary | null;
  gradient: TensorSummary | null;
  update: TensorSummary | null;
  beforeNorm: number | null;
  cosine: number | null;
};

/** The summary, once the value is known. */
export function summaryRow(
  position: ProbePosition,
  timestamp: number,
  found: ParameterFindings,
): SummaryRow {
  const { info, value, gradient, update, beforeNorm } = found;
  return {
    timestamp,
    moduleName: info.moduleName,
    parameterName: info.name,
    parameterRole: info.role,
    step: position.step,
    epoch: position.epoch,
    shape: info.shape,
    dtype: info.dtype,
    elementCount: info.shape.reduce((product, size) => product * size, 1),
    valueMean: value?.mean ?? null,
    valueStd: value?.std ?? null,
    valueNorm: value?.l2Norm ?? null,
    valueMin: value?.min ?? null,
    valueMax: value?.max ?? null,
    gradientMean: gradient?.mean ?? null,
    gradientStd: gradient?.std ?? null,
    gradientNorm: gradient?.l2Norm ?? null,
    gradientMin: gradient?.min ?? null,
    gradientMax: gradient?.max ?? null,
    updateMean: update?.mean ?? null,
    updateStd: update?.std ?? null,
    updateNorm: update?.l2Norm ?? null,
    updateMin: update?.min ?? null,
    updateMax: update?.max ?? null,
    nearZeroRatio: value?.nearZeroRatio ?? null,
    updateRatio: update === null || beforeNorm === null ? null : ratioOf(update.l2Norm, beforeNorm),
    valueNonFiniteCount: value?.nonFiniteCount ?? null,
    gradientNonFiniteCount: gradient?.nonFiniteCount ?? null,
    updateNonFiniteCount: update?.nonFiniteCount ?? null,
    gradientCosine: found.cosine,
    valueNormBefore: beforeNorm,
    optimizerGroup: info.optimizerGroup,
    metadata: position.metadata,
  };
}

/** A parameter that was all zero has no ratio, nor have norms beyond float64. */
function ratioOf(updateNorm: number, beforeNorm: number): number | null {
  const ratio = updateNorm / beforeNorm;
  return Number.isFinite(ratio) ? ratio : null;
}

/** The histograms that were asked for and are there. */
export function distributionRows(
  position: ProbePosition,
  timestamp: number,
  found: ParameterFindings,
): readonly DistributionRow[] {
  const row = (
    distributionType: ParameterDistributionType,
    summary: TensorSummary | null,
  ): readonly DistributionRow[] => {
    const histogram = summary?.histogram ?? null;
    if (histogram === null) return [];
    return [
      {
        timestamp,
        moduleName: found.info.moduleName,
        parameterName: found.info.name,
        parameterRole: found.info.role,
        distributionType,
        step: position.step,
        epoch: position.epoch,
        binEdges: histogram.edges,
        counts: histogram.counts,
        sampleCount: histogram.sampleCount,
        totalCount: found.info.shape.reduce((product, size) => product * size, 1),
        metadata: position.metadata,
      },
    ];
  };
  return [
    ...row('value', found.value),
    ...row('gradient', found.gradient),
    ...row('update', found.update),
  ];
}
