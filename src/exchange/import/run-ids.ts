/** The ids of imported runs: the same files, read in the same way, make the same run. */
import { sha256 } from '@noble/hashes/sha2.js';
import { toHex } from '../../base/hex.ts';
import type { ImportOptions } from './import-runs.ts';

/** The options that change what is read, as text; empty for none. */
export function readingOf({ columns, keyRules, pattern, patterns }: ImportOptions): string {
  const given = [columns, patterns, keyRules, pattern];
  if (given.every((option) => option === undefined)) return '';
  const plain = (_: string, value: unknown): unknown =>
    value instanceof RegExp ? String(value) : value;
  return `\n${JSON.stringify([columns ?? null, patterns ?? null, keyRules ?? null, ...(pattern === undefined ? [] : [pattern])], plain)}`;
}

/** The id of a run that is made of this text. */
export function idOf(text: string): string {
  return `run_imp${toHex(sha256(new TextEncoder().encode(text)).subarray(0, 12))}`;
}
