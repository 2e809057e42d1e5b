/** Layer and parameter summaries as one series a layer and a parameter; telemetry, batches and events as columns. */
import type { LayerColumns } from '../../read/tables.ts';
import type { ParameterColumns } from '../../read/tables.ts';
import type { NameColumn } from '../../read/columns/column-cells.ts';
import type { RecordColumns } from '../../read/columns.ts';
import { packBatches } from './batch-columns.ts';
import { gather, placeColumns } from './place-rows.ts';
import {
  LAYER_NUMBERS,
  PARAMETER_NUMBERS,
  type BatchColumns,
  type LayerNumber,
  type LayerSeries,
  type ParameterNumber,
  type ParameterSeries,
  type PlacedColumns,
} from './run-columns.ts';

/** One series for each layer, kind of summary, call and kind of pass. */
export function layerSeries(columns: LayerColumns): readonly LayerSeries[] {
  const { texts, numbers, isEvaluation, rowCount, unitCounts } = columns;
  const groups = groupRows(rowCount, (row) =>
    [
      texts.moduleName.index[row],
      texts.summaryType.index[row],
      numbers.callIndex[row],
      isEvaluation[row],
    ].join(' '),
  );
  const series = groups.map((rows): LayerSeries => {
    const first = rows[0] ?? 0;
    return {
      moduleName: nameAt(texts.moduleName, first),
      moduleType: nameAt(texts.moduleType, first),
      summaryType: nameAt(texts.summaryType, first) === 'gradient' ? 'gradient' : 'activation',
      callIndex: numbers.callIndex[first] ?? 0,
      isEvaluation: isEvaluation[first] === 1,
      ...placeGroup<LayerNumber>({ ...numbers, unitCount: unitCounts }, LAYER_NUMBERS, rows),
    };
  });
  return byForwardOrder(series);
}

/** A backward pass sees the layers from the last to the first: the order is that of the activations. */
function byForwardOrder(series: readonly LayerSeries[]): readonly LayerSeries[] {
  const order = new Map<string, number>();
  const note = ({ moduleName }: LayerSeries): void => {
    if (!order.has(moduleName)) order.set(moduleName, order.size);
  };
  for (const one of series) if (one.summaryType === 'activation') note(one);
  for (const one of series.toReversed()) note(one);
  return series.toSorted((a, b) => (order.get(a.moduleName) ?? 0) - (order.get(b.moduleName) ?? 0));
}

/** One series for each parameter. */
export function parameterSeries(columns: ParameterColumns): readonly ParameterSeries[] {
  const { texts, numbers, rowCount } = columns;
  const groups = groupRows(rowCount, (row) => String(texts.parameterName.index[row]));
  return groups.map((rows): ParameterSeries => {
    const first = rows[0] ?? 0;
    const last = rows.at(-1) ?? 0;
    return {
      moduleName: nameAt(texts.moduleName, first),
      parameterName: nameAt(texts.parameterName, first),
      parameterRole: nameAt(texts.parameterRole, first),
      isFrozen: texts.optimizerGroup.values.length > 0 && nameAt(texts.optimizerGroup, last) === '',
      ...placeGroup<ParameterNumber>(numbers, PARAMETER_NUMBERS, rows),
    };
  });
}

/** Batches by step. The counts of classes are JSON objects in the store. */
export function batchColumns(
  columns: RecordColumns<never, 'timestamp' | 'step' | 'epoch' | 'loss' | 'batchSize'> & {
    readonly jsons: Readonly<Record<'classCounts' | 'metadata', readonly (string | null)[]>>;
    readonly lists: Readonly<Record<'sampleIds', readonly (readonly string[] | null)[]>>;
  },
): BatchColumns {
  const { jsons, lists, numbers, rowCount } = columns;
  const order = Int32Array.from({ length: rowCount }, (_, row) => row).sort(
    (a, b) => placeOf(numbers.step[a]) - placeOf(numbers.step[b]) || a - b,
  );
  return packBatches({
    steps: gather(numbers.step, order),
    epochs: gather(numbers.epoch, order),
    timesMs: gather(numbers.timestamp, order),
    losses: gather(numbers.loss, order),
    batchSizes: gather(numbers.batchSize, order),
    classCounts: (i) => parseObject(jsons.classCounts[order[i] ?? -1]),
    sampleIds: (i) => lists.sampleIds[order[i] ?? -1] ?? [],
    metadata: Array.from(order, (row) => jsons.metadata[row] ?? null),
  });
}

/** Batches without a step come last. */
function placeOf(step: number | undefined): number {
  return step === undefined || Number.isNaN(step) ? Number.MAX_VALUE : step;
}

function parseObject(text: string | null | undefined): object {
  if (text === null || text === undefined) return {};
  const value: unknown = JSON.parse(text);
  return typeof value === 'object' && value !== null ? value : {};
}

/** Rows with one key each, in the order in which the keys occur first. */
function groupRows(rowCount: number, keyOf: (row: number) => string): readonly Int32Array[] {
  const groups = new Map<string, number[]>();
  for (let row = 0; row < rowCount; row++) {
    const key = keyOf(row);
    const rows = groups.get(key);
    if (rows === undefined) groups.set(key, [row]);
    else rows.push(row);
  }
  return Array.from(groups.values(), (rows) => Int32Array.from(rows));
}

function placeGroup<N extends string>(
  numbers: Readonly<Record<N | 'step' | 'epoch' | 'timestamp', Float64Array>>,
  names: readonly N[],
  rows: Int32Array,
): PlacedColumns & Record<N, Float64Array> {
  const { placed, order } = placeColumns(
    gather(numbers.step, rows),
    gather(numbers.epoch, rows),
    gather(numbers.timestamp, rows),
  );
  const entries = names.map((name) => [name, gather(gather(numbers[name], rows), order)]);
  // Object.fromEntries forgets which names it was given.
  return { ...placed, ...(Object.fromEntries(entries) as Record<N, Float64Array>) };
}

/** The text of a row; empty where it has none. */
export function nameAt({ index, values }: NameColumn, row: number): string {
  return values[index[row] ?? -1] ?? '';
}
