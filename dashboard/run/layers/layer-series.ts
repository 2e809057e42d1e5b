/** The numbers of one layer as series for charts: one chart a quantity, a curve for each call or parameter. */
import type { MetricGroup } from '../../charts/group.ts';
import { LAYER_QUANTITIES } from './layer-quantities.ts';
import type { LayerTable } from './layer-table.ts';
import { entryValue } from './layer-track.ts';
import { SeriesSet } from '../../series/series.ts';

/** Follows one layer of a table. */
export class LayerCharts {
  readonly series: SeriesSet = new SeriesSet();
  readonly #table: LayerTable;
  readonly #layer: string;
  readonly #taken = new Map<string, number>();

  constructor(table: LayerTable, layer: string) {
    this.#table = table;
    this.#layer = layer;
  }

  /** Takes over what the table has got since. */
  update(): void {
    for (const { id, label } of LAYER_QUANTITIES) {
      const entries = this.#table.track(this.#layer, id)?.entries ?? [];
      const name = label.toLowerCase();
      for (const entry of entries.slice(this.#taken.get(id) ?? 0)) {
        const { slot, step, epoch } = entry;
        const value = entryValue(entry);
        // A parameter that was zero before has no ratio to it.
        if (Number.isNaN(value) && !entry.isBad) continue;
        const key = slot === '' ? name : `${slot}/${name}`;
        this.series.push(key, value, step, epoch, Number.NaN);
      }
      this.#taken.set(id, entries.length);
    }
  }

  /** One group a quantity that the layer has. */
  get groups(): readonly MetricGroup[] {
    return LAYER_QUANTITIES.flatMap(({ label }) => {
      const title = label.toLowerCase();
      const keys = this.series.keys.filter((key) => key === title || key.endsWith(`/${title}`));
      return keys.length === 0 ? [] : [{ id: `layer:${title}`, title, keys: keys.toSorted() }];
    });
  }
}
