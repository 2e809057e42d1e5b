/** Which rows of a long list are drawn: those on screen, and some around them. */

/** A list of rows of one height, and the part of it that is on screen. All in pixels but the counts. */
export type RowView = {
  readonly rowCount: number;
  readonly rowHeight: number;
  /** How far the list is scrolled. */
  readonly scrollTop: number;
  /** The height of what shows the list. */
  readonly height: number;
  /** Rows that are drawn before and after those on screen. */
  readonly around: number;
};

/** Rows to draw: from `first`, inclusive, to `end`, exclusive. */
export type RowWindow = { readonly first: number; readonly end: number };

/** The rows to draw. A list that has become shorter than it is scrolled shows its last rows. */
export function rowWindow(view: RowView): RowWindow {
  const { around, height, rowCount, rowHeight } = view;
  const top = Math.min(Math.max(0, view.scrollTop), Math.max(0, rowCount * rowHeight - height));
  const first = Math.floor(top / rowHeight) - around;
  const end = Math.ceil((top + height) / rowHeight) + around;
  return { first: Math.max(0, first), end: Math.min(rowCount, Math.max(0, end)) };
}

/** How far to scroll so that a row is in the middle of what is shown. */
export function centeredScroll(view: Omit<RowView, 'scrollTop' | 'around'>, row: number): number {
  const { height, rowCount, rowHeight } = view;
  const wanted = row * rowHeight - (height - rowHeight) / 2;
  return Math.min(Math.max(0, wanted), Math.max(0, rowCount * rowHeight - height));
}
