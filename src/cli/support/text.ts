/** How values and tables are written for a person. */
import { onOneLine } from '../../base/texts/control-characters.ts';
import type { CliOutput } from './io.ts';

/** Colours, or none of them. */
export type Style = {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
  readonly blue: (text: string) => string;
};

/** Colours where a person looks at them and has not asked for none (https://no-color.org). */
export function styleFor(
  output: CliOutput,
  env: Readonly<Record<string, string | undefined>>,
): Style {
  const isColoured = output.isTty && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
  const sgr = (open: number, close: number) => (text: string) =>
    isColoured ? `\u001b[${open}m${text}\u001b[${close}m` : text;
  return {
    bold: sgr(1, 22),
    dim: sgr(2, 22),
    red: sgr(31, 39),
    green: sgr(32, 39),
    yellow: sgr(33, 39),
    blue: sgr(34, 39),
  };
}

/** Text from a run on one line: recorded text may hold anything, also what would steer the terminal. */
export function onTerminal(text: string): string {
  return onOneLine(text);
}

/** A column of a table. */
export type TableColumn<Row> = {
  readonly title: string;
  readonly cell: (row: Row) => string;
  readonly align?: 'left' | 'right';
  /** Gives way when the terminal is narrow. */
  readonly isElastic?: boolean;
  /** Is cut in the middle, not at its end, where it gives way. */
  readonly hasEnds?: boolean;
  readonly style?: (row: Row) => (text: string) => string;
};

const GAP = 2;
const MIN_ELASTIC = 8;

/** Rows under their titles, not wider than `width` where elastic columns can give way. */
export function table<Row>(
  columns: readonly TableColumn<Row>[],
  rows: readonly Row[],
  width: number | undefined,
  style: Style,
): string {
  const titles = columns.map(({ title }) => onTerminal(title));
  const cells = rows.map((row) => columns.map((column) => onTerminal(column.cell(row))));
  const widths = titles.map((title, at) =>
    Math.max(textWidth(title), ...cells.map((line) => textWidth(line[at] ?? ''))),
  );
  let excess = width === undefined ? 0 : sum(widths) + GAP * (columns.length - 1) - width;
  for (const [at, column] of columns.entries()) {
    if (column.isElastic !== true || excess <= 0) continue;
    const given = Math.max(0, Math.min(excess, (widths[at] ?? 0) - MIN_ELASTIC));
    widths[at] = (widths[at] ?? 0) - given;
    excess -= given;
  }
  const line = (texts: readonly string[], paint: (text: string, at: number) => string): string =>
    texts
      .map((text, at) => {
        const cut = (columns[at]?.hasEnds === true ? fitInMiddle : fit)(text, widths[at] ?? 0);
        const blanks = ' '.repeat((widths[at] ?? 0) - textWidth(cut));
        if (columns[at]?.align === 'right') return blanks + paint(cut, at);
        return at === texts.length - 1 ? paint(cut, at) : paint(cut, at) + blanks;
      })
      .join(' '.repeat(GAP))
      .trimEnd();
  const head = line(titles, style.bold);
  const body = cells.map((texts, row) =>
    line(texts, (text, at) => paintCell(columns[at], rows[row], text)),
  );
  return `${[head, ...body].join('\n')}\n`;
}

function paintCell<Row>(
  column: TableColumn<Row> | undefined,
  row: Row | undefined,
  text: string,
): string {
  return column?.style === undefined || row === undefined ? text : column.style(row)(text);
}

/** At most `width` columns of a terminal. */
export function fit(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  let kept = '';
  let used = 0;
  for (const { segment } of GRAPHEMES.segment(text)) {
    used += graphemeWidth(segment);
    if (used > width - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

/** At most `width` columns of a terminal, cut in the middle: the ends of names tell them apart. */
export function fitInMiddle(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  const parts = Array.from(GRAPHEMES.segment(text), ({ segment }) => segment);
  const take = (from: readonly string[], room: number): readonly string[] => {
    let used = 0;
    const end = from.findIndex((part) => (used += graphemeWidth(part)) > room);
    return from.slice(0, end < 0 ? from.length : end);
  };
  const head = take(parts, Math.ceil((width - 1) / 2));
  const tail = take(parts.toReversed(), Math.floor((width - 1) / 2));
  return `${head.join('')}…${tail.toReversed().join('')}`;
}

const GRAPHEMES = new Intl.Segmenter();
/** Han, kana, Hangul and their full-width punctuation; what is shown as a picture. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u;

/** Columns that a text takes in a terminal. */
export function textWidth(text: string): number {
  // Most of all texts, and many times as fast.
  if (/^[ -~]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of GRAPHEMES.segment(text)) width += graphemeWidth(segment);
  return width;
}

function graphemeWidth(segment: string): number {
  return WIDE.test(segment) ? 2 : 1;
}

/** A number as short as five digits allow. */
export function shortNumber(value: number): string {
  if (!Number.isFinite(value) || (Number.isInteger(value) && Math.abs(value) < 1e9))
    return String(value);
  return String(Number(value.toPrecision(5)));
}

/** `1:05`, `2:03:09` */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}:${two(seconds % 60)}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(seconds % 60)}`;
}

/** An instant of a record, in local time, to the second. */
export function localTime(isoText: string): string {
  const date = new Date(isoText);
  if (Number.isNaN(date.getTime())) return isoText;
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}

/** `1 run`, `2 runs`: a number with a noun whose plural takes an s. */
export function counted(value: number, noun: string): string {
  return `${value} ${noun}${value === 1 ? '' : 's'}`;
}

const BYTE_UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

/** A number of bytes with three digits and a unit. */
export function byteText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  for (; value >= 1024 && unit < BYTE_UNITS.length - 1; unit++) value /= 1024;
  return `${unit === 0 ? value : Number(value.toPrecision(3))} ${BYTE_UNITS[unit] ?? ''}`;
}

/** The colour of a severity. */
export function severityColor(style: Style, severity: string): (text: string) => string {
  if (severity === 'critical' || severity === 'error') return style.red;
  return severity === 'warning' ? style.yellow : style.blue;
}
