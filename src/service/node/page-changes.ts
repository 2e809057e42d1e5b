/**
 * Who may change runs through the local page: the client that opened it with the token that the command printed. Changes are for loopback only. A
 * page of another site can neither read the token nor use its cookie: its origin differs, also that of another port of this machine, and a
 * name that was made to point here (DNS rebinding) is no name of loopback.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { invalidInput } from '../../base/errors.ts';
import { wrapStore } from '../../store/front.ts';
import type { Store } from '../../store/store.ts';
import { isLoopbackAddress, isLoopbackHost, isProxied } from '../limits/origin-rules.ts';

/** Name of the parameter of an address that has the token. */
const TOKEN_PARAMETER = 'token';
const TOKEN_BYTES = 24;

/** The token of one server. */
export class PageChanges {
  readonly token: string = randomBytes(TOKEN_BYTES).toString('base64url');
  readonly #store: Store;
  readonly #readOnly: Store;

  /** @throws {QuarkError} `invalid_input` for an address that other machines reach */
  constructor(store: Store, host: string) {
    if (!isLoopbackHost(host))
      throw invalidInput('host', host, 'an address of loopback, as changes are allowed');
    this.#store = store;
    this.#readOnly = wrapStore(store, (_name, _args, call) => call(), { isWritable: false });
  }

  /** The address with the token. */
  addressOf(url: string): string {
    const address = new URL(url);
    address.searchParams.set(TOKEN_PARAMETER, this.token);
    return address.href;
  }

  /** What a request may use: the store, or the same to read only. */
  storeFor(request: Request, incoming: IncomingMessage): Store {
    return this.#mayChange(request, incoming) ? this.#store : this.#readOnly;
  }

  /** The answer to an address with the token: a cookie, and the same address without it. Undefined for other requests. */
  welcome(request: Request, incoming: IncomingMessage): Response | undefined {
    const url = new URL(request.url);
    const given = url.searchParams.get(TOKEN_PARAMETER);
    if (given === null || request.method !== 'GET') return undefined;
    url.searchParams.delete(TOKEN_PARAMETER);
    const headers = new Headers({
      location: `${url.pathname.replace(/^\/+/u, '/')}${url.search}`,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    });
    if (this.#isToken(given) && isAtLoopback(request, incoming))
      headers.append(
        'set-cookie',
        `${cookieName(incoming)}=${this.token}; Path=/; HttpOnly; SameSite=Strict`,
      );
    return new Response(null, { status: 303, headers });
  }

  #mayChange(request: Request, incoming: IncomingMessage): boolean {
    if (!isAtLoopback(request, incoming) || !isOfOwnPage(request)) return false;
    const bearer = /^Bearer (\S+)$/u.exec(request.headers.get('authorization') ?? '')?.[1];
    const given = bearer ?? cookieOf(request, cookieName(incoming));
    return given !== undefined && this.#isToken(given);
  }

  #isToken(given: string): boolean {
    const [a, b] = [Buffer.from(given), Buffer.from(this.token)];
    return a.length === b.length && timingSafeEqual(a, b);
  }
}

/** Whether a request comes from this machine, over no proxy, and is for a name of loopback. */
function isAtLoopback(request: Request, incoming: IncomingMessage): boolean {
  const { remoteAddress } = incoming.socket;
  return (
    isLoopbackAddress(remoteAddress) &&
    isLoopbackHost(new URL(request.url).hostname) &&
    !isProxied(request.headers, { remoteAddress, httpVersion: incoming.httpVersion })
  );
}

/** Browsers name the origin of each request that could change something; programs without a page name none. */
function isOfOwnPage(request: Request): boolean {
  const origin = request.headers.get('origin');
  if (origin !== null) return origin === new URL(request.url).origin;
  const site = request.headers.get('sec-fetch-site');
  return site === null || site === 'same-origin' || site === 'none';
}

/** Cookies of one machine are those of all its ports. */
function cookieName({ socket }: IncomingMessage): string {
  return `quark-token-${socket.localPort ?? 0}`;
}

function cookieOf(request: Request, name: string): string | undefined {
  for (const part of (request.headers.get('cookie') ?? '').split(';')) {
    const cut = part.indexOf('=');
    if (cut > 0 && part.slice(0, cut).trim() === name) return part.slice(cut + 1).trim();
  }
  return undefined;
}
