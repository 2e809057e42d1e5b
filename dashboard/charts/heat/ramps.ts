/**
 * Colours of heat maps. More is darker on light ground and lighter on dark ground, so the order shows without hue; the two
 * hues of a diverging ramp, blue and orange, are told apart by eyes of every kind.
 */
import { getOrMake } from '../../parts/maps.ts';
import { rampBytes } from './color-scale.ts';
import { shownTheme } from '../../theme/theme.ts';

/** `sequential`: from little to much; `diverging`: below, at and above zero. */
export type RampName = 'sequential' | 'diverging';

const STOPS = {
  light: {
    sequential: ['#f4efbf', '#c3dfa1', '#79c3a4', '#3d9ba5', '#2f6f9f', '#373f86', '#251b52'],
    diverging: ['#1c3f94', '#4f7fd0', '#a9c3ea', '#ece8de', '#f2bd92', '#d5702c', '#8f3503'],
  },
  dark: {
    sequential: ['#2c2560', '#32508f', '#2f7b9a', '#3da597', '#79c987', '#c5e283', '#fbf6b8'],
    diverging: ['#a9c8ff', '#5e8ff0', '#34548f', '#30343a', '#8a4a20', '#e0823c', '#ffc79a'],
  },
} as const;

/** How many colours a ramp has. */
export const RAMP_SIZE = 256;

const made = new Map<string, Uint8Array>();

/** The colours of a ramp in the theme that is shown, three bytes each. Reading it inside an effect subscribes to it. */
export function rampOf(name: RampName): Uint8Array {
  const theme = shownTheme.value;
  return getOrMake(made, `${theme} ${name}`, () => rampBytes(STOPS[theme][name], RAMP_SIZE));
}

/** The ramp as a CSS gradient, for legends. */
export function rampGradient(name: RampName, direction: 'right' | 'top' = 'right'): string {
  return `linear-gradient(to ${direction}, ${STOPS[shownTheme.value][name].join(', ')})`;
}
