/** What was found of a parameter, as rows. */
import type { ParameterDistributionType } from '../../records/literals.ts';
import type { parameterDistributionTable } from '../../records/parameter-distribution.ts';
import type { parameterSummaryTable } from '../../records/parameter-summary.ts';
import type { ProbePosition } from './instrument.ts';
import type { ParameterInfo, TensorSummary } from './model-source.ts';
import type { MutableRow, NewRow } from '../../session/record-writer.ts';
import { sizeOf } from '../../kernel/tensor/reductions.ts';

/** A row of `parameter_summaries`. */
export type SummaryRow = MutableRow<typeof parameterSummaryTable.columns>;
/** A row of `parameter_distributions`. */
export type DistributionRow = NewRow<typeof parameterDistributionTable.columns>;

/** What the rows of a parameter have in common. */
export type ParameterFacts = Pick<ParameterInfo, 'name' | 'moduleName' | 'role' | 'dtype'> & {
  /** As lists are stored: of every row it is the same. */
  readonly shape: Float64Array;
  readonly elementCount: number;
};

/** What was found of one parameter. */
export type ParameterFindings = {
  readonly facts: ParameterFacts;
  /** As it is now: rows may be written after another optimizer has come. */
  readonly optimizerGroup: string | null;
  value: TensorSummary | null;
  gradient: TensorSummary | null;
  update: TensorSummary | null;
  beforeNorm: number | null;
  cosine: number | null;
};

/** What does not change from row to row. */
export function parameterFacts({
  name,
  moduleName,
  role,
  dtype,
  shape,
}: ParameterInfo): ParameterFacts {
  const facts = { name, moduleName, role, dtype, shape: Float64Array.from(shape) };
  return { ...facts, elementCount: sizeOf(shape) };
}

/** A row whose fields are set anew for each parameter: that costs a tenth of making thirty of them. */
export function blankSummaryRow(): SummaryRow {
  return {
    timestamp: 0,
    moduleName: '',
    parameterName: '',
    parameterRole: 'other',
    step: 0,
    epoch: null,
    shape: [],
    dtype: '',
    elementCount: 0,
    valueMean: null,
    valueStd: null,
    valueNorm: null,
    valueMin: null,
    valueMax: null,
    gradientMean: null,
    gradientStd: null,
    gradientNorm: null,
    gradientMin: null,
    gradientMax: null,
    updateMean: null,
    updateStd: null,
    updateNorm: null,
    updateMin: null,
    updateMax: null,
    nearZeroRatio: null,
    updateRatio: null,
    valueNonFiniteCount: null,
    gradientNonFiniteCount: null,
    updateNonFiniteCount: null,
    gradientCosine: null,
    valueNormBefore: null,
    optimizerGroup: null,
    metadata: null,
  };
}

/** Makes a row the summary, once the value is known. */
export function setSummaryRow(
  row: SummaryRow,
  position: ProbePosition,
  timestamp: number,
  found: ParameterFindings,
): void {
  const { facts, value, gradient, update, beforeNorm } = found;
  row.timestamp = timestamp;
  row.moduleName = facts.moduleName;
  row.parameterName = facts.name;
  row.parameterRole = facts.role;
  row.step = position.step;
  row.epoch = position.epoch;
  row.shape = facts.shape;
  row.dtype = facts.dtype;
  row.elementCount = facts.elementCount;
  row.valueMean = value?.mean ?? null;
  row.valueStd = value?.std ?? null;
  row.valueNorm = value?.l2Norm ?? null;
  row.valueMin = value?.min ?? null;
  row.valueMax = value?.max ?? null;
  row.gradientMean = gradient?.mean ?? null;
  row.gradientStd = gradient?.std ?? null;
  row.gradientNorm = gradient?.l2Norm ?? null;
  row.gradientMin = gradient?.min ?? null;
  row.gradientMax = gradient?.max ?? null;
  row.updateMean = update?.mean ?? null;
  row.updateStd = update?.std ?? null;
  row.updateNorm = update?.l2Norm ?? null;
  row.updateMin = update?.min ?? null;
  row.updateMax = update?.max ?? null;
  row.nearZeroRatio = value?.nearZeroRatio ?? null;
  row.updateRatio =
    update === null || beforeNorm === null ? null : ratioOf(update.l2Norm, beforeNorm);
  row.valueNonFiniteCount = value?.nonFiniteCount ?? null;
  row.gradientNonFiniteCount = gradient?.nonFiniteCount ?? null;
  row.updateNonFiniteCount = update?.nonFiniteCount ?? null;
  row.gradientCosine = found.cosine;
  row.valueNormBefore = beforeNorm;
  row.optimizerGroup = found.optimizerGroup;
  row.metadata = position.metadata;
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
        moduleName: found.facts.moduleName,
        parameterName: found.facts.name,
        parameterRole: found.facts.role,
        distributionType,
        step: position.step,
        epoch: position.epoch,
        binEdges: histogram.edges,
        counts: histogram.counts,
        sampleCount: histogram.sampleCount,
        totalCount: found.facts.elementCount,
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
