/** Markdown as blocks: headings, paragraphs, lists, tasks, quotes, code, tables, rules. HTML is text. */
import { parseSpans } from './spans.ts';
import type { MarkdownBlock, MarkdownBudget, MarkdownItem, MarkdownSpan } from './tree.ts';

/** Lists and quotes within each other; deeper ones are paragraphs. */
const MAX_DEPTH = 8;
/** Blocks, rows and spans of a text; the rest of it is one paragraph without form. */
const MAX_PARTS = 4000;
/** Characters that are read: twice as many as notes may have. */
const MAX_CHARS = 131_072;
const MAX_COLUMNS = 40;

// No pattern here has two neighbours that match the same characters: each is tried on hostile lines, in linear time.
const HEADING = /^ {0,3}(#{1,6})(?:\s|$)/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(?:( {1,4})(?=\S)|\s|$)/;
const TASK = /^\[([ xX])\]\s+/;
const TABLE_RULE = /^:?-+:?$/;

/**
 * Reads Markdown as notes and reports have it: headings, paragraphs, lists, tasks, quotes, code, tables, rules. HTML is text, and links go to
 * pages (`http`, `https`), mail, and views of the page. Takes time that grows with the length of the text, whatever is in it.
 *
 * @param text of which 131,072 characters are read
 * @example
 * ```js
 * import { parseMarkdown } from 'quark-sdk/workspace';
 *
 * const blocks = parseMarkdown('# Found\n\nSmall rates *win*.');
 * console.log(blocks.map(({ kind }) => kind)); // [ 'heading', 'paragraph' ]
 * ```
 */
export function parseMarkdown(text: string): readonly MarkdownBlock[] {
  const lines = text.slice(0, MAX_CHARS).replaceAll(/\r\n?/g, '\n').split('\n');
  return blocksOf(
    lines.map((line) => line.replaceAll('\t', '    ')),
    0,
    { left: MAX_PARTS },
  );
}

/** Lines that are read one after the other. */
type Reading = { readonly lines: readonly string[]; at: number; readonly depth: number };

function blocksOf(
  lines: readonly string[],
  depth: number,
  budget: MarkdownBudget,
): readonly MarkdownBlock[] {
  const reading: Reading = { lines, at: 0, depth };
  const blocks: MarkdownBlock[] = [];
  while (reading.at < lines.length) {
    if ((lines[reading.at] ?? '').trim() === '') {
      reading.at += 1;
      continue;
    }
    budget.left -= 1;
    if (budget.left <= 0) {
      const rest = lines.slice(reading.at).join('\n');
      blocks.push({ kind: 'paragraph', spans: [{ kind: 'text', text: rest }] });
      break;
    }
    blocks.push(nextBlock(reading, budget));
  }
  return blocks;
}

function nextBlock(reading: Reading, budget: MarkdownBudget): MarkdownBlock {
  const line = reading.lines[reading.at] ?? '';
  const fence = fenceOf(line);
  if (fence !== undefined) return codeBlock(reading, fence);
  const heading = HEADING.exec(line);
  if (heading !== null) {
    reading.at += 1;
    const level = (heading[1] ?? '#').length;
    const text = line
      .slice(heading[0].length)
      .trim()
      .replace(/(?:^|\s)#+$/, '');
    return { kind: 'heading', level, spans: parseSpans(text, budget) };
  }
  if (RULE.test(line)) {
    reading.at += 1;
    return { kind: 'rule' };
  }
  if (reading.depth < MAX_DEPTH) {
    if (QUOTE.test(line)) return quote(reading, budget);
    if (ITEM.test(line)) return list(reading, budget);
  }
  if (beginsTable(reading)) return table(reading, budget);
  return paragraph(reading, budget);
}

type Fence = { readonly mark: string; readonly language: string };

/** The line that begins a block of code; the name of a language has none of the marks in it. */
function fenceOf(line: string): Fence | undefined {
  const found = FENCE.exec(line);
  const mark = found?.[1];
  if (found === null || mark === undefined) return undefined;
  const rest = line.slice(found[0].length);
  if (rest.includes(mark.charAt(0))) return undefined;
  return { mark, language: rest.trim().split(/\s/, 1)[0]?.slice(0, 40) ?? '' };
}

function codeBlock(reading: Reading, { language, mark }: Fence): MarkdownBlock {
  const inside: string[] = [];
  reading.at += 1;
  while (reading.at < reading.lines.length) {
    const line = reading.lines[reading.at] ?? '';
    reading.at += 1;
    const end = line.trim();
    if (end.length >= mark.length && end === mark.charAt(0).repeat(end.length)) break;
    inside.push(line);
  }
  return { kind: 'code', text: inside.join('\n'), language };
}

function quote(reading: Reading, budget: MarkdownBudget): MarkdownBlock {
  const inside: string[] = [];
  while (reading.at < reading.lines.length) {
    const line = reading.lines[reading.at] ?? '';
    if (!QUOTE.test(line) && (line.trim() === '' || beginsOther(reading))) break;
    inside.push(line.replace(QUOTE, ''));
    reading.at += 1;
  }
  return { kind: 'quote', blocks: blocksOf(inside, reading.depth + 1, budget) };
}

function list(reading: Reading, budget: MarkdownBudget): MarkdownBlock {
  const first = ITEM.exec(reading.lines[reading.at] ?? '')?.[2] ?? '-';
  const isNumbered = /\d/.test(first);
  const items: MarkdownItem[] = [];
  while (reading.at < reading.lines.length) {
    const line = reading.lines[reading.at] ?? '';
    const found = ITEM.exec(line);
    const mark = found?.[2] ?? '';
    // Another kind of mark is another list.
    if (found === null || RULE.test(line) || mark.at(-1) !== first.at(-1)) break;
    if (/\d/.test(mark) !== isNumbered || budget.left <= 0) break;
    budget.left -= 1;
    items.push(item(reading, found, budget));
  }
  return { kind: 'list', start: isNumbered ? Number.parseInt(first, 10) : null, items };
}

function item(reading: Reading, found: RegExpExecArray, budget: MarkdownBudget): MarkdownItem {
  const [, indent = '', mark = '', blanks = ' '] = found;
  const width = indent.length + mark.length + blanks.length;
  const inside: string[] = [(reading.lines[reading.at] ?? '').slice(width)];
  reading.at += 1;
  while (reading.at < reading.lines.length) {
    const line = reading.lines[reading.at] ?? '';
    const isInside = line.startsWith(' '.repeat(width));
    if (line.trim() === '') {
      // What follows a blank line belongs to the item where it is indented as the item is.
      const next = reading.lines.slice(reading.at + 1, reading.at + 4).find((one) => one.trim());
      if (next === undefined || !next.startsWith(' '.repeat(width))) {
        if (next === undefined || !ITEM.test(next)) break;
        reading.at += 1;
        break;
      }
    } else if (!isInside && (beginsOther(reading) || inside.at(-1)?.trim() === '')) break;
    inside.push(isInside ? line.slice(width) : line.trimStart());
    reading.at += 1;
  }
  const task = TASK.exec(inside[0] ?? '');
  if (task !== null) inside[0] = (inside[0] ?? '').slice(task[0].length);
  return {
    isDone: task === null ? null : task[1] !== ' ',
    blocks: blocksOf(inside, reading.depth + 1, budget),
  };
}

function beginsTable({ lines, at }: Reading): boolean {
  const [head = '', under = ''] = [lines[at], lines[at + 1]];
  return (
    head.includes('|') &&
    under.includes('-') &&
    cellsOf(under).every((cell) => TABLE_RULE.test(cell)) &&
    cellsOf(head).length === cellsOf(under).length
  );
}

function table(reading: Reading, budget: MarkdownBudget): MarkdownBlock {
  const cells = (line: string): readonly (readonly MarkdownSpan[])[] =>
    cellsOf(line).map((cell) => parseSpans(cell, budget));
  const head = cells(reading.lines[reading.at] ?? '');
  reading.at += 2;
  const rows: (readonly (readonly MarkdownSpan[])[])[] = [];
  while (reading.at < reading.lines.length && budget.left > 0) {
    const line = reading.lines[reading.at] ?? '';
    if (line.trim() === '' || !line.includes('|')) break;
    budget.left -= head.length;
    const row = cells(line);
    rows.push(head.map((_, column) => row[column] ?? []));
    reading.at += 1;
  }
  return { kind: 'table', head, rows };
}

function cellsOf(line: string): readonly string[] {
  const inner = line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '');
  return inner
    .split(/(?<!\\)\|/)
    .slice(0, MAX_COLUMNS)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));
}

function paragraph(reading: Reading, budget: MarkdownBudget): MarkdownBlock {
  const inside = [reading.lines[reading.at] ?? ''];
  reading.at += 1;
  while (reading.at < reading.lines.length) {
    const line = reading.lines[reading.at] ?? '';
    if (line.trim() === '' || beginsOther(reading)) break;
    inside.push(line);
    reading.at += 1;
  }
  const text = inside.map((line) => line.trimStart()).join('\n');
  return { kind: 'paragraph', spans: parseSpans(text.trimEnd(), budget) };
}

/** Whether the next line begins a block that ends a paragraph. */
function beginsOther(reading: Reading): boolean {
  const line = reading.lines[reading.at] ?? '';
  if (fenceOf(line) !== undefined || HEADING.test(line) || RULE.test(line)) return true;
  if (reading.depth < MAX_DEPTH && (QUOTE.test(line) || ITEM.test(line))) return true;
  return beginsTable(reading);
}
