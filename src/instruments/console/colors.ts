/**
 * Takes the escape sequences out of printed text (ECMA-48): colours become spans, all others go. What is left has no ESC.
 */
import { TERMINAL_COLORS, type ConsoleSpan } from './console-line.ts';

/**
 * CSI, OSC and the like up to their ends, two-character sequences, C1 controls as one character, and what is left of a sequence
 * that was cut off.
 */
const SEQUENCE =
  // oxlint-disable-next-line no-control-regex -- the rule is about control characters
  /(?:\u001b\[|\u009b)([\d;:<=>?]*)[ -/]*([@-~])|(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)?|\u001b[ -/]*[0-~]?|[\u0080-\u009f]/g;

// oxlint-disable-next-line no-control-regex -- the rule is about control characters
const HAS_SEQUENCE = /[\u001b\u0080-\u009f]/;

/** More spans than a person sees on a line: the rest of it has no colours. */
const MAX_SPANS = 256;

type Style = { -readonly [K in Exclude<keyof ConsoleSpan, 'start' | 'end'>]: ConsoleSpan[K] };

const PLAIN: Style = {
  color: null,
  background: null,
  isBold: false,
  isDim: false,
  isItalic: false,
  isUnderlined: false,
};

/** Text without escape sequences, and how its spans were coloured. */
export function takeColors(line: string): {
  readonly text: string;
  readonly spans: readonly ConsoleSpan[];
} {
  if (!HAS_SEQUENCE.test(line)) return { text: line, spans: [] };
  const spans: ConsoleSpan[] = [];
  let text = '';
  let style = PLAIN;
  let from = 0;
  const add = (end: number): void => {
    const start = text.length;
    text += line.slice(from, end);
    if (text.length > start && !isPlain(style) && spans.length < MAX_SPANS)
      spans.push({ start, end: text.length, ...style });
  };
  for (const found of line.matchAll(SEQUENCE)) {
    add(found.index);
    from = found.index + found[0].length;
    if (found[2] === 'm') style = styled(style, found[1] ?? '');
  }
  add(line.length);
  return { text, spans };
}

function isPlain(style: Style): boolean {
  const { background, color, isBold, isDim, isItalic, isUnderlined } = style;
  return color === null && background === null && !isBold && !isDim && !isItalic && !isUnderlined;
}

/** A style after an SGR sequence. */
function styled(before: Style, parameters: string): Style {
  if (/[<=>?]/.test(parameters)) return before;
  const codes = parameters.split(/[;:]/).map((code) => (code === '' ? 0 : Number(code)));
  const style = { ...before };
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] ?? 0;
    if (code === 38 || code === 48) {
      const [color, used] = extendedColor(codes, i + 1);
      i += used;
      style[code === 38 ? 'color' : 'background'] = color;
    } else Object.assign(style, SIMPLE.get(code));
  }
  return style;
}

const SIMPLE: ReadonlyMap<number, Partial<Style>> = new Map<number, Partial<Style>>([
  [0, PLAIN],
  [1, { isBold: true }],
  [2, { isDim: true }],
  [3, { isItalic: true }],
  [4, { isUnderlined: true }],
  [22, { isBold: false, isDim: false }],
  [23, { isItalic: false }],
  [24, { isUnderlined: false }],
  [39, { color: null }],
  [49, { background: null }],
  ...TERMINAL_COLORS.flatMap((name, i): [number, Partial<Style>][] => [
    [30 + i, { color: name }],
    [40 + i, { background: name }],
    [90 + i, { color: `bright-${name}` }],
    [100 + i, { background: `bright-${name}` }],
  ]),
]);

/** The colour of `38;5;n` or `38;2;r;g;b`, and how many codes it took. */
function extendedColor(codes: readonly number[], at: number): [string | null, number] {
  if (codes[at] === 5) return [indexedColor(codes[at + 1] ?? 0), 2];
  if (codes[at] === 2) return [hexColor(codes.slice(at + 1, at + 4)), 4];
  return [null, 1];
}

/** The palette of 256: 16 names, a cube of 6 x 6 x 6, 24 greys. */
function indexedColor(index: number): string | null {
  if (index < 8) return TERMINAL_COLORS[index] ?? null;
  if (index < 16) return `bright-${TERMINAL_COLORS[index - 8]}`;
  if (index > 255) return null;
  if (index >= 232) {
    const grey = 8 + 10 * (index - 232);
    return hexColor([grey, grey, grey]);
  }
  const level = (cell: number): number => (cell === 0 ? 0 : 55 + 40 * cell);
  const cube = index - 16;
  return hexColor([level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6)]);
}

function hexColor(parts: readonly number[]): string | null {
  if (parts.length < 3 || parts.some((part) => !(part >= 0 && part <= 255))) return null;
  return `#${parts.map((part) => Math.trunc(part).toString(16).padStart(2, '0')).join('')}`;
}
