/** Colours and fonts of files of media, as the page has them. */

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
