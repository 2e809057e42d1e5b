import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readStyles, withStylesOf } from '../../../dashboard/compare/run-styles.ts';
import { CURVE_STYLES, PALETTES, styleName } from '../../../dashboard/theme/curve-styles.ts';
import { runs } from '../../support/property.ts';

type Color = readonly [number, number, number];

const SURFACES = { light: '#fffefb', dark: '#1a1c1f' } as const;
/** What eyes without one of the three kinds of cones see, in linear RGB (Machado, Oliveira, Fernandes 2009, severity 1). */
const EYES: Readonly<Record<string, readonly Color[]>> = {
  all: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  'no red': [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  'no green': [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  'no blue': [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

function linear(hex: string): Color {
  const channel = (at: number): number => {
    const share = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  };
  return [channel(1), channel(3), channel(5)];
}

const dot = (a: Color, b: Color): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

function seenBy(color: Color, eyes: readonly Color[]): Color {
  const [r = 0, g = 0, b = 0] = eyes.map((row) => Math.max(0, Math.min(1, dot(row, color))));
  return [r, g, b];
}

/** OKLab, in which distances are about those that are seen. */
function oklab(color: Color): Color {
  const cones: Color = [
    Math.cbrt(dot([0.4122214708, 0.5363325363, 0.0514459929], color)),
    Math.cbrt(dot([0.2119034982, 0.6806995451, 0.1073969566], color)),
    Math.cbrt(dot([0.0883024619, 0.2817188376, 0.6299787005], color)),
  ];
  return [
    dot([0.2104542553, 0.793617785, -0.0040720468], cones),
    dot([1.9779984951, -2.428592205, 0.4505937099], cones),
    dot([0.0259040371, 0.7827717662, -0.808675766], cones),
  ];
}

function contrast(a: string, b: string): number {
  const [low = 0, high = 0] = [a, b]
    .map((hex) => dot([0.2126, 0.7152, 0.0722], linear(hex)) + 0.05)
    .toSorted((x, y) => x - y);
  return high / low;
}

describe('the colours of curves', () => {
  it.each(['light', 'dark'] as const)('are told apart by all eyes on a %s page', (theme) => {
    for (const [name, eyes] of Object.entries(EYES)) {
      const seen = PALETTES[theme].map((hex) => oklab(seenBy(linear(hex), eyes)));
      const distances = seen.flatMap((a, at) =>
        seen.slice(0, at).map((b) => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2])),
      );
      expect(Math.min(...distances), name).toBeGreaterThan(name === 'no blue' ? 0.055 : 0.08);
    }
  });

  it.each(['light', 'dark'] as const)('stand out from the surface of a %s page', (theme) => {
    for (const hex of PALETTES[theme])
      expect(contrast(hex, SURFACES[theme]), hex).toBeGreaterThanOrEqual(3);
  });

  it('are two dozen with the dashes, each with a name', () => {
    expect(new Set(CURVE_STYLES.map(styleName)).size).toBe(24);
    expect(styleName({ color: 1, dash: 1 })).toBe('dashed orange');
  });
});

describe('the styles of runs', () => {
  const ids = (count: number, from = 0): string[] =>
    Array.from({ length: count }, (_, at) => `run_${from + at}`);

  it('are different for all runs of a comparison', () => {
    const styles = withStylesOf(new Map(), ids(24));
    expect(new Set([...styles.values()].map(({ index }) => index)).size).toBe(24);
  });

  it('stay with their run in other comparisons', () => {
    const first = withStylesOf(new Map(), ids(12));
    const second = withStylesOf(first, [...ids(3, 40), ...ids(5, 4)]);
    for (const id of ids(12)) expect(second.get(id)).toEqual(first.get(id));
    expect(withStylesOf(second, ids(12))).toBe(second);
  });

  it('that somebody chose give way to none', () => {
    const chosen = new Map([
      ['a', { index: 3, isChosen: false }],
      ['b', { index: 3, isChosen: true }],
    ]);
    const styles = withStylesOf(chosen, ['a', 'b']);
    expect(styles.get('b')).toEqual({ index: 3, isChosen: true });
    expect(styles.get('a')?.index).not.toBe(3);
  });

  it('are told apart whatever was compared before', () => {
    const groups = fc.array(fc.uniqueArray(fc.integer({ min: 0, max: 90 }), { maxLength: 24 }));
    fc.assert(
      fc.property(groups, (comparisons) => {
        let styles = readStyles(undefined);
        for (const group of comparisons) {
          const shown = group.map((at) => `run_${at}`);
          styles = withStylesOf(styles, shown);
          const indices = shown.map((id) => styles.get(id)?.index);
          expect(indices).not.toContain(undefined);
          expect(new Set(indices).size).toBe(shown.length);
        }
      }),
      runs(100),
    );
  });

  it('are read from what was stored, and from nothing else', () => {
    expect(readStyles('[["a",3,true],["b",99,false],[1,2],"x",null]')).toEqual(
      new Map([['a', { index: 3, isChosen: true }]]),
    );
    for (const text of [undefined, '', '{', '{"a":1}', 'null'])
      expect(readStyles(text).size).toBe(0);
  });
});
