import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createUserKey,
  hashUserKey,
  hideKeys,
  isKeyId,
  keyIdOf,
} from '../../../src/service/access/user-key.ts';
import { runs } from '../../support/property.ts';

const LETTERS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

describe('user keys', () => {
  it('are 64 letters and digits, all different, and say their name', () => {
    const made = Array.from({ length: 500 }, createUserKey);
    for (const { key, keyId } of made) {
      expect(key).toMatch(/^qk_[0-9A-Za-z]{61}$/);
      expect(key.startsWith(keyId)).toBe(true);
      expect(isKeyId(keyId)).toBe(true);
      expect(keyIdOf(key)).toBe(keyId);
    }
    expect(new Set(made.map(({ key }) => key)).size).toBe(500);
    expect(new Set(made.map(({ keyId }) => keyId)).size).toBe(500);
  });

  it('use every digit alike', () => {
    const counts = new Map<string, number>();
    const digits = Array.from({ length: 2_000 }, () => createUserKey().key.slice(3, 58)).join('');
    for (const digit of digits) counts.set(digit, (counts.get(digit) ?? 0) + 1);
    const expected = digits.length / LETTERS.length;
    const chiSquare = LETTERS.split('').reduce(
      (sum, digit) => sum + ((counts.get(digit) ?? 0) - expected) ** 2 / expected,
      0,
    );
    // 61 degrees of freedom: 140 is passed by chance once in 10^7 times. Taking bytes modulo 62 gives more than 500.
    expect(chiSquare).toBeLessThan(140);
  });

  it('tell any single typing error, and any two neighbours that changed places', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 3, max: 63 }),
        fc.constantFrom(...LETTERS.split('')),
        (at, letter) => {
          const { key } = createUserKey();
          if (key[at] !== letter)
            expect(keyIdOf(key.slice(0, at) + letter + key.slice(at + 1))).toBeUndefined();
          const [a = '', b = ''] = [key[at], key[at + 1]];
          if (a !== b && b !== '')
            expect(keyIdOf(key.slice(0, at) + b + a + key.slice(at + 2))).toBeUndefined();
        },
      ),
      runs(500),
    );
  });

  it.each(['', 'qk_', 'qk_short', `qk_${'a'.repeat(61)}`, `QK_${'a'.repeat(61)}`, 'qk_a\u0000b'])(
    '%j is none',
    (text) => expect(keyIdOf(text)).toBeUndefined(),
  );

  it('are kept as SHA-256', async () => {
    expect(await hashUserKey('abc')).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    );
  });

  it('are cut down to their name in any text, whole or torn off', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.integer({ min: 16, max: 64 }), (a, b, length) => {
        const { key, keyId } = createUserKey();
        expect(hideKeys(`${a}${key.slice(0, length)} ${b}`)).toBe(`${a}${keyId}... ${b}`);
      }),
      runs(200),
    );
    expect(hideKeys('no key here')).toBe('no key here');
  });
});
