/**
 * What probes recorded of each layer: numbers over steps, append only. A layer may have several numbers at a step, one for
 * each call or each parameter; these are separate slots and joined where one is wanted.
 */
import type { LayerColumns, NameColumn, ParameterColumns } from 'quark-sdk/probes';
import { getOrMake } from '../../parts/maps.ts';
import { LAYER_QUANTITIES, type QuantityId } from './layer-quantities.ts';
import type { LayerPoints } from '../../charts/heat/layer-grid.ts';
import { LayerTrack } from './layer-track.ts';

/** What is taken of a pass: a quantity from a column. */
const FORWARD = [
  { id: 'activation_mean', column: 'mean', isOfFinite: false },
  { id: 'activation_std', column: 'std', isOfFinite: false },
  // These two are of the finite elements only, and not of every layer.
  { id: 'dead_ratio', column: 'deadUnitRatio', isOfFinite: true },
  { id: 'saturation', column: 'saturationRatio', isOfFinite: true },
] as const;
const BACKWARD = [{ id: 'gradient_norm', column: 'norm', isOfFinite: false }] as const;

/** One layer of the model. */
export type ListedLayer = { readonly name: string; readonly type: string | undefined };

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
  get layers(): readonly ListedLayer[] {
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
      const call = numbers.callIndex[row] ?? 0;
      const entry = {
        step,
        epoch: numbers.epoch[row] ?? Number.NaN,
        slot: call === 0 ? '' : `call ${call + 1}`,
        bottom: 1,
        isBad: (numbers.nonFiniteCount[row] ?? 0) > 0,
      };
      for (const { id, column, isOfFinite } of isForward ? FORWARD : BACKWARD) {
        const top = numbers[column][row] ?? Number.NaN;
        if (Number.isNaN(top) && (isOfFinite || !entry.isBad)) continue;
        trackOf(layer, id).push({ ...entry, top });
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
      const entry = {
        step,
        epoch: numbers.epoch[row] ?? Number.NaN,
        slot: shortParameter(nameAt(texts.parameterName, row) ?? '', name),
      };
      const add = (id: QuantityId, top: number, bottom: number, isBad: boolean): void => {
        if (!Number.isNaN(top) || isBad) trackOf(layer, id).push({ ...entry, top, bottom, isBad });
      };
      const hasBad = (column: Float64Array): boolean => (column[row] ?? 0) > 0;
      const gradient = numbers.gradientNorm[row] ?? Number.NaN;
      add('weight_gradient_norm', gradient, 1, hasBad(numbers.gradientNonFiniteCount));
      const update = numbers.updateNorm[row] ?? Number.NaN;
      const before = normBefore(update, numbers.updateRatio[row], numbers.valueNorm[row]);
      const isBad = hasBad(numbers.updateNonFiniteCount) || hasBad(numbers.valueNonFiniteCount);
      add('update_ratio', update, before, isBad);
    }
    this.#rowCount += columns.rowCount;
    this.#order = joinOrder(this.#order, [...seen]);
  }

  #layer(name: string): KnownLayer {
    return getOrMake(this.#layers, name, () => ({ name, type: undefined, tracks: new Map() }));
  }
}

const NO_POINTS: LayerPoints = {
  steps: new Float64Array(0),
  values: new Float64Array(0),
  isBad: new Uint8Array(0),
};

function trackOf({ tracks }: KnownLayer, id: QuantityId): LayerTrack {
  const isOfParameters = id === 'weight_gradient_norm' || id === 'update_ratio';
  return getOrMake(tracks, id, () => new LayerTrack(isOfParameters));
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
