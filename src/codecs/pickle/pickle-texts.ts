/** Numbers and texts as protocol 0 of pickles writes them. */
import { damagedPickle } from './pickle-value.ts';

/** `00` and `01` are booleans in protocol 0. */
export function intOf(line: string): number | boolean {
  if (line === '00' || line === '01') return line === '01';
  return numberOf(line);
}

export function numberOf(line: string): number {
  const text = line.trim();
  if (/^[-+]?(?:nan|inf)$/i.test(text))
    return /nan/i.test(text) ? Number.NaN : text.startsWith('-') ? -Infinity : Infinity;
  const value = text.length > 2000 || text === '' ? Number.NaN : Number(text);
  if (Number.isNaN(value)) throw damagedPickle('a number in it is none');
  return value;
}

export function intIndex(line: string): number {
  const index = Number(line);
  if (!Number.isSafeInteger(index) || index < 0)
    throw damagedPickle('an index of its memo is none');
  return index;
}

/** A text of Python 2 between its quotes. */
export function quotedText(line: string): string {
  const quote = line.charAt(0);
  if ((quote !== "'" && quote !== '"') || line.length < 2 || !line.endsWith(quote))
    throw damagedPickle('a text in it has no quotes');
  return line
    .slice(1, -1)
    .replace(/\\(?:x([\da-f]{2})|(.))/gi, (_, hex: string | undefined, other: string) =>
      hex === undefined ? (ESCAPES[other] ?? other) : String.fromCharCode(Number.parseInt(hex, 16)),
    );
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '0': '\0' };

export function unescaped(line: string): string {
  return line.replace(/\\u([\da-f]{4})|\\U([\da-f]{8})/gi, (_, short?: string, long?: string) => {
    const code = Number.parseInt(short ?? long ?? '0', 16);
    return code > 0x10ffff ? '\ufffd' : String.fromCodePoint(code);
  });
}
