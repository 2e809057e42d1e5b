/** Identifiers: time-ordered, unique across machines, safe in paths, URLs and SQL. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_DIGITS = 9;
const RANDOM_DIGITS = 13;

/**
 * A new identifier: prefix, 45 bits of time in milliseconds, 65 random bits, in Crockford base 32. Sorts by creation
 * time.
 */
export function createId(prefix: string, nowMs: number): string {
  let time = '';
  let rest = Math.max(0, Math.floor(nowMs));
  for (let i = 0; i < TIME_DIGITS; i++) {
    time = ALPHABET.charAt(rest % 32) + time;
    rest = Math.floor(rest / 32);
  }
  let random = '';
  for (const byte of crypto.getRandomValues(new Uint8Array(RANDOM_DIGITS)))
    random += ALPHABET.charAt(byte & 31);
  return `${prefix}_${time}${random}`;
}

/** When an identifier of {@link createId} was made, in UTC epoch milliseconds; undefined where it is none. */
export function timeOfId(id: string): number | undefined {
  const digits = id.slice(id.lastIndexOf('_') + 1);
  if (digits.length !== TIME_DIGITS + RANDOM_DIGITS) return undefined;
  let time = 0;
  for (const digit of digits.slice(0, TIME_DIGITS)) {
    const value = ALPHABET.indexOf(digit);
    if (value < 0) return undefined;
    time = time * 32 + value;
  }
  return time;
}
