/** Sets of characters, as patterns name them: `a`, `[a-z]`, `\d`. */

/** The first and the last UTF-16 unit of a range. */
export type CharRange = readonly [from: number, to: number];

const TABLE_UNITS = 256;
const LAST_UNIT = 0xffff;

/** Ranges of the escapes that stand for several characters. */
const ESCAPED: Readonly<Record<string, readonly CharRange[]>> = {
  d: [[48, 57]],
  w: [
    [48, 57],
    [65, 90],
    [95, 95],
    [97, 122],
  ],
  s: [
    [9, 13],
    [32, 32],
    [0xa0, 0xa0],
    [0x1680, 0x1680],
    [0x2000, 0x200a],
    [0x2028, 0x2029],
    [0x202f, 0x202f],
    [0x205f, 0x205f],
    [0x3000, 0x3000],
    [0xfeff, 0xfeff],
  ],
};

/** The ranges of `\d`, `\W` and the like; undefined for another letter. */
export function escapedRanges(letter: string): readonly CharRange[] | undefined {
  const ranges = ESCAPED[letter.toLowerCase()];
  return ranges === undefined || letter === letter.toLowerCase() ? ranges : inverted(ranges);
}

/** All units that are in none of the ranges. */
export function inverted(ranges: readonly CharRange[]): readonly CharRange[] {
  const found: CharRange[] = [];
  let next = 0;
  for (const [from, to] of ranges.toSorted(([a], [b]) => a - b)) {
    if (from > next) found.push([next, from - 1]);
    next = Math.max(next, to + 1);
  }
  if (next <= LAST_UNIT) found.push([next, LAST_UNIT]);
  return found;
}

/** A set that is asked once for every character of a text. */
export class CharSet {
  readonly #table = new Uint8Array(TABLE_UNITS);
  readonly #others: readonly CharRange[];

  constructor(ranges: readonly CharRange[], isCaseIgnored: boolean) {
    const all = isCaseIgnored ? ranges.flatMap(bothCases) : ranges;
    for (const [from, to] of all)
      for (let unit = from; unit <= Math.min(to, TABLE_UNITS - 1); unit++) this.#table[unit] = 1;
    this.#others = all.filter(([, to]) => to >= TABLE_UNITS);
  }

  has(unit: number): boolean {
    if (unit < TABLE_UNITS) return this.#table[unit] === 1;
    return this.#others.some(([from, to]) => from <= unit && unit <= to);
  }
}

/** The range and its letters of A to Z in the other case. */
function bothCases([from, to]: CharRange): CharRange[] {
  const found: CharRange[] = [[from, to]];
  for (const [first, last, shift] of [
    [65, 90, 32],
    [97, 122, -32],
  ] as const) {
    const low = Math.max(from, first);
    const high = Math.min(to, last);
    if (low <= high) found.push([low + shift, high + shift]);
  }
  return found;
}
