/** Parts of a body by `Range` (RFC 9110, section 14): one range of bytes at a time. */
import { QuarkError } from '../base/errors.ts';

/** Bytes of a body; `start` inclusive, `end` exclusive. */
export type ByteRange = { readonly start: number; readonly end: number };

const RANGE = /^bytes *= *(?:(\d{1,16}) *- *(\d{1,16})?|- *(\d{1,16}))$/i;

/**
 * The range that a request asks for; undefined for all of it: where it asks for nothing, for several ranges, in a way
 * that nobody knows, or for a part of another version than this.
 *
 * @throws {QuarkError} `invalid_input` with status 416 when the body has no such bytes
 */
export function requestedRange(
  headers: Headers,
  sizeBytes: number,
  etag: string,
): ByteRange | undefined {
  const given = headers.get('range');
  const match = given === null ? null : RANGE.exec(given.trim());
  if (given === null || match === null) return undefined;
  const condition = headers.get('if-range');
  if (condition !== null && condition.trim() !== etag) return undefined;
  const [, first, last, suffix] = match;
  if (suffix !== undefined) {
    const length = Math.min(Number(suffix), sizeBytes);
    if (length === 0) throw unsatisfiable(given, sizeBytes);
    return { start: sizeBytes - length, end: sizeBytes };
  }
  const start = Number(first);
  // A range that runs backwards is no range.
  if (last !== undefined && Number(last) < start) return undefined;
  if (start >= sizeBytes) throw unsatisfiable(given, sizeBytes);
  return { start, end: last === undefined ? sizeBytes : Math.min(Number(last) + 1, sizeBytes) };
}

/** Headers and status of an answer with this range of a body. */
export function rangeHeaders(
  range: ByteRange | undefined,
  sizeBytes: number,
): { readonly status: 200 | 206; readonly headers: Readonly<Record<string, string>> } {
  const headers = { 'accept-ranges': 'bytes' };
  if (range === undefined)
    return { status: 200, headers: { ...headers, 'content-length': String(sizeBytes) } };
  return {
    status: 206,
    headers: {
      ...headers,
      'content-range': `bytes ${range.start}-${range.end - 1}/${sizeBytes}`,
      'content-length': String(range.end - range.start),
    },
  };
}

function unsatisfiable(given: string, sizeBytes: number): QuarkError {
  const rule = `within the ${sizeBytes} bytes that are there`;
  return new QuarkError(
    'invalid_input',
    `Range must be ${rule}; got ${JSON.stringify(given.slice(0, 80))}.`,
    {
      details: { field: 'range', value: given.slice(0, 80), rule, httpStatus: 416, sizeBytes },
    },
  );
}
