/** Lines of a log with a loss that no pattern read: counted, and the pattern that would read them. */
import type { UnreadLosses } from '../sink/importer.ts';
import { isLossName, lossesIn } from './loss-words.ts';
import { proposePattern } from './propose-pattern.ts';

type Shape = { count: number; readonly line: string };

/** A log in which fewer such lines are lost beside others that were read has a sentence about a loss, and no lost curve. */
const FEWEST = 3;
const MAX_SHAPES = 200;
const MAX_PATTERNS = 3;
const SHOWN_CHARS = 300;
const SHAPE_CHARS = 400;

/** Counts while a log is read. */
export class UnreadLossCounter {
  readonly #shapes = new Map<string, Shape>();
  #lineCount = 0;
  #readCount = 0;
  #first: { readonly line: string; readonly number: number } | undefined;

  /** Takes a line, and the names of the values that were read from it. */
  take(line: string, number: number, read: readonly string[]): void {
    const losses = read.filter(isLossName).length;
    this.#readCount += losses;
    if (losses > 0 || !/\d/.test(line) || lossesIn(line).length === 0) return;
    this.#lineCount++;
    this.#first ??= { line, number };
    const shape = shapeOf(line);
    const known = this.#shapes.get(shape);
    if (known !== undefined) known.count++;
    else if (this.#shapes.size < MAX_SHAPES) this.#shapes.set(shape, { count: 1, line });
  }

  /** What was lost of the file; undefined where nothing was. */
  found(file: string): UnreadLosses | undefined {
    if (this.#first === undefined) return undefined;
    const shapes = [...this.#shapes.values()].toSorted((a, b) => b.count - a.count);
    if (this.#readCount > 0 && (shapes[0]?.count ?? 0) < FEWEST) return undefined;
    const patterns = shapes
      .filter(({ count }) => count >= FEWEST || shapes.length <= MAX_PATTERNS)
      .map(({ line }) => proposePattern(line))
      .filter((pattern) => pattern !== undefined);
    return {
      file,
      lineCount: this.#lineCount,
      firstLine: shortened(this.#first.line),
      firstLineNumber: this.#first.number,
      readCount: this.#readCount,
      patterns: [...new Set(patterns)].slice(0, MAX_PATTERNS),
    };
  }
}

/** The sentence about it, with what to do. */
export function unreadText({ firstLine, lineCount, patterns, readCount }: UnreadLosses): string {
  const lines = lineCount === 1 ? 'A line has' : `${lineCount} lines have`;
  const none = readCount === 0 ? ', and no loss was read from this file' : '';
  const options = patterns.map(
    (pattern) => `--pattern '${pattern.replaceAll("'", String.raw`'\''`)}'`,
  );
  const advice =
    patterns.length === 0
      ? 'Give a pattern with named groups that reads them (--pattern).'
      : `This reads them, given to quark import, analyze or report: ${options.join(' ')}`;
  return `${lines} a number beside the name of a loss and ${lineCount === 1 ? 'was' : 'were'} not read${none}. The first is "${firstLine}". ${advice}`;
}

/** The line with every number as a sign: lines of one print statement are the same. */
function shapeOf(line: string): string {
  return line
    .slice(0, SHAPE_CHARS)
    .replace(/[-+]?(?:\d[\d.]*(?:e[-+]?\d+)?|\bnan\b|\binf\b)/gi, '#')
    .replace(/\s+/g, ' ');
}

function shortened(line: string): string {
  const text = line.trim();
  return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text;
}
