/** Rows of a table, filtered and sorted. Pure. */
import type { TableCell, TableContent } from 'quark-sdk/media';

/** By which column, and in which direction. */
export type TableOrder = { readonly column: number; readonly isDescending: boolean };

/**
 * Indices of the rows that have all words somewhere in their cells, in this order. Numbers come before texts, and what is missing
 * comes last in both directions; rows that are equal stay in the order they were logged in.
 */
export function orderedRows(
  { rows }: TableContent,
  query: string,
  order: TableOrder | undefined,
): Int32Array {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found: number[] = [];
  for (const [at, row] of rows.entries())
    if (words.every((word) => row.some((cell) => cellText(cell).toLowerCase().includes(word))))
      found.push(at);
  if (order !== undefined)
    found.sort((a, b) => {
      const first = rows[a]?.[order.column] ?? null;
      const second = rows[b]?.[order.column] ?? null;
      return compareCells(first, second, order.isDescending) || a - b;
    });
  return Int32Array.from(found);
}

const collator = new Intl.Collator('en', { numeric: true });

function compareCells(a: TableCell, b: TableCell, isDescending: boolean): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  const sign = isDescending ? -1 : 1;
  if (typeof a === 'number' && typeof b === 'number') return sign * (a - b);
  if (typeof a === 'number' || typeof b === 'number')
    return sign * (typeof a === 'number' ? -1 : 1);
  return sign * collator.compare(String(a), String(b));
}

/** A cell as text; what is missing is empty. */
export function cellText(cell: TableCell): string {
  return cell === null ? '' : String(cell);
}

/** Key of the image that a cell names as `image:KEY`; undefined for any other cell. */
export function imageKeyOf(cell: TableCell): string | undefined {
  return typeof cell === 'string' && cell.startsWith('image:')
    ? cell.slice('image:'.length)
    : undefined;
}
