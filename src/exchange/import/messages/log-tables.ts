/** Tables that programs draw with characters: boxes of keys and values, and columns under a header. A row of them is one position. */
import { numberFromText } from '../../../codecs/number-text.ts';
import type { LogRow } from './log-patterns.ts';
import { columnNames, isCounterName, tableRow } from './table-names.ts';

const MAX_LINE_CHARS = 4000;
const MAX_ROWS = 1000;
const BORDER = /^\s{0,8}[-+=]{8,}\s*$/;
const BOX_ROW = /^\s{0,8}\|([^|]{1,200})\|([^|]{0,200})\|\s*$/;
/** A key below a section is set in by more than the blank behind the bar. */
const SET_IN = /^ {3,}\S/;
/** What says how far a training is, the surest first: environment steps, then updates. */
const BOX_STEPS = [
  'time/total_timesteps',
  'total_timesteps',
  'total timesteps',
  'misc/total_timesteps',
  'timestepssofar',
  'totalenvinteracts',
  'total_env_steps',
  'env_steps',
  'num_timesteps',
  'steps',
  'serial_timesteps',
  'misc/serial_timesteps',
  'nupdates',
  'misc/nupdates',
  'time/iterations',
  'iterations',
  'iteration',
  'itr',
];
const NONE = Number.NaN;

/** Boxes of `| key | value |` between two lines: Stable-Baselines, OpenAI baselines, Spinning Up. */
export class KeyValueBoxes {
  #rows: [key: string, value: number][] | undefined;
  #section = '';

  /** Takes a line. A row comes with the line that ends the box; `isInside` says that the line is of a box. */
  read(text: string): { readonly row: LogRow | undefined; readonly isInside: boolean } {
    const cells = text.length > MAX_LINE_CHARS ? null : BOX_ROW.exec(text);
    if (cells !== null) {
      this.#add(cells[1] ?? '', cells[2] ?? '');
      return { row: undefined, isInside: this.#rows !== undefined };
    }
    const rows = this.#rows;
    const isBorder = BORDER.test(text);
    this.#section = '';
    this.#rows = isBorder && (rows === undefined || rows.length === 0) ? [] : undefined;
    const isEnd = isBorder && rows !== undefined && rows.length > 0;
    return { row: isEnd ? boxRow(rows) : undefined, isInside: isEnd };
  }

  #add(cell: string, value: string): void {
    const rows = this.#rows;
    if (rows === undefined || rows.length >= MAX_ROWS) return;
    const key = cell.trim();
    if (key.endsWith('/') && value.trim() === '') {
      this.#section = key;
      return;
    }
    if (!SET_IN.test(cell)) this.#section = '';
    const number = numberFromText(value);
    if (key !== '' && typeof number === 'number') rows.push([`${this.#section}${key}`, number]);
  }
}

function boxRow(rows: readonly (readonly [string, number])[]): LogRow | undefined {
  const find = (names: readonly string[]): string | undefined =>
    names
      .map((name) => rows.find(([key]) => key.toLowerCase() === name)?.[0])
      .find((key) => key !== undefined);
  const stepKey = find(BOX_STEPS);
  const epochKey = find(['epoch']);
  const values = rows.filter(([key]) => key !== stepKey && key !== epochKey);
  const valueOf = (wanted: string | undefined): number =>
    rows.find(([key]) => key === wanted)?.[1] ?? NONE;
  if (values.length === 0) return undefined;
  const step = valueOf(stepKey);
  return {
    pattern: 'box',
    step,
    epoch: valueOf(epochKey),
    epochSteps: NONE,
    timeMs: NONE,
    values,
  };
}

/** Columns of numbers under a header that begins with a counter: fastai, skorch, scikit-learn, tables that were copied as text. */
export class ColumnTables {
  #names: readonly (string | undefined)[] | undefined;
  #counter: 'step' | 'epoch' = 'step';

  read(text: string): LogRow | undefined {
    const trimmed = text.trim();
    if (trimmed === '' || trimmed.length > MAX_LINE_CHARS) return this.#end();
    const header = headerIn(trimmed);
    if (header !== undefined) {
      this.#names = columnNames(header);
      this.#counter = isCounterName(header[0] ?? '') ?? 'step';
      return undefined;
    }
    if (this.#names === undefined) return undefined;
    if (/^[-=\s]{3,}$/.test(trimmed)) return undefined;
    const cells = trimmed.replace(/\bNo log\b/g, '-').split(/\s+/);
    const row = tableRow(cells, this.#names, this.#counter);
    return row ?? this.#end();
  }

  #end(): undefined {
    this.#names = undefined;
    return undefined;
  }
}

/** The names of a header: words apart by two blanks or a tab, the first a counter. */
function headerIn(text: string): readonly string[] | undefined {
  if (!/^(?:epoch|step|iter)/i.test(text)) return undefined;
  const cells = text.split(/\t+| {2,}/).map((cell) => cell.trim());
  const isName = (cell: string): boolean => /^[A-Za-z][\w %@/().-]{0,60}$/.test(cell);
  const isHeader =
    cells.length >= 2 && cells.every(isName) && isCounterName(cells[0] ?? '') !== undefined;
  return isHeader ? cells : undefined;
}
