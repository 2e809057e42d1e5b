/**
 * User keys: `qk_`, 12 characters that name the key, 43 that are the secret, 6 that tell a typing error from a wrong key.
 * All are letters and digits, so that a double click selects the whole key and no shell or URL changes it.
 */
import { crc32 } from '../../base/crc32.ts';
import { toHex } from '../../base/hex.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const PREFIX = 'qk_';
const NAME_CHARS = 12;
/** 43 digits to base 62 hold 256 bits. */
const SECRET_CHARS = 43;
const CHECK_CHARS = 6;
/** The largest multiple of 62 that a byte can reach: bytes from here on would favour the first digits. */
const FAIR_BYTES = 248;

const KEY = new RegExp(`^${PREFIX}[0-9A-Za-z]{${NAME_CHARS + SECRET_CHARS + CHECK_CHARS}}$`);
const KEY_ID = new RegExp(`^${PREFIX}[0-9A-Za-z]{${NAME_CHARS}}$`);
/** A key, or enough of one to be worth hiding: anything that goes on after the part that names it. */
const SECRET_TEXT = new RegExp(`(${PREFIX}[0-9A-Za-z]{${NAME_CHARS}})[0-9A-Za-z]+`, 'g');

/** A key as it is made, and what may be known of it later. */
export type NewUserKey = {
  /** The whole key. It is shown once and stored nowhere. */
  readonly key: string;
  /** The part that names it: `qk_` and 12 characters. No secret; lists and logs show it. */
  readonly keyId: string;
};

/** A key of 256 random bits. */
export function createUserKey(): NewUserKey {
  const keyId = PREFIX + randomDigits(NAME_CHARS);
  const body = keyId + randomDigits(SECRET_CHARS);
  return { key: body + checkDigits(body), keyId };
}

/** The name of a key that was given, or undefined when the text is no key or has a typing error. */
export function keyIdOf(key: string): string | undefined {
  if (!KEY.test(key)) return undefined;
  const body = key.slice(0, -CHECK_CHARS);
  return checkDigits(body) === key.slice(-CHECK_CHARS)
    ? key.slice(0, PREFIX.length + NAME_CHARS)
    : undefined;
}

/** Whether a text has the form of a key's name. */
export function isKeyId(text: string): boolean {
  return KEY_ID.test(text);
}

/**
 * What is stored of a key: SHA-256 of its text, as lowercase hex digits. A slow hash with a salt, as passwords need it,
 * would add nothing: nobody can try 2^256 secrets, and a service that computes a slow hash for every request is easy to
 * keep busy.
 */
export async function hashUserKey(key: string): Promise<string> {
  return toHex(
    new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(key))),
  );
}

/** The text with every key in it cut down to its name. */
export function hideKeys(text: string): string {
  return text.includes(PREFIX) ? text.replace(SECRET_TEXT, '$1...') : text;
}

function randomDigits(count: number): string {
  let digits = '';
  while (digits.length < count) {
    for (const byte of crypto.getRandomValues(new Uint8Array(count)))
      if (byte < FAIR_BYTES && digits.length < count)
        digits += ALPHABET.charAt(byte % ALPHABET.length);
  }
  return digits;
}

function checkDigits(body: string): string {
  let rest = crc32(new TextEncoder().encode(body));
  let digits = '';
  for (let i = 0; i < CHECK_CHARS; i++) {
    digits = ALPHABET.charAt(rest % ALPHABET.length) + digits;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return digits;
}
