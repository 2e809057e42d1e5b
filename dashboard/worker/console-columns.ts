/** Lines of a console as columns: a hundred thousand of them go from the worker to the page without an object each. */
import {
  CONSOLE_LEVELS,
  CONSOLE_SOURCES,
  type ConsoleLine,
  type ConsoleRead,
  type ConsoleSpan,
} from 'quark-sdk/console';

/** Numbers that a span has: start, end, form, colour, background. */
const SPAN_CELLS = 5;

/** Lines of a console. */
export type ConsoleColumns = {
  /** All lines, each with a line end behind it. */
  readonly text: string;
  /** Where the line end of each line is in `text`. */
  readonly ends: Uint32Array;
  readonly timesMs: Float64Array;
  /** One more than the position in `CONSOLE_LEVELS`; 0 for none. */
  readonly levels: Uint8Array;
  /** Position in `CONSOLE_SOURCES`. */
  readonly sources: Uint8Array;
  /** The line of each span, in order. */
  readonly spanLines: Uint32Array;
  /** Five numbers a span: start, end, form (1 bold, 2 dim, 4 italic, 8 underlined), colour and background as positions in `colors`. */
  readonly spanCells: Uint32Array;
  /** The first is null, the terminal's own. */
  readonly colors: readonly (string | null)[];
};

/** What the page gets of a console. */
export type ConsoleAnswer = Omit<ConsoleRead, 'lines'> & { readonly columns: ConsoleColumns };

/** Lines as columns. */
export function columnsOfLines(lines: readonly ConsoleLine[]): ConsoleColumns {
  const count = lines.length;
  const ends = new Uint32Array(count);
  const timesMs = new Float64Array(count);
  const levels = new Uint8Array(count);
  const sources = new Uint8Array(count);
  const spanLines: number[] = [];
  const spanCells: number[] = [];
  const colors: (string | null)[] = [null];
  const known = new Map<string | null, number>([[null, 0]]);
  const colorIndex = (color: string | null): number => {
    const at = known.get(color) ?? colors.push(color) - 1;
    known.set(color, at);
    return at;
  };
  const texts: string[] = [];
  let end = 0;
  for (const [line, { level, source, spans, text, timeMs }] of lines.entries()) {
    // A line end inside of a line would be another line.
    texts.push(text.includes('\n') ? text.replaceAll('\n', ' ') : text, '\n');
    end += text.length;
    ends[line] = end;
    end += 1;
    timesMs[line] = timeMs;
    levels[line] = level === null ? 0 : CONSOLE_LEVELS.indexOf(level) + 1;
    sources[line] = CONSOLE_SOURCES.indexOf(source);
    for (const span of spans) {
      const { isBold, isDim, isItalic, isUnderlined } = span;
      const form =
        Number(isBold) + 2 * Number(isDim) + 4 * Number(isItalic) + 8 * Number(isUnderlined);
      spanLines.push(line);
      spanCells.push(
        span.start,
        span.end,
        form,
        colorIndex(span.color),
        colorIndex(span.background),
      );
    }
  }
  return {
    text: texts.join(''),
    ends,
    timesMs,
    levels,
    sources,
    spanLines: Uint32Array.from(spanLines),
    spanCells: Uint32Array.from(spanCells),
    colors,
  };
}

/** What of columns can be handed over without a copy. */
export function transferOf(columns: ConsoleColumns): ArrayBufferLike[] {
  const { ends, levels, sources, spanCells, spanLines, timesMs } = columns;
  return [ends, timesMs, levels, sources, spanLines, spanCells].map(({ buffer }) => buffer);
}

/** The text of a line. */
export function lineText({ ends, text }: ConsoleColumns, line: number): string {
  return text.slice(line === 0 ? 0 : (ends[line - 1] ?? -1) + 1, ends[line]);
}

/** The spans of a line, in order. */
export function lineSpans(columns: ConsoleColumns, line: number): readonly ConsoleSpan[] {
  const { colors, spanCells, spanLines } = columns;
  const spans: ConsoleSpan[] = [];
  for (let at = lowerBound(spanLines, line); spanLines[at] === line; at++) {
    const cell = (which: number): number => spanCells[at * SPAN_CELLS + which] ?? 0;
    const form = cell(2);
    spans.push({
      start: cell(0),
      end: cell(1),
      color: colors[cell(3)] ?? null,
      background: colors[cell(4)] ?? null,
      isBold: (form & 1) > 0,
      isDim: (form & 2) > 0,
      isItalic: (form & 4) > 0,
      isUnderlined: (form & 8) > 0,
    });
  }
  return spans;
}

/** The lines before the instant of the first later one, with those later ones behind them; the last `limit` of all. */
export function withLaterLines(
  known: ConsoleColumns,
  later: ConsoleColumns,
  fromMs: number,
  limit: number,
): ConsoleColumns {
  const joined = joinedColumns(sliced(known, 0, lowerBound(known.timesMs, fromMs)), later);
  const count = joined.ends.length;
  return count <= limit ? joined : sliced(joined, count - limit, count);
}

function sliced(columns: ConsoleColumns, from: number, to: number): ConsoleColumns {
  if (from === 0 && to === columns.ends.length) return columns;
  const { colors, ends, levels, sources, spanCells, spanLines, text, timesMs } = columns;
  const start = from === 0 ? 0 : (ends[from - 1] ?? -1) + 1;
  const end = to === 0 ? 0 : (ends[to - 1] ?? -1) + 1;
  const [firstSpan, endSpan] = [lowerBound(spanLines, from), lowerBound(spanLines, to)];
  return {
    text: text.slice(start, end),
    ends: ends.slice(from, to).map((one) => one - start),
    timesMs: timesMs.slice(from, to),
    levels: levels.slice(from, to),
    sources: sources.slice(from, to),
    spanLines: spanLines.slice(firstSpan, endSpan).map((line) => line - from),
    spanCells: spanCells.slice(firstSpan * SPAN_CELLS, endSpan * SPAN_CELLS),
    colors,
  };
}

function joinedColumns(a: ConsoleColumns, b: ConsoleColumns): ConsoleColumns {
  const colors = [...a.colors];
  const moved = b.colors.map((color) => {
    const at = colors.indexOf(color);
    return at < 0 ? colors.push(color) - 1 : at;
  });
  const cells = b.spanCells.map((cell, at) => (at % SPAN_CELLS < 3 ? cell : (moved[cell] ?? 0)));
  return {
    text: a.text + b.text,
    ends: joined(
      a.ends,
      b.ends.map((end) => end + a.text.length),
    ),
    timesMs: joined(a.timesMs, b.timesMs),
    levels: joined(a.levels, b.levels),
    sources: joined(a.sources, b.sources),
    spanLines: joined(
      a.spanLines,
      b.spanLines.map((line) => line + a.ends.length),
    ),
    spanCells: joined(a.spanCells, cells),
    colors,
  };
}

type Numbers = Uint8Array | Uint32Array | Float64Array;

function joined<T extends Numbers>(a: T, b: T): T;
function joined(a: Numbers, b: Numbers): Numbers {
  const Kind =
    a instanceof Float64Array ? Float64Array : a instanceof Uint32Array ? Uint32Array : Uint8Array;
  const both = new Kind(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

/** The position of the first that is not below `value`, in a list that rises. */
function lowerBound(sorted: Numbers, value: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? Infinity) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
