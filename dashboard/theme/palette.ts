/** Colours of curves in the theme that is shown. */
import { PALETTES } from './curve-styles.ts';
import { shownTheme } from './theme.ts';

/** The colour at an index of the palette, in the theme that is shown. Reading it inside an effect subscribes to it. */
export function seriesColor(index: number): string {
  const palette = PALETTES[shownTheme.value];
  return palette[index % palette.length] ?? palette[0];
}
