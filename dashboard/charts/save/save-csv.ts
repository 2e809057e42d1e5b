/** Tables of the page as CSV (RFC 4180: CRLF line ends, quotes where needed), for spreadsheets too. */
import { TurnBreak } from '../../parts/turns.ts';

/** A cell; null and undefined are empty ones. */
export type CsvCell = string | number | null | undefined;

/** Lines in one part of the file. */
const LINES_A_PART = 2_000;

/** One line with its end. */
export function csvLine(cells: readonly CsvCell[]): string {
  return `${cells.map(cellText).join(',')}\r\n`;
}

/**
 * A file with a header line, written in turns of the event loop, so that a table of a million lines does not block the page.
 *
 * @param notes lines before the header, each written after a `#`: what the table leaves out
 */
export async function csvBlob(
  header: readonly string[],
  rows: Iterable<readonly CsvCell[]>,
  notes: readonly string[] = [],
): Promise<Blob> {
  const turn = new TurnBreak();
  const parts: string[] = notes.map((note) => csvLine([`# ${note}`]));
  let part = csvLine(header);
  let count = 0;
  for (const row of rows) {
    part += csvLine(row);
    count += 1;
    if (count % LINES_A_PART !== 0) continue;
    parts.push(part);
    part = '';
    await turn.pause();
  }
  parts.push(part);
  return new Blob(parts, { type: 'text/csv;charset=utf-8' });
}

/** Every digit of a number: `NaN`, `Infinity`, `-Infinity` and `-0` are written out, as the exports of a run write them. */
function cellText(cell: CsvCell): string {
  if (cell === null || cell === undefined) return '';
  if (typeof cell === 'number') return Object.is(cell, -0) ? '-0' : String(cell);
  // A spreadsheet would carry out a text that begins like a formula. Names come from a run.
  const text = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
