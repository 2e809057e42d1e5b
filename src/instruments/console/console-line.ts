/** A line of a console, and how lines are written down: a JSON array a line, gzipped. */
import { SessionStoreError } from '../../base/errors.ts';

/** Where a line was printed: by `console`, where nothing says more, or on a stream of the process. */
export const CONSOLE_SOURCES = ['console', 'stdout', 'stderr'] as const;
/** One of {@link CONSOLE_SOURCES}. */
export type ConsoleSource = (typeof CONSOLE_SOURCES)[number];

/** The method of `console` that printed a line. */
export const CONSOLE_LEVELS = ['debug', 'log', 'info', 'warn', 'error'] as const;
/** One of {@link CONSOLE_LEVELS}. */
export type ConsoleLevel = (typeof CONSOLE_LEVELS)[number];

/** How a span of a line was printed. Positions count UTF-16 units; `start` is inclusive, `end` exclusive. */
export type ConsoleSpan = {
  readonly start: number;
  readonly end: number;
  /** `red`, `bright-red`, ... or `#rrggbb`; null for the terminal's own. */
  readonly color: string | null;
  /** As `color`. */
  readonly background: string | null;
  readonly isBold: boolean;
  readonly isDim: boolean;
  readonly isItalic: boolean;
  readonly isUnderlined: boolean;
};

/** A line that a program printed. */
export type ConsoleLine = {
  /** When it was complete, in UTC epoch milliseconds. */
  readonly timeMs: number;
  readonly source: ConsoleSource;
  /** Null for what was written to a stream without `console`. */
  readonly level: ConsoleLevel | null;
  /** Without colours and line end. It may have control characters: show them escaped. */
  readonly text: string;
  /** Colours and the like, in order, without overlaps. */
  readonly spans: readonly ConsoleSpan[];
};

/** Lines are encoded so many characters at a time. */
const ENCODED_CHARS = 1 << 18;
/** Inflated bytes of a chunk beyond which it is not one of ours. */
const MAX_CHUNK_BYTES = 96 << 20;

/** The named colours of terminals, in the order of their SGR numbers. */
export const TERMINAL_COLORS = [
  'black',
  'red',
  'green',
  'yellow',
  'blue',
  'magenta',
  'cyan',
  'white',
] as const;

const COLORS = new Set<unknown>(TERMINAL_COLORS.flatMap((name) => [name, `bright-${name}`]));

/** Whether a value is a colour of a {@link ConsoleSpan}. */
function isColor(value: unknown): value is string | null {
  return (
    value === null ||
    COLORS.has(value) ||
    (typeof value === 'string' && /^#[\da-f]{6}$/.test(value))
  );
}

/** Lines as gzipped bytes. */
export function packLines(lines: readonly ConsoleLine[]): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  let at = 0;
  const plain = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      let text = '';
      while (at < lines.length && text.length < ENCODED_CHARS) text += lineText(lines[at++]);
      if (text !== '') controller.enqueue(encoder.encode(text));
      if (at >= lines.length) controller.close();
    },
  });
  return plain.pipeThrough(new CompressionStream('gzip'));
}

/** Node's `zlib`, for the last moment of a process. */
type Zlib = { readonly gzipSync: (text: string) => Uint8Array<ArrayBuffer> };

type NodeProcess = { readonly getBuiltinModule?: (name: string) => unknown };

/** The same before it returns; undefined where the platform only compresses in turns of its event loop, as pages do. */
export function packLinesNow(lines: readonly ConsoleLine[]): Uint8Array<ArrayBuffer> | undefined {
  const { process } = globalThis as { readonly process?: NodeProcess };
  const zlib = process?.getBuiltinModule?.('node:zlib') as Zlib | undefined;
  return zlib?.gzipSync(lines.map(lineText).join(''));
}

function lineText(line: ConsoleLine | undefined): string {
  if (line === undefined) return '';
  const { level, source, spans, text, timeMs } = line;
  const head = [
    timeMs,
    CONSOLE_SOURCES.indexOf(source),
    level === null ? null : CONSOLE_LEVELS.indexOf(level),
    text,
  ];
  return `${JSON.stringify(spans.length === 0 ? head : [...head, spans.map(spanCells)])}\n`;
}

function spanCells(span: ConsoleSpan): (number | string | null)[] {
  const { background, color, end, isBold, isDim, isItalic, isUnderlined, start } = span;
  const flags =
    Number(isBold) + 2 * Number(isDim) + 4 * Number(isItalic) + 8 * Number(isUnderlined);
  return [start, end, flags, color, background];
}

/** The lines of a chunk. @throws {SessionStoreError} `corrupt` when it is not one */
export async function unpackLines(bytes: Uint8Array<ArrayBuffer>): Promise<ConsoleLine[]> {
  const lines: ConsoleLine[] = [];
  for (const text of (await inflate(bytes)).split('\n'))
    if (text !== '') lines.push(parseLine(text));
  return lines;
}

async function inflate(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const reader = new Blob([bytes])
    .stream()
    .pipeThrough(new DecompressionStream('gzip'))
    .getReader();
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let text = '';
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return text + decoder.decode();
      size += value.byteLength;
      if (size > MAX_CHUNK_BYTES) throw new Error(`it is longer than ${MAX_CHUNK_BYTES} bytes`);
      text += decoder.decode(value, { stream: true });
    }
  } catch (cause) {
    await reader.cancel().catch(() => undefined);
    throw damaged(cause);
  }
}

function parseLine(text: string): ConsoleLine {
  let cells: unknown;
  try {
    cells = JSON.parse(text);
  } catch (cause) {
    throw damaged(cause);
  }
  if (!Array.isArray(cells)) throw damaged();
  const [timeMs, source, level, line, spans = []]: unknown[] = cells;
  const known = CONSOLE_SOURCES[Number(source)];
  const given = level === null ? null : CONSOLE_LEVELS[Number(level)];
  if (typeof timeMs !== 'number' || typeof line !== 'string' || known === undefined)
    throw damaged();
  if (given === undefined || !Array.isArray(spans)) throw damaged();
  const parsed = spans.map((span: unknown) => parseSpan(span, line.length));
  return { timeMs, source: known, level: given, text: line, spans: parsed };
}

function parseSpan(cells: unknown, length: number): ConsoleSpan {
  if (!Array.isArray(cells)) throw damaged();
  const [start, end, flags, color, background]: unknown[] = cells;
  if (!isPosition(start, length) || !isPosition(end, length) || !isPosition(flags, 15))
    throw damaged();
  if (!isColor(color) || !isColor(background)) throw damaged();
  return {
    start,
    end,
    color,
    background,
    isBold: (flags & 1) > 0,
    isDim: (flags & 2) > 0,
    isItalic: (flags & 4) > 0,
    isUnderlined: (flags & 8) > 0,
  };
}

function isPosition(value: unknown, most: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most;
}

function damaged(cause?: unknown): SessionStoreError {
  return new SessionStoreError('corrupt', 'A chunk of the console is damaged.', { cause });
}
