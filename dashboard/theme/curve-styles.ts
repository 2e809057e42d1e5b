/**
 * Colours and dashes of curves. Each colour is at least 3:1 against the surface it is drawn on. Any two are told apart, also by eyes
 * that see no red, no green or no blue: a test measures how far apart they are.
 */
import { t } from '../parts/t.ts';

/** The colours by theme, in the order in which they are given out. */
export const PALETTES = {
  light: ['#3156d3', '#d2571f', '#248393', '#af66ca', '#8a4d00', '#ad1b5d', '#648861', '#435f80'],
  dark: ['#86a3ff', '#ff9d6b', '#71d9b0', '#d480c9', '#f5c50b', '#f1798c', '#a0ef8d', '#a8c0e8'],
} as const;

/** How many different colours there are. */
export const PALETTE_SIZE: number = PALETTES.light.length;

/** What the colours are called, in their order. */
const COLOR_NAMES = [
  () => t('blue'),
  () => t('orange'),
  () => t('teal'),
  () => t('purple'),
  () => t('amber'),
  () => t('rose'),
  () => t('green'),
  () => t('slate'),
];

/** Kinds of lines: what is drawn and what is left free, in CSS pixels. */
const DASHES: readonly { readonly name: () => string; readonly pattern: readonly number[] }[] = [
  { name: () => t('solid'), pattern: [] },
  { name: () => t('dashed'), pattern: [7, 4] },
  { name: () => t('dotted'), pattern: [1.5, 3.5] },
];

/** How many kinds of lines there are. */
export const DASH_COUNT: number = DASHES.length;

/** How a curve is drawn: two that differ in neither are not told apart. */
export type CurveStyle = {
  /** Index in the palette. */
  readonly color: number;
  /** Index of the kind of line. */
  readonly dash: number;
};

/** All styles, solid ones first. */
export const CURVE_STYLES: readonly CurveStyle[] = DASHES.flatMap((_dash, dash) =>
  PALETTES.light.map((_color, color) => ({ color, dash })),
);

/** Dashes and gaps of a kind of line, in CSS pixels; none for a solid one. */
export function dashOf(dash: number): readonly number[] {
  return DASHES[dash]?.pattern ?? [];
}

/** `dashed orange`. */
export function styleName({ color, dash }: CurveStyle): string {
  return t('{dash} {color}', {
    dash: DASHES[dash]?.name() ?? '',
    color: COLOR_NAMES[color]?.() ?? '',
  });
}
