// Starts a line with each statement and each member of a class in chunks without white space. A trace of a call names a function, which
// minifying leaves, and a line; and where an error ends a process, Node prints the line that threw it, which would be the whole file.
import { parseSync, type Plugin } from 'vite';

/** Shorter chunks of code do not get a line of their own. */
const LEAST_CHARS = 24;

/** Cuts the chunks of a build into lines, and changes their maps with them. */
export function statementLines(): Plugin {
  return {
    name: 'quark:statement-lines',
    enforce: 'post',
    generateBundle(_options, bundle) {
      for (const file of Object.values(bundle)) {
        if (file.type !== 'chunk' || !file.fileName.endsWith('.js')) continue;
        const cuts = cutsOf(file.fileName, file.code);
        const map = bundle[`${file.fileName}.map`];
        if (map?.type === 'asset') map.source = withCutMap(String(map.source), file.code, cuts);
        file.code = withCuts(file.code, cuts);
      }
    },
  };
}

/** Where statements and members begin, in order of position. */
export function cutsOf(fileName: string, code: string): readonly number[] {
  const { program, errors } = parseSync(fileName, code);
  const [error] = errors;
  if (error !== undefined) throw new Error(`${fileName} does not parse: ${error.message}`);
  const found = new Set<number>();
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit);
    if (typeof value !== 'object' || value === null) return;
    const body: unknown = Reflect.get(value, 'body');
    if (Array.isArray(body))
      for (const statement of body as readonly unknown[])
        found.add(Number(Reflect.get(Object(statement), 'start')));
    Object.values(value).forEach(visit);
  };
  visit(program);
  let last = 0;
  return [...found]
    .toSorted((a, b) => a - b)
    .filter((start) => {
      // A position in a line of its own, or behind few characters, needs no other line.
      if (start - last < LEAST_CHARS || code[start - 1] === '\n') return false;
      last = start;
      return true;
    });
}

function withCuts(code: string, cuts: readonly number[]): string {
  return [0, ...cuts].map((start, i) => code.slice(start, cuts[i])).join('\n');
}

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** A source map of the code with line breaks at the cuts. Of a segment only the column counts from the start of its line. */
function withCutMap(text: string, code: string, cuts: readonly number[]): string {
  const map = JSON.parse(text) as { mappings: string };
  const lines = map.mappings.split(';');
  let [offset, next] = [0, 0];
  map.mappings = code
    .split('\n')
    .map((line, i) => {
      const columns: number[] = [];
      for (; (cuts[next] ?? Infinity) <= offset + line.length; next++)
        columns.push((cuts[next] ?? 0) - offset);
      offset += line.length + 1;
      return cutLine(lines[i] ?? '', columns);
    })
    .join(';');
  return JSON.stringify(map);
}

function cutLine(line: string, cuts: readonly number[]): string {
  let [column, begun, next] = [0, 0, 0];
  const lines: string[][] = [[]];
  for (const segment of line.split(',').filter((some) => some !== '')) {
    const [delta, rest] = firstNumber(segment);
    const from = column;
    column += delta;
    const isCut = (cuts[next] ?? Infinity) <= column;
    for (; (cuts[next] ?? Infinity) <= column; next++) {
      begun = cuts[next] ?? 0;
      lines.push([]);
    }
    lines.at(-1)?.push(numberText(isCut ? column - begun : column - from) + rest);
  }
  for (; next < cuts.length; next++) lines.push([]);
  return lines.map((segments) => segments.join(',')).join(';');
}

/** The first number of a segment, in base 64 with a sign in its lowest bit, and what follows it. */
function firstNumber(segment: string): readonly [number, string] {
  let [value, shift, end] = [0, 0, 0];
  for (let more = true; more; end++, shift += 5) {
    const digit = DIGITS.indexOf(segment[end] ?? 'A');
    value += (digit & 31) << shift;
    more = digit >= 32;
  }
  return [value & 1 ? -(value >> 1) : value >> 1, segment.slice(end)];
}

function numberText(value: number): string {
  let text = '';
  let rest = value < 0 ? (-value << 1) | 1 : value << 1;
  do {
    const digit = rest & 31;
    rest >>= 5;
    text += DIGITS[rest > 0 ? digit | 32 : digit];
  } while (rest > 0);
  return text;
}
