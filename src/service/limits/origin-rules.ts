/** Where a request comes from: this machine or another, this service's own page or another one. */
import { invalidInput } from '../../base/errors.ts';

/** What is known of the connection that a request came on. */
export type ServiceConnection = {
  /** IP address of the other end. Without it nothing is taken to come from this machine. */
  readonly remoteAddress?: string | undefined;
  /**
   * HTTP version of the request, such as `1.1`. Requests in `1.0` always need a key. Unless given, the version is not examined.
   */
  readonly httpVersion?: string | undefined;
  /**
   * Registers a callback for the end of the request: the answer was sent, or the connection is gone. It is called once, with the
   * number of bytes sent; immediately if the end was before. The request then releases its memory. Without this member, an answer
   * holds memory until its body was read or cancelled.
   */
  readonly onClose?: (callback: (sentBytes: number) => void) => void;
  /**
   * Aborted when the client disconnects before it has the answer; the work on the request then stops. Default: the signal of the
   * request.
   */
  readonly signal?: AbortSignal;
};

/** Headers that proxies add: with one of them, the address of the connection says nothing about who asks. */
const PROXY_HEADERS: ReadonlySet<string> = new Set([
  'cdn-loop',
  'client-ip',
  'forwarded',
  'front-end-https',
  'max-forwards',
  'ssl-client-cert',
  'surrogate-capability',
  'tailscale-user-login',
  'via',
  'x-arr-log-id',
  'x-arr-ssl',
  'x-coming-from',
  'x-scheme',
  'x-varnish',
]);
/** Prefixes of such headers: of proxies, service meshes, ingresses, content delivery networks and clouds. */
const PROXY_HEADER_STARTS = [
  'cf-',
  'cloudfront-',
  'eagleeye-',
  'fastly-',
  'fly-',
  'incap-',
  'tailscale-',
  'true-client-',
  'x-akamai-',
  'x-amzn-',
  'x-appengine-',
  'x-appgw-',
  'x-azure-',
  'x-client-',
  'x-cloud-trace-',
  'x-cluster-client-',
  'x-envoy-',
  'x-fd-',
  'x-forwarded',
  'x-gfe-',
  'x-goog-iap-',
  'x-host',
  'x-nf-client-',
  'x-original-',
  'x-originating-',
  'x-proxy',
  'x-proxied',
  'x-real-',
  'x-remote-',
  'x-sucuri-',
  'x-vercel-',
];
/** `x-company-client-ip`, `do-connecting-ip` and the like. */
const ENDS_WITH_ADDRESS = /-(?:client|connecting|remote|source|user)-(?:ip|addr|address)$/;

/**
 * Whether the other end of the connection is a proxy. Signs are headers that proxies add, and HTTP/1.0: the default of nginx, and
 * used by no browser and no client of this package.
 */
export function isProxied(headers: Headers, { httpVersion }: ServiceConnection): boolean {
  if (httpVersion !== undefined && httpVersion < '1.1') return true;
  for (const name of headers.keys())
    if (
      PROXY_HEADERS.has(name) ||
      PROXY_HEADER_STARTS.some((start) => name.startsWith(start)) ||
      ENDS_WITH_ADDRESS.test(name)
    )
      return true;
  return false;
}

/** Whether an IP address is one of this machine's own that no other can reach. */
export function isLoopbackAddress(address: string | undefined): boolean {
  if (address === undefined) return false;
  const plain = address.replace(/^\[|\]$/g, '').replace(/^::ffff:/i, '');
  return plain === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(plain);
}

/** Whether a host name or address means this machine and nothing else. */
export function isLoopbackHost(host: string): boolean {
  return host.toLowerCase() === 'localhost' || isLoopbackAddress(host);
}

/**
 * Whether a request was made on this machine, to this machine, and not on behalf of another one. The host name matters
 * because a page on the internet whose name is made to point here (DNS rebinding) would be same-origin with the service;
 * it cannot make the browser send another name, though.
 */
export function isLocalRequest(request: Request, connection: ServiceConnection): boolean {
  return (
    isLoopbackAddress(connection.remoteAddress) &&
    isLoopbackHost(new URL(request.url).hostname) &&
    !isProxied(request.headers, connection)
  );
}

/** Which pages elsewhere may use a service. */
export class AllowedOrigins {
  readonly #origins: ReadonlySet<string>;

  /** @throws {QuarkError} `invalid_input` for what is neither an origin nor `*` */
  constructor(origins: readonly string[]) {
    for (const origin of origins) checkOrigin(origin);
    this.#origins = new Set(origins.map((origin) => origin.toLowerCase()));
  }

  /** Whether a page of this origin may see answers. `*` stands for all, where a key says who asks. */
  allows(origin: string): boolean {
    return this.#origins.has('*') || this.names(origin);
  }

  /** Whether this very origin was named. */
  names(origin: string): boolean {
    return this.#origins.has(origin.toLowerCase());
  }

  /**
   * Whether a request without a key may come from where it says: no page at all, the service's own, or one that was
   * named. A browser says so by itself for all that a page could do harm with.
   */
  isOwn(request: Request): boolean {
    const origin = request.headers.get('origin');
    if (origin !== null) return origin === new URL(request.url).origin || this.names(origin);
    return request.headers.get('sec-fetch-site') !== 'cross-site';
  }

  /** The answer to the question of a browser whether a page may ask. */
  preflight(origin: string): Response {
    if (!this.allows(origin))
      return new Response(null, { status: 403, headers: { vary: 'origin' } });
    const headers = new Headers({
      'access-control-allow-methods': 'GET, HEAD, POST, PUT, DELETE',
      'access-control-allow-headers': ALLOWED_HEADERS,
      'access-control-max-age': '600',
    });
    const answer = new Response(null, { status: 204, headers });
    this.mark(answer, origin);
    return answer;
  }

  /** Lets the page of an allowed origin see an answer. */
  mark(answer: Response, origin: string | null): void {
    if (this.#origins.size === 0) return;
    answer.headers.append('vary', 'origin');
    if (origin === null || !this.allows(origin)) return;
    answer.headers.set('access-control-allow-origin', origin);
    answer.headers.set('access-control-expose-headers', EXPOSED_HEADERS);
  }
}

const ALLOWED_HEADERS =
  'authorization, content-type, content-encoding, if-none-match, if-range, last-event-id, quark-protocol, quark-request, quark-space, range';
const EXPOSED_HEADERS =
  'accept-ranges, content-encoding, content-range, etag, quark-durable, quark-epoch, quark-protocol, quark-quota, quark-store, retry-after';

function checkOrigin(origin: string): void {
  if (origin === '*') return;
  let parsed: string | undefined;
  try {
    parsed = new URL(origin).origin;
  } catch {
    parsed = undefined;
  }
  if (parsed === undefined || parsed === 'null' || parsed !== origin.toLowerCase())
    throw invalidInput(
      'allowOrigins',
      origin,
      'an origin such as "https://app.example.com", or "*"',
    );
}
