/** Names that lead elsewhere, or that some file system or terminal takes for something else. */
import fc from 'fast-check';

/** None of these is a key: no writer of ours makes one. */
export const HOSTILE_NAMES: readonly string[] = [
  '../../../../tmp/x',
  '../x',
  '..',
  '.',
  '',
  '/',
  '/etc/passwd',
  'a/../../b',
  'a/./b',
  'a//b',
  'a/',
  '..\\..\\x',
  'C:\\x',
  'C:x',
  '\\\\server\\share',
  'a\0b',
  'a\nb',
  '\u001b[2Jx',
  '\u202egnp.exe',
  '.hidden',
  '-rf',
  '~/x',
  'file:///etc/passwd',
  '%2e%2e/x',
  'con:',
  'x '.repeat(300),
];

const part = fc.constantFrom(
  '..',
  '.',
  '',
  'a',
  'B',
  'con',
  'nul.txt',
  'x.',
  ' ',
  '\\',
  'C:',
  '\0',
  'é',
);

/** Hostile names, those above and others that are put together of such parts. */
export const anyHostileName: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...HOSTILE_NAMES),
  fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => parts.join('/')),
  fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => parts.join('\\')),
);
