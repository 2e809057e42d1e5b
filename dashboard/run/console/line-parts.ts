/** A line of a console in parts of one style each: colours of its spans, and what was searched for. */
import type { ConsoleSpan } from 'quark-sdk/console';

/** Characters of a line that a row shows; the line by itself shows more. */
export const ROW_CHARS = 1000;

/** A part of a line. */
export type LinePart = {
  readonly text: string;
  readonly span: ConsoleSpan | undefined;
  readonly isFound: boolean;
};

/** Control characters, and those that change the direction of what follows. */
const HIDDEN =
  // oxlint-disable-next-line no-control-regex -- it is about control characters
  /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** Text whose control characters are written out: `\u202e`. */
export function withoutHidden(text: string): string {
  return text.replaceAll(
    HIDDEN,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/**
 * The parts of the first `chars` characters.
 *
 * @param spans in order, without overlaps
 * @param search where it is found is marked; empty for nothing
 */
export function partsOfLine(
  text: string,
  spans: readonly ConsoleSpan[],
  search: string,
  chars: number = ROW_CHARS,
): readonly LinePart[] {
  const end = Math.min(text.length, chars);
  const cuts = new Set([0, end]);
  for (const span of spans) for (const at of [span.start, span.end]) if (at < end) cuts.add(at);
  const found = foundAt(text.slice(0, end), search.trim());
  for (const { start, end: to } of found) {
    cuts.add(start);
    cuts.add(to);
  }
  const edges = [...cuts].toSorted((a, b) => a - b);
  let span = 0;
  let mark = 0;
  return edges.slice(0, -1).map((start, at) => {
    while ((spans[span]?.end ?? Infinity) <= start) span += 1;
    while ((found[mark]?.end ?? Infinity) <= start) mark += 1;
    return {
      text: withoutHidden(text.slice(start, edges[at + 1])),
      span: (spans[span]?.start ?? Infinity) <= start ? spans[span] : undefined,
      isFound: (found[mark]?.start ?? Infinity) <= start,
    };
  });
}

/** Where a text is found, at most so often: nobody reads more marks in a row. */
const MAX_FOUND = 50;

function foundAt(text: string, search: string): { start: number; end: number }[] {
  const found: { start: number; end: number }[] = [];
  if (search === '') return found;
  // Lower case may be longer: then nothing is marked, and the line is found all the same.
  const [lower, wanted] = [text.toLowerCase(), search.toLowerCase()];
  if (lower.length !== text.length) return found;
  let at = lower.indexOf(wanted);
  while (at >= 0 && found.length < MAX_FOUND) {
    found.push({ start: at, end: at + wanted.length });
    at = lower.indexOf(wanted, at + wanted.length);
  }
  return found;
}
