/** How answers of the handler are made, alike on every route. */
import { toHex } from '../../base/hex.ts';
import type { StoreScope } from './handler-options.ts';
import type { RouteContext } from './router.ts';
import { PROTOCOL_HEADER, PROTOCOL_VERSION } from '../../wire/protocol.ts';
import { encodeError } from '../../wire/wire-errors.ts';
import { toWire } from '../../wire/wire.ts';

/** A request as routes of stores see it. */
export type WireContext = RouteContext<StoreScope>;

/** Aborted when the client of a request has gone. */
export function signalOf({ env, req }: WireContext): AbortSignal {
  return env.scope.signal ?? req.raw.signal;
}

/** Headers of every answer. */
export const HEADERS = {
  [PROTOCOL_HEADER]: String(PROTOCOL_VERSION),
  'cache-control': 'no-cache',
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
} as const;

/** The response that stands for an error. */
export function failure(error: unknown): Response {
  const { status, body, retryAfterSeconds } = encodeError(error);
  const headers = new Headers({
    ...HEADERS,
    'content-type': 'application/json',
    'cache-control': 'no-store',
  });
  // Of pages; the handler of stores says what its addresses take.
  const { allow } = body.details;
  if (status === 405) headers.set('allow', typeof allow === 'string' ? allow : 'GET, HEAD');
  if (status === 416) headers.set('content-range', `bytes */${String(body.details['sizeBytes'])}`);
  if (status === 401) headers.set('www-authenticate', 'Bearer realm="quark"');
  if (retryAfterSeconds !== undefined) headers.set('retry-after', String(retryAfterSeconds));
  return new Response(JSON.stringify(body), { status, headers });
}

/** The answer to a question, as JSON in the names of the wire. The same answer has the same ETag. */
export async function json(context: WireContext, answer: object): Promise<Response> {
  return jsonBytes(context, new TextEncoder().encode(JSON.stringify(toWire(answer))));
}

/** The same of an answer that is JSON already. */
export async function jsonBytes(
  context: WireContext,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<Response> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  const etag = `"${toHex(digest.subarray(0, 16))}"`;
  if (matchesTag(context.req.header('if-none-match'), etag))
    return new Response(null, { status: 304, headers: { ...HEADERS, etag } });
  return new Response(bytes, { headers: { ...HEADERS, 'content-type': 'application/json', etag } });
}

/** The answer to a change. */
export function done(answer: object): Response {
  return new Response(JSON.stringify(toWire(answer)), {
    headers: { ...HEADERS, 'content-type': 'application/json', 'cache-control': 'no-store' },
  });
}

/** An answer of the service itself, in the names of the wire; it is never stored. */
export function plain(status: number, body: object): Response {
  const headers = { ...HEADERS, 'content-type': 'application/json', 'cache-control': 'no-store' };
  return new Response(`${JSON.stringify(body)}\n`, { status, headers });
}

/** Whether `If-None-Match` names this entity. */
export function matchesTag(given: string | undefined, etag: string): boolean {
  return (
    given !== undefined && given.split(',').some((item) => item.trim().replace(/^W\//, '') === etag)
  );
}
