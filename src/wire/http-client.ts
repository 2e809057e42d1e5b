/** The requests of an HTTP store: address, key, version, packing, time limits, and errors that say what to do. */
import { checkNotAborted, checkPositive } from '../base/assert.ts';
import { invalidInput, isQuarkError, QuarkError, SessionStoreError } from '../base/errors.ts';
import { holding } from '../base/held-request.ts';
import { createId } from '../base/ids.ts';
import type { StoreIdentity } from '../records/shapes/store-identity.ts';
import { collect, packedIfWorthwhile } from './body.ts';
import {
  API_PATH,
  checkSpaceName,
  DEFAULT_TIMEOUT_MS,
  DURABLE_HEADER,
  EPOCH_HEADER,
  JSON_MEDIA_TYPE,
  MAX_ANSWER_BYTES,
  PROTOCOL_HEADER,
  REQUEST_HEADER,
  SPACE_HEADER,
  SPOKEN_VERSIONS,
  STORE_HEADER,
  spokenText,
} from './protocol.ts';
import type { NearQuota } from '../store/quotas.ts';
import { parseQuotaHeader, QUOTA_HEADER } from './quota-header.ts';
import { decodeError } from './wire-errors.ts';
import type { RouteName, RouteParams, RouteQuery } from './route-types.ts';
import { Fields, toWire, wireName } from './wire.ts';

/** Options of {@link openHttpStorage}. */
export type HttpStorageOptions = {
  /** The key that the server knows its user by: `qk_...`. Never part of a message. */
  readonly userKey?: string;
  /** Which of the user's spaces to open: a name of up to 128 letters, digits, ".", "_" and "-". Default: the unnamed one. */
  readonly space?: string;
  /**
   * How long to wait for one answer, in milliseconds; 15,000 unless given. A body gets a second more for each 128 KiB, so
   * that a slow line is slow and not broken.
   */
  readonly timeoutMs?: number;
  /** Ends every request of this store, now and later. */
  readonly signal?: AbortSignal;
  /** Sends the requests; the platform's `fetch` unless given. */
  readonly fetch?: (request: Request) => Promise<Response>;
};

/** What a request has beside its method and the names of its path. */
export type Call<N extends RouteName> = {
  /** The named parts of the path. */
  readonly params?: RouteParams<N>;
  readonly query?: { readonly [Name in keyof RouteQuery<N>]: RouteQuery<N>[Name] | undefined };
  /** Sent as JSON, in the names of the wire. */
  readonly message?: object;
  /** Sent as it is, as this media type. */
  readonly bytes?: Uint8Array<ArrayBuffer>;
  readonly type?: string;
};

/** What a service says of its database with every answer. */
export type ToldByService = { readonly identity: StoreIdentity; readonly isDurable: boolean };

/** The slowest line on which a large body still arrives in time: 128 KiB a second. */
const MIN_BYTES_PER_MS = 131.072;

const STORE_ID = /^[A-Za-z0-9_.-]{1,128}$/;
const EPOCH = /^\d{1,15}$/;

const KEY = /^qk_[A-Za-z0-9_-]{1,256}$/;

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Sends requests to one server. */
export class HttpClient {
  /** Address of the store, with a slash at its end. */
  readonly base: URL;
  readonly #timeoutMs: number;
  readonly #signal: AbortSignal | undefined;
  readonly #fetch: (request: Request) => Promise<Response>;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #packs: boolean;
  readonly #closing: AbortController = new AbortController();
  readonly #writes = new Set<Promise<unknown>>();
  #isClosed = false;
  #told: ToldByService | undefined;
  #nearQuotas: readonly NearQuota[] = [];

