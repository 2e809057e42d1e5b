/** Damage as disks, networks and people do it, for property-based tests of readers. */
import fc from 'fast-check';

/** One change of a file. */
export type Damage = {
  readonly kind: 'flip' | 'cut' | 'insert' | 'twice';
  readonly at: number;
  readonly length: number;
  readonly byte: number;
};

/** A few changes. */
export const damages: fc.Arbitrary<Damage[]> = fc.array(
  fc.record({
    kind: fc.constantFrom('flip', 'cut', 'insert', 'twice'),
    at: fc.nat(1_000_000),
    length: fc.integer({ min: 1, max: 30 }),
    byte: fc.nat(255),
  }),
  { minLength: 1, maxLength: 4 },
);

/** The bytes with the changes made one after the other. */
export function damaged(
  bytes: Uint8Array<ArrayBuffer>,
  changes: readonly Damage[],
): Uint8Array<ArrayBuffer> {
  let result = bytes;
  for (const { kind, at, length, byte } of changes) {
    const place = at % Math.max(1, result.length);
    const before = result.subarray(0, place);
    const rest = result.subarray(place);
    if (kind === 'flip') result = joined(before, Uint8Array.of(byte), rest.subarray(1));
    else if (kind === 'cut') result = joined(before, rest.subarray(length));
    else if (kind === 'insert') result = joined(before, new Uint8Array(length).fill(byte), rest);
    else result = joined(before, rest.subarray(0, length), rest);
  }
  return result;
}

function joined(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
