/** Colours of runs by a metric. */
import type { RunQuantity } from 'quark-sdk/analysis';
import { colorScale, scaleTicks, shareOn, type ScaleTick } from '../charts/heat/color-scale.ts';
import { RAMP_SIZE, rampOf } from '../charts/heat/ramps.ts';

/** Below this share of the ramp a line would hardly be told from the ground. */
const FAINT = 0.22;
const LEGEND_STOPS = 6;

/** Colours by the values of a quantity. */
export type LineColors = {
  /** The colour of a value; undefined for a value that has none. */
  readonly colorOf: (value: number | string | null | undefined) => string | undefined;
  /** The colours from the smallest to the largest value, for a legend. */
  readonly gradient: string;
  readonly ticks: readonly ScaleTick[];
};

/** Colours for the numbers of a quantity; logarithmic where `isLog` says so. Reading it inside a component subscribes to the theme. */
export function lineColors({ values }: RunQuantity, isLog: boolean): LineColors {
  const numbers = values.filter((value) => typeof value === 'number');
  const scale = colorScale(isLog ? 'log' : 'linear', numbers);
  const ramp = rampOf('sequential');
  const color = (share: number): string => {
    const at = Math.round((FAINT + (1 - FAINT) * share) * (RAMP_SIZE - 1)) * 3;
    return `rgb(${[0, 1, 2].map((channel) => ramp[at + channel] ?? 0).join(' ')})`;
  };
  const stops = Array.from({ length: LEGEND_STOPS }, (_, at) => color(at / (LEGEND_STOPS - 1)));
  return {
    colorOf: (value) => (typeof value === 'number' ? color(shareOn(scale, value)) : undefined),
    gradient: `linear-gradient(to right, ${stops.join(', ')})`,
    ticks: scaleTicks(scale),
  };
}
