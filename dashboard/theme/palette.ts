/** Colours of curves: told apart by eyes of every kind, and at least 3:1 against the surface they are drawn on. */
import { shownTheme } from './theme.ts';

const PALETTES = {
  light: ['#3156d3', '#d2571f', '#0b8069', '#9a3ab0', '#917000', '#bd2f5b', '#4a7a1c', '#56646e'],
  dark: ['#86a3ff', '#ff9d6b', '#4fd0b0', '#d993f2', '#e2c152', '#ff86a8', '#a6d563', '#aab7c3'],
} as const;

/** How many different colours there are. */
export const PALETTE_SIZE: number = PALETTES.light.length;

/** The colour at an index of the palette, in the theme that is shown. Reading it inside an effect subscribes to it. */
export function seriesColor(index: number): string {
  const palette = PALETTES[shownTheme.value];
  return palette[index % palette.length] ?? palette[0];
}