  constructor(uri: string, options: HttpStorageOptions) {
    this.base = baseOf(uri);
    this.#timeoutMs = checkPositive('timeoutMs', options.timeoutMs ?? DEFAULT_TIMEOUT_MS);
    this.#signal = options.signal;
    this.#fetch = options.fetch ?? ((request) => fetch(request));
    const { userKey, space } = options;
    this.#headers = {
      [PROTOCOL_HEADER]: SPOKEN_VERSIONS.join(', '),
      ...(userKey === undefined ? {} : { authorization: `Bearer ${checkKey(userKey)}` }),
      ...(space === undefined ? {} : { [SPACE_HEADER]: checkSpaceName('space', space) }),
    };
    // Between programs of one machine packing takes longer than sending.
    this.#packs = !isLoopback(this.base);
  }

  /** Quotas of which four fifths and more are used, as the last answer said. */
  get nearQuotas(): readonly NearQuota[] {
    return this.#nearQuotas;
  }

  /** What the last answer said of the database behind it; undefined for a service that says nothing. */
  get told(): ToldByService | undefined {
    return this.#told;
  }

  /** The answer as JSON. `close` waits for those to changes. */
  async json<N extends RouteName>(route: N, call: Call<N> = {}): Promise<Fields> {
    const answer = this.bytes(route, call);
    if (!route.startsWith('GET ')) this.#writes.add(answer);
    try {
      return new Fields('answer', parseJson(await answer, this.base.href));
    } finally {
      this.#writes.delete(answer);
    }
  }

  /** The bytes of the answer. */
  async bytes<N extends RouteName>(route: N, call: Call<N> = {}): Promise<Uint8Array<ArrayBuffer>> {
    this.checkOpen();
    checkNotAborted(this.#signal);
    const body =
      call.message === undefined
        ? call.bytes
        : new TextEncoder().encode(JSON.stringify(toWire(call.message)));
    const sendMs = Math.ceil((body?.byteLength ?? 0) / MIN_BYTES_PER_MS);
    const timeout = AbortSignal.timeout(this.#timeoutMs + sendMs);
    const others = this.#signal === undefined ? [] : [this.#signal];
    const signal = AbortSignal.any([timeout, this.#closing.signal, ...others]);
    try {
      const request = await this.#request(route, call, body, signal);
      signal.throwIfAborted();
      return await holding(request, () => this.#send(request));
    } catch (error) {
      if (isQuarkError(error)) throw error;
      if (this.#closing.signal.aborted) throw this.#closedError();
      checkNotAborted(this.#signal);
      throw new SessionStoreError('unreachable', this.#unreachableMessage(timeout.aborted, error), {
        details: { uri: this.base.href, timeoutMs: this.#timeoutMs },
        cause: error,
      });
    }
  }

  async #send(request: Request): Promise<Uint8Array<ArrayBuffer>> {
    const response = await this.#fetch(request);
    if (response.type === 'opaqueredirect' || REDIRECTS.has(response.status))
      throw notQuark(this.base.href, ': it redirects elsewhere. Use the address it points to');
    const bytes = await boundedBytes(response, this.base.href);
    const { status, headers } = response;
    this.#told = toldBy(headers) ?? this.#told;
    this.#nearQuotas = parseQuotaHeader(headers.get(QUOTA_HEADER));
    if (!response.ok)
      throw decodeError(status, tryJson(bytes), this.base.href, headers.get('retry-after'));
    this.#checkVersion(response);
    return bytes;
  }

  /** @throws {SessionStoreError} `closed` */
  checkOpen(): void {
    if (this.#isClosed) throw this.#closedError();
  }

  /** Takes no more requests, ends those that read, and waits for those that write. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#writes);
    this.#closing.abort();
  }

  async #request(
    route: RouteName,
    { params, query = {}, type = JSON_MEDIA_TYPE }: Call<RouteName>,
    body: Uint8Array<ArrayBuffer> | undefined,
    signal: AbortSignal,
  ): Promise<Request> {
    const [method = '', path = ''] = route.split(' ');
    const url = new URL(API_PATH + addressOf(path, params), this.base);
    for (const [name, given] of Object.entries(query))
      for (const value of Array.isArray(given) ? given : [given])
        if (value !== undefined) url.searchParams.append(wireName(name), String(value));
    const headers = new Headers(this.#headers);
    if (body !== undefined) headers.set('content-type', type);
    if (method !== 'GET') headers.set(REQUEST_HEADER, createId('req', Date.now()));
    const packed = body !== undefined && this.#packs ? await packedIfWorthwhile(body) : undefined;
    if (packed !== undefined) headers.set('content-encoding', 'gzip');
    // A redirect would carry the key to wherever it points.
    const init = { method, headers, signal, redirect: 'manual', cache: 'no-store' } as const;
    return new Request(url, body === undefined ? init : { ...init, body: packed ?? body });
  }

  #unreachableMessage(timedOut: boolean, error: unknown): string {
    const what = timedOut
      ? `did not answer within ${this.#timeoutMs} ms`
      : `cannot be reached${whyOf(error)}`;
    return `The Quark server at ${this.base.href} ${what}. Check the address, and that the server ("quark serve", "quark dashboard") is running.`;
  }

  #checkVersion(response: Response): void {
    const version = response.headers.get(PROTOCOL_HEADER);
    if (version !== null && SPOKEN_VERSIONS.includes(Number(version))) return;
    if (version === null) throw notQuark(this.base.href);
    throw new SessionStoreError(
      'version',
      `The server at ${this.base.href} answered in version ${version.slice(0, 16)} of the protocol; this quark-sdk speaks ${spokenText(SPOKEN_VERSIONS)}. Use the same version of quark-sdk on both sides.`,
      { details: { uri: this.base.href, spoken: SPOKEN_VERSIONS.join(', ') } },
    );
  }

  #closedError(): SessionStoreError {
    return new SessionStoreError('closed', 'The store is closed.', {
      details: { uri: this.base.href },
    });
  }
}

/** What the headers of an answer say of the database. What is no id or no number says nothing. */
function toldBy(headers: Headers): ToldByService | undefined {
  const id = headers.get(STORE_HEADER) ?? '';
  const epoch = headers.get(EPOCH_HEADER) ?? '';
  if (!STORE_ID.test(id) || !EPOCH.test(epoch)) return undefined;
  return {
    identity: { id, epoch: Number(epoch) },
    isDurable: headers.get(DURABLE_HEADER) === '1',
  };
}

/** A path with its named parts filled in. */
function addressOf(path: string, params: Readonly<Record<string, string>> = {}): string {
  if (path === '/') return '';
  return path.replaceAll(/:([A-Za-z0-9]+)/g, (_whole, name: string) =>
    encodeURIComponent(params[name] ?? ''),
  );
}

/** What the system says: a refused connection, a certificate, plain HTTP where TLS was asked for. Browsers tell nothing. */
function whyOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  if (typeof cause !== 'object' || cause === null || !('code' in cause)) return '';
  return ` (${String(cause.code)})`;
}

/** What answers is something else. */
export function notQuark(uri: string, why = '', cause?: unknown): SessionStoreError {
  return new SessionStoreError('rejected', `What answers at ${uri} is not a Quark server${why}.`, {
    details: { uri },
    cause,
  });
}

function baseOf(uri: string): URL {
  const rule = 'an http or https URL without a user name, query or fragment';
  let base: URL;
  try {
    base = new URL(uri);
  } catch {
    throw invalidInput('uri', uri, rule);
  }
  if (!/^https?:$/.test(base.protocol) || base.search !== '' || base.hash !== '')
    throw invalidInput('uri', uri, rule);
  // The value is left out of this message: it holds a password.
  if (base.username !== '' || base.password !== '')
    throw new QuarkError('invalid_input', `uri must be ${rule}.`, {
      details: { field: 'uri', rule },
    });
  if (!base.pathname.endsWith('/')) base.pathname += '/';
  return base;
}

/** The value is left out of the message: whatever it is, it was meant as a key. */
function checkKey(value: unknown): string {
  if (typeof value === 'string' && KEY.test(value)) return value;
  const rule = 'a key of a Quark service: "qk_" and up to 256 letters, digits, "_" and "-"';
  throw new QuarkError('invalid_input', `userKey must be ${rule}.`, {
    details: { field: 'userKey', rule },
  });
}

function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d+){3}$/.test(hostname);
}

async function boundedBytes(response: Response, uri: string): Promise<Uint8Array<ArrayBuffer>> {
  const tooLarge = (): SessionStoreError =>
    new SessionStoreError(
      'too_large',
      `An answer of ${uri} is larger than ${MAX_ANSWER_BYTES} bytes.`,
      { details: { uri } },
    );
  const announced = Number(response.headers.get('content-length') ?? 0);
  if (announced > MAX_ANSWER_BYTES) throw tooLarge();
  if (response.body === null) return new Uint8Array(0);
  return collect(response.body, tooLarge, MAX_ANSWER_BYTES, announced);
}

function parseJson(bytes: Uint8Array, uri: string): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch (cause) {
    throw notQuark(uri, ': its answer is not JSON', cause);
  }
}

function tryJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}
