/** How answers of the handler are made, alike on every route. */
import type { Context } from 'hono';
import { invalidInput } from '../../base/errors.ts';
import { toHex } from '../../base/hex.ts';
import type { StoreScope } from './handler-options.ts';
import { PROTOCOL_HEADER, PROTOCOL_VERSION } from '../../wire/protocol.ts';
import { encodeError } from '../../wire/wire-errors.ts';
import { toWire } from '../../wire/wire.ts';

/** What routes find in their context. */
export type WireEnvironment = { Bindings: { readonly scope: StoreScope } };

/** A request as routes see it. */
export type WireContext = Context<WireEnvironment>;

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

/**
 * The parameters of a request, which has no others: a filter with a typing error in its name would otherwise let all
 * through.
 *
 * @param once those that are given once at most
 * @throws {QuarkError} `invalid_input`
 */
export function queryOf(
  context: WireContext,
  once: readonly string[],
  repeated: readonly string[] = [],
): Record<string, string[]> {
  const given = context.req.queries();
  for (const [name, values] of Object.entries(given)) {
    const isOnce = once.includes(name);
    if (!isOnce && !repeated.includes(name))
      throw invalidInput(name, name, `one of ${[...once, ...repeated].join(', ')}`);
    if (isOnce && values.length > 1) throw invalidInput(name, values.length, 'given once');
  }
  return given;
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

/** Whether `If-None-Match` names this entity. */
export function matchesTag(given: string | undefined, etag: string): boolean {
  return (
    given !== undefined && given.split(',').some((item) => item.trim().replace(/^W\//, '') === etag)
  );
}
