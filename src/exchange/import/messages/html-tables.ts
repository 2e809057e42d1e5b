/** Tables of HTML as the trainers of Hugging Face and fastai show them in notebooks. */
import type { LogRow } from './log-patterns.ts';
import { columnNames, isCounterName, tableRow } from './table-names.ts';

const TABLE = /<table\b[^>]{0,500}>/gi;
const ROW = /<tr\b[^>]{0,500}>/gi;
const CELL = /<(th|td)\b[^>]{0,500}>/gi;
const MAX_CELLS = 1000;
const ENTITIES: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&amp;': '&',
  '&nbsp;': ' ',
  '&quot;': '"',
  '&#39;': "'",
};

/** The rows of all tables of a text whose first column is a counter. */
export function htmlTableRows(html: string): LogRow[] {
  return parts(html, TABLE, '</table').flatMap((table) => {
    const [header, ...rows] = parts(table.text, ROW, '</tr').map(({ text }) => cellsOf(text));
    const counter = isCounterName(header?.[0] ?? '');
    if (header === undefined || counter === undefined) return [];
    const names = columnNames(header);
    return rows.flatMap((cells) => tableRow(cells.map(numberCell), names, counter) ?? []);
  });
}

/** Cells that have no number yet. */
function numberCell(cell: string): string {
  return /^no log$/i.test(cell) ? '' : cell;
}

function cellsOf(row: string): string[] {
  return parts(row, CELL, '</t')
    .slice(0, MAX_CELLS)
    .map(({ text }) => plainText(text));
}

/** What is between each opening tag and the next closing one, or the next opening one where it is not closed. */
function parts(
  html: string,
  opening: RegExp,
  closing: string,
): readonly { readonly text: string }[] {
  const starts = [...html.matchAll(opening)];
  return starts.map((match, i) => {
    const from = match.index + match[0].length;
    const next = starts[i + 1]?.index ?? html.length;
    const text = html.slice(from, next);
    const end = text.indexOf(closing);
    return { text: end < 0 ? text : text.slice(0, end) };
  });
}

function plainText(html: string): string {
  return html
    .replace(/<[^<>]{0,500}>/g, '')
    .replace(/&(?:lt|gt|amp|nbsp|quot|#39);/g, (entity) => ENTITIES[entity] ?? entity)
    .trim();
}
