/** Rows as the probes write them, without a model: for tests of what reads them. */
import type { TrainingSession } from 'quark-sdk';
import { layerSummaryTable } from '../../src/records/layer-summary.ts';
import { parameterDistributionTable } from '../../src/records/parameter-distribution.ts';
import { parameterSummaryTable } from '../../src/records/parameter-summary.ts';
import { RecordWriter, type NewRow } from '../../src/session/record-writer.ts';
import { handleOf } from '../../src/session/run-handle.ts';

type LayerRow = NewRow<typeof layerSummaryTable.columns>;
type ParameterRow = NewRow<typeof parameterSummaryTable.columns>;
type DistributionRow = NewRow<typeof parameterDistributionTable.columns>;

/** A layer summary in which everything that is not given is plain. */
export function layerRow(given: Partial<LayerRow> & { readonly moduleName: string }): LayerRow {
  return {
    timestamp: 1_767_225_600_000,
    moduleType: 'Dense',
    summaryType: 'activation',
    hookDirection: 'forward',
    step: 0,
    epoch: 0,
    callIndex: 0,
    elementCount: 8,
    tensorShape: [2, 4],
    mean: 0.5,
    std: 1,
    norm: 2,
    variance: 1,
    deadUnitRatio: null,
    saturationRatio: null,
    nonFiniteCount: 0,
    deadUnitCount: null,
    persistentDeadUnitCount: null,
    zeroOutputRatio: null,
    deadUnitShare: null,
    metadata: null,
    ...given,
  };
}

/** A parameter summary in which everything that is not given is plain. */
export function parameterRow(
  given: Partial<ParameterRow> & { readonly moduleName: string; readonly parameterName: string },
): ParameterRow {
  return {
    timestamp: 1_767_225_600_000,
    parameterRole: 'weight',
    step: 0,
    epoch: 0,
    shape: [2, 2],
    dtype: 'float32',
    elementCount: 4,
    valueMean: 0,
    valueStd: 1,
    valueNorm: 2,
    valueMin: -1,
    valueMax: 1,
    gradientMean: 0,
    gradientStd: 1,
    gradientNorm: 0.5,
    gradientMin: -1,
    gradientMax: 1,
    updateMean: 0,
    updateStd: 1,
    updateNorm: 0.002,
    updateMin: -1,
    updateMax: 1,
    nearZeroRatio: 0,
    updateRatio: 0.001,
    valueNonFiniteCount: 0,
    gradientNonFiniteCount: 0,
    updateNonFiniteCount: 0,
    gradientCosine: null,
    valueNormBefore: null,
    optimizerGroup: null,
    metadata: null,
    ...given,
  };
}

/** A histogram in which everything that is not given is plain. */
export function distributionRow(
  given: Partial<DistributionRow> & { readonly moduleName: string; readonly parameterName: string },
): DistributionRow {
  return {
    timestamp: 1_767_225_600_000,
    parameterRole: 'weight',
    distributionType: 'value',
    step: 0,
    epoch: 0,
    binEdges: [-1, 0, 1],
    counts: [1, 3],
    sampleCount: 4,
    totalCount: 4,
    metadata: null,
    ...given,
  };
}

/** Writes rows into the run of a session; call `session.flush()` afterwards. */
export function writeProbeRows(
  session: TrainingSession,
  rows: {
    readonly layers?: readonly LayerRow[];
    readonly parameters?: readonly ParameterRow[];
    readonly distributions?: readonly DistributionRow[];
  },
): Promise<void> {
  const handle = handleOf(session);
  const layers = new RecordWriter(handle, layerSummaryTable, { batchSize: 100 });
  const parameters = new RecordWriter(handle, parameterSummaryTable, { batchSize: 100 });
  const distributions = new RecordWriter(handle, parameterDistributionTable, { batchSize: 100 });
  for (const row of rows.layers ?? []) layers.add(row);
  for (const row of rows.parameters ?? []) parameters.add(row);
  for (const row of rows.distributions ?? []) distributions.add(row);
  return Promise.all([layers.close(), parameters.close(), distributions.close()]).then(
    () => undefined,
  );
}
