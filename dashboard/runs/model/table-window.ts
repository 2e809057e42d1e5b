/**
 * Which rows of a long table are on screen. All rows are equally high. A browser draws boxes of some ten million pixels at most: of a
 * table that would be higher, one pixel of the scroll bar stands for several, except near its ends, where rows follow exactly.
 */

/** What is on screen of a table. Lengths are in CSS pixels. */
export type TableWindow = {
  /** The first row to draw, and the one after the last. */
  readonly first: number;
  readonly end: number;
  /** From the top of the table to the first row that is drawn. */
  readonly top: number;
  /** Height of all rows, as the scroll bar knows it. */
  readonly height: number;
};

/** A table and what is seen of it. */
export type TableSpan = {
  readonly scrollTop: number;
  /** Height of what is seen. */
  readonly viewport: number;
  readonly rowHeight: number;
  readonly total: number;
};

/** No table is higher. */
export const MAX_TABLE_PX = 8_000_000;
/** So far from its ends, a table follows the scroll bar exactly. */
const EXACT_PX = 40_000;
/** Rows that are drawn above and below what is seen: they are there when scrolling begins. */
const OVERSCAN = 8;

/** The rows to draw. */
export function tableWindow(view: TableSpan): TableWindow {
  const { viewport, rowHeight, total } = view;
  const height = Math.min(total * rowHeight, MAX_TABLE_PX);
  const scrollTop = clamp(view.scrollTop, 0, Math.max(0, height - viewport));
  const seen = seenFrom({ ...view, scrollTop });
  const first = clamp(Math.floor(seen / rowHeight) - OVERSCAN, 0, total);
  const end = clamp(Math.ceil((seen + viewport) / rowHeight) + OVERSCAN, 0, total);
  return { first, end, top: Math.max(0, scrollTop - (seen - first * rowHeight)), height };
}

/** The scroll position that shows a row: as it is where the row is seen, else the nearest one. */
export function scrollTopOf(row: number, view: TableSpan): number {
  const { scrollTop, viewport, rowHeight } = view;
  const seen = seenFrom(view);
  const [from, to] = [row * rowHeight, (row + 1) * rowHeight];
  if (from >= seen && to <= seen + viewport) return scrollTop;
  return scrollFrom(from < seen ? from : to - viewport, view);
}

/** The scroll position after `rows` rows were put in above what is seen: nothing moves on screen. */
export function scrollTopAfter(rows: number, view: TableSpan): number {
  return scrollFrom(seenFrom(view) + rows * view.rowHeight, view);
}

/** The row at the upper edge of what is seen. */
export function firstSeen(view: TableSpan): number {
  return Math.floor(seenFrom(view) / view.rowHeight);
}

/** How far all rows, one below the other, lie above the upper edge of what is seen. */
function seenFrom(view: TableSpan): number {
  const { scrollTop } = view;
  const { full, room, exact } = roomsOf(view);
  const at = clamp(scrollTop, 0, room);
  if (at <= exact || full === room) return at;
  if (at >= room - exact) return full - (room - at);
  return exact + ((at - exact) * (full - 2 * exact)) / (room - 2 * exact);
}

/** The scroll position of {@link seenFrom}. */
function scrollFrom(seen: number, view: TableSpan): number {
  const { full, room, exact } = roomsOf(view);
  const at = clamp(seen, 0, full);
  if (at <= exact || full === room) return at;
  if (at >= full - exact) return room - (full - at);
  return exact + ((at - exact) * (room - 2 * exact)) / (full - 2 * exact);
}

/** How far one could scroll through all rows, how far the scroll bar goes, and the exact part of both at each end. */
function roomsOf({ total, rowHeight, viewport }: TableSpan): {
  readonly full: number;
  readonly room: number;
  readonly exact: number;
} {
  const height = total * rowHeight;
  const full = Math.max(0, height - viewport);
  const room = Math.max(0, Math.min(height, MAX_TABLE_PX) - viewport);
  return { full, room, exact: Math.min(EXACT_PX, room / 2) };
}

function clamp(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(most, value));
}
