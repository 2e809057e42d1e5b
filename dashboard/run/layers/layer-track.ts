/** The numbers of one layer over steps. */
import type { LayerPoints } from '../../charts/heat/layer-grid.ts';

/** One number as it was recorded. */
export type LayerEntry = {
  readonly step: number;
  readonly epoch: number;
  /** The call or parameter that it is of. */
  readonly slot: string;
  /** The number is `top / bottom`: both are stored, because those of several parameters are joined before they are divided. */
  readonly top: number;
  readonly bottom: number;
  /** Whether elements of the tensor were NaN or infinite. */
  readonly isBad: boolean;
};

/** The number of an entry; NaN where it has no ratio. */
export function entryValue({ top, bottom }: LayerEntry): number {
  return bottom === 0 ? Number.NaN : top / bottom;
}

/** One quantity of one layer, with a slot for each call or parameter. */
export class LayerTrack {
  /** As they were recorded. */
  readonly entries: LayerEntry[] = [];
  readonly #isOfParameters: boolean;
  #points: LayerPoints | undefined;

  constructor(isOfParameters: boolean) {
    this.#isOfParameters = isOfParameters;
  }

  push(entry: LayerEntry): void {
    const isBad = entry.isBad || Math.abs(entry.top) === Number.POSITIVE_INFINITY;
    this.entries.push({ ...entry, isBad });
    this.#points = undefined;
  }

  /**
   * One point a step. Of a slot written twice at a step, as after a resume, the last counts. Several calls give the value
   * furthest from zero, several parameters that of all their elements together.
   */
  points(): LayerPoints {
    this.#points ??= this.#join();
    return this.#points;
  }

  #join(): LayerPoints {
    const byStep = new Map<number, Map<string, LayerEntry>>();
    for (const entry of this.entries) {
      const slots = byStep.get(entry.step) ?? new Map<string, LayerEntry>();
      byStep.set(entry.step, slots.set(entry.slot, entry));
    }
    const steps = Float64Array.from(byStep.keys()).toSorted();
    const joined = Array.from(steps, (step) => [...(byStep.get(step)?.values() ?? [])]);
    const join = this.#isOfParameters ? together : furthest;
    return {
      steps,
      values: Float64Array.from(joined, join),
      isBad: Uint8Array.from(joined, (entries) => (entries.some(({ isBad }) => isBad) ? 1 : 0)),
    };
  }
}

function furthest(entries: readonly LayerEntry[]): number {
  let found = Number.NaN;
  for (const entry of entries) {
    const value = entryValue(entry);
    if (Number.isNaN(found) || Math.abs(value) > Math.abs(found)) found = value;
  }
  return found;
}

/** Norms of parts make the norm of the whole: the root of the sum of their squares. */
function together(entries: readonly LayerEntry[]): number {
  const top = Math.hypot(...entries.map((entry) => entry.top));
  if (entries.every(({ bottom }) => bottom === 1)) return top;
  const bottom = Math.hypot(...entries.map((entry) => entry.bottom));
  return bottom === 0 ? Number.NaN : top / bottom;
}
