/** What the drawings of media have in common: their colours and fonts, which are those of the page, title and margins. */
import { svgDocument, svgTag, svgText } from '../../charts/save/save-svg.ts';

/** What a drawing is written with. */
export type DrawingWords = {
  readonly title: string;
  /** Reads a colour of the style sheet: `--ink`. */
  readonly color: (name: string) => string;
  readonly fontFamily: string;
};

/** The words of a drawing in the theme that is shown. */
export function pageDrawing(title: string): DrawingWords {
  const style = getComputedStyle(document.body);
  return {
    title,
    color: (name) => style.getPropertyValue(name).trim(),
    fontFamily: style.fontFamily,
  };
}

/** Around a drawing, in pixels. */
export const DRAWING_MARGIN = 16;
/** Height of the title of a drawing, in pixels. */
export const DRAWING_HEAD = 32;

/** A file with its title. */
export function framedDrawing(
  { color, fontFamily, title }: DrawingWords,
  width: number,
  height: number,
  inside: readonly string[],
): string {
  const heading = {
    x: DRAWING_MARGIN,
    y: DRAWING_MARGIN + 14,
    fill: color('--ink'),
    'font-size': 15,
  };
  return svgDocument(
    { width, height, title, background: color('--surface'), fontFamily },
    svgTag('text', { ...heading, 'font-weight': 600 }, svgText(title)),
    ...inside,
  );
}

/** The colour of a share from 0 to 1, and whether dark text is read on it. */
export function rampColor(ramp: Uint8Array, share: number): { css: string; isLight: boolean } {
  const shade = Math.max(0, Math.min(255, Math.round(share * 255)));
  const [red = 0, green = 0, blue = 0] = ramp.subarray(3 * shade, 3 * shade + 3);
  return {
    css: `rgb(${red},${green},${blue})`,
    isLight: 0.3 * red + 0.59 * green + 0.11 * blue > 140,
  };
}
