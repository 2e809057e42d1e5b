import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DecimalScanner } from '../../../src/codecs/csv/decimal.ts';
import { runs } from '../../support/property.ts';

const scanner = new DecimalScanner();

function scan(text: string): [value: number, end: number] {
  const bytes = new TextEncoder().encode(`x${text}`);
  const value = scanner.scan(bytes, 1, bytes.length);
  return [value, scanner.end < 0 ? -1 : scanner.end - 1];
}

describe('the decimal scanner', () => {
  test('reads every double as Number does, as programs write it', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        for (const text of [
          String(value),
          value.toExponential(16),
          value.toPrecision(17),
          value.toFixed(6),
        ]) {
          if (text.includes('I')) continue;
          expect(scan(text)).toEqual([Number(text), text.length]);
        }
      }),
      runs(3000),
    );
  });

  test('reads digits around the limits of its ways as Number does', () => {
    const digits = fc.stringMatching(/^[0-9]{0,22}$/);
    fc.assert(
      fc.property(
        fc.constantFrom('', '-', '+'),
        digits,
        digits,
        fc.option(fc.integer({ min: -330, max: 320 }), { nil: null, freq: 2 }),
        (sign, whole, fraction, exponent) => {
          const text = `${sign}${whole}.${fraction}${exponent === null ? '' : `e${exponent}`}`;
          if (whole === '' && fraction === '') return;
          expect(scan(text)).toEqual([Number(text), text.length]);
        },
      ),
      runs(5000),
    );
  });

  test('rounds as Number does next to the middle between two doubles', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 2n ** 53n, max: 2n ** 62n }),
        fc.integer({ min: 0, max: 22 }),
        fc.integer({ min: -1, max: 1 }),
        (mantissa, shift, nudge) => {
          // The middle between two neighbours of 54 bits and more, and what is one unit of the last digit beside it.
          const spacing = 2n ** BigInt(mantissa.toString(2).length - 53);
          const middle = (mantissa / spacing) * spacing + spacing / 2n + BigInt(nudge);
          const text = `${middle}e-${shift}`;
          expect(scan(text)).toEqual([Number(text), text.length]);
        },
      ),
      runs(5000),
    );
  });

  test('stops where the number ends, and says where there is none', () => {
    expect(scan('12,5')).toEqual([12, 2]);
    expect(scan('1.5.2')).toEqual([1.5, 3]);
    expect(scan('-0')).toEqual([-0, 2]);
    expect(scan('9223372036854775807')).toEqual([2 ** 63, 19]);
    expect(scan('1e99999999999999999999')).toEqual([Infinity, 22]);
    for (const text of ['', '-', '.', 'e5', 'nan', '1e', '1e+', '-.e1'])
      expect(scan(text)).toEqual([Number.NaN, -1]);
  });
});
