/** What probes recorded of a run. Each poll reads what has come since. */
import {
  readLayerColumns,
  readParameterColumns,
  readParameterDistributions,
  type ParameterDistributionRecord,
  type ReadableRun,
} from 'quark-sdk/probes';
import { LayerTable } from './layer-table.ts';

/** Layers and their numbers. */
export class LayerFeed {
  readonly table: LayerTable = new LayerTable();
  readonly #run: ReadableRun;
  #nextLayer = 0;
  #nextParameter = 0;

  constructor(run: ReadableRun) {
    this.#run = run;
  }

  /** Reads what has come since; true when something has. */
  async poll(): Promise<boolean> {
    const [layers, parameters] = await Promise.all([
      readLayerColumns(this.#run, { sequenceMin: this.#nextLayer }),
      readParameterColumns(this.#run, { sequenceMin: this.#nextParameter }),
    ]);
    if (layers.rowCount > 0) this.table.appendLayers(layers);
    if (parameters.rowCount > 0) this.table.appendParameters(parameters);
    this.#nextLayer = layers.lastSequence + 1;
    this.#nextParameter = parameters.lastSequence + 1;
    return layers.rowCount + parameters.rowCount > 0;
  }
}

/** The histograms of one layer's parameters. */
export class HistogramFeed {
  readonly records: ParameterDistributionRecord[] = [];
  readonly #run: ReadableRun;
  readonly #layer: string;
  #next = 0;

  constructor(run: ReadableRun, layer: string) {
    this.#run = run;
    this.#layer = layer;
  }

  /** Reads what has come since; true when something has. */
  async poll(): Promise<boolean> {
    const { records } = await readParameterDistributions(this.#run, {
      moduleName: this.#layer,
      sequenceMin: this.#next,
    });
    for (const record of records) {
      this.records.push(record);
      this.#next = Math.max(this.#next, (record.sequence ?? 0) + 1);
    }
    return records.length > 0;
  }
}
