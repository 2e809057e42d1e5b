/**
 * What probes recorded of each layer: numbers over steps, append only. A layer may have several numbers at a step, one for
 * each call or each parameter; these are kept apart as slots and joined where one is wanted.
 */
import type { LayerColumns, NameColumn, ParameterColumns } from 'quark-sdk/probes';
import { LAYER_QUANTITIES, type QuantityId } from './layer-quantities.ts';
import type { LayerPoints } from '../../charts/layer-grid.ts';
import { LayerTrack } from './layer-track.ts';

/** One layer of the model. */
export type LayerRow = { readonly name: string; readonly type: string | undefined };

type KnownLayer = {
  readonly name: string;
  type: string | undefined;
  readonly tracks: Map<QuantityId, LayerTrack>;
};

/** All layers of a run. */
export class LayerTable {
  readonly #layers = new Map<string, KnownLayer>();
  /** Names in model order, as far as it shows: that in which a step's records were written. */
  #order: string[] = [];
  readonly #probedSteps = new Set<number>();
  #rowCount = 0;

  /** Rows taken in; changes whenever there are new ones. */
  get rowCount(): number {
    return this.#rowCount;
  }

  /** The layers in model order. */
  get layers(): readonly LayerRow[] {
    return this.#order.map((name) => ({ name, type: this.#layers.get(name)?.type }));
  }

  /** Quantities that at least one layer has a number of. */
  get quantities(): readonly QuantityId[] {
    return LAYER_QUANTITIES.map(({ id }) => id).filter((id) =>
      [...this.#layers.values()].some((layer) => layer.tracks.has(id)),
    );
  }

  /** One point a step, in order of steps; none where the layer has no such number. */
  points(layer: string, quantity: QuantityId): LayerPoints {
    return this.track(layer, quantity)?.points() ?? NO_POINTS;
  }

  /** Steps at which anything was recorded of any layer. */
  probedSteps(): ReadonlySet<number> {
    return this.#probedSteps;
  }

  track(layer: string, quantity: QuantityId): LayerTrack | undefined {
    return this.#layers.get(layer)?.tracks.get(quantity);
  }

  /** Takes over summaries of activations and gradients. Passes that train nothing are left out. */
  appendLayers(columns: LayerColumns): void {
    const { texts, numbers } = columns;
    const seen = new Set<string>();
    const seenBackwards = new Set<string>();
    for (let row = 0; row < columns.rowCount; row += 1) {
      const name = nameAt(texts.moduleName, row);
      const step = numbers.step[row] ?? Number.NaN;
      if (name === undefined || columns.isEvaluation[row] === 1 || Number.isNaN(step)) continue;
      const isForward = nameAt(texts.hookDirection, row) === 'forward';
      const layer = this.#layer(name);
      layer.type ??= nameAt(texts.moduleType, row);
      this.#probedSteps.add(step);
      (isForward ? seen : seenBackwards).add(name);
      const epoch = numbers.epoch[row] ?? Number.NaN;
      const call = numbers.callIndex[row] ?? 0;
      const slot = call === 0 ? '' : `call ${call + 1}`;
      const isBad = (numbers.nonFiniteCount[row] ?? 0) > 0;
      const add = (id: QuantityId, value: number | undefined): void => {
        if (value === undefined || (Number.isNaN(value) && !isBad)) return;
        trackOf(layer, id).push({ step, epoch, slot, isBad }, value);
      };
      if (!isForward) add('gradient_norm', numbers.norm[row]);
      else {
        add('activation_mean', numbers.mean[row]);
        add('activation_std', numbers.std[row]);
        // These two are of the finite elements only, and not of every layer.
        if (!Number.isNaN(numbers.deadUnitRatio[row]))
          add('dead_ratio', numbers.deadUnitRatio[row]);
        if (!Number.isNaN(numbers.saturationRatio[row]))
          add('saturation', numbers.saturationRatio[row]);
      }
    }
    this.#rowCount += columns.rowCount;
    this.#order = joinOrder(this.#order, [...seen]);
    // Gradients come from the last layer to the first.
    this.#order = joinOrder(this.#order, [...seenBackwards].toReversed());
  }

  /** Takes over summaries of parameters. */
  appendParameters(columns: ParameterColumns): void {
    const { texts, numbers } = columns;
    const seen = new Set<string>();
    for (let row = 0; row < columns.rowCount; row += 1) {
      const name = nameAt(texts.moduleName, row);
      const step = numbers.step[row] ?? Number.NaN;
      if (name === undefined || Number.isNaN(step)) continue;
      this.#probedSteps.add(step);
      seen.add(name);
      const layer = this.#layer(name);
      const epoch = numbers.epoch[row] ?? Number.NaN;
      const slot = shortParameter(nameAt(texts.parameterName, row) ?? '', name);
      const gradient = numbers.gradientNorm[row] ?? Number.NaN;
      const isBad = (numbers.gradientNonFiniteCount[row] ?? 0) > 0;
      if (!Number.isNaN(gradient) || isBad)
        trackOf(layer, 'weight_gradient_norm').push({ step, epoch, slot, isBad }, gradient);
      const update = numbers.updateNorm[row] ?? Number.NaN;
      const isBadUpdate =
        (numbers.updateNonFiniteCount[row] ?? 0) > 0 || (numbers.valueNonFiniteCount[row] ?? 0) > 0;
      if (!Number.isNaN(update) || isBadUpdate) {
        const before = normBefore(update, numbers.updateRatio[row], numbers.valueNorm[row]);
        const entry = { step, epoch, slot, isBad: isBadUpdate };
        trackOf(layer, 'update_ratio').push(entry, update, before);
      }
    }
    this.#rowCount += columns.rowCount;
    this.#order = joinOrder(this.#order, [...seen]);
  }

  #layer(name: string): KnownLayer {
    let layer = this.#layers.get(name);
    if (layer === undefined) {
      layer = { name, type: undefined, tracks: new Map() };
      this.#layers.set(name, layer);
    }
    return layer;
  }
}

const NO_POINTS: LayerPoints = {
  steps: new Float64Array(0),
  values: new Float64Array(0),
  isBad: new Uint8Array(0),
};

function trackOf(layer: KnownLayer, id: QuantityId): LayerTrack {
  let track = layer.tracks.get(id);
  if (track === undefined) {
    track = new LayerTrack(id);
    layer.tracks.set(id, track);
  }
  return track;
}

function nameAt({ values, index }: NameColumn, row: number): string | undefined {
  return values[index[row] ?? -1];
}

/** Norm of a parameter before its update; the ratio was taken with it. */
function normBefore(
  update: number,
  ratio: number | undefined = Number.NaN,
  after: number = Number.NaN,
): number {
  if (ratio > 0 && Number.isFinite(ratio)) return update / ratio;
  return update === 0 ? after : 0;
}

/** `conv1/kernel` of the layer `conv1` is its `kernel`. */
export function shortParameter(parameter: string, layer: string): string {
  const isInside = parameter.startsWith(`${layer}/`) || parameter.startsWith(`${layer}.`);
  return isInside ? parameter.slice(layer.length + 1) : parameter;
}

/** The first order with what only the second has put in after the neighbour it follows there. */
export function joinOrder(first: readonly string[], second: readonly string[]): string[] {
  const joined = [...first];
  const known = new Set(first);
  let at = 0;
  for (const name of second) {
    if (known.has(name)) at = joined.indexOf(name) + 1;
    else {
      joined.splice(at, 0, name);
      known.add(name);
      at += 1;
    }
  }
  return joined;
}
