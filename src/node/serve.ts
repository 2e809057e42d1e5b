/** Puts a store's read handler and the built dashboard on a local port. */
import { open, realpath } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { isIP, type AddressInfo } from 'node:net';
import { extname, join, sep } from 'node:path';
import { createAdaptorServer, type ServerType } from '@hono/node-server';
import { checkCount, checkOptionNames } from '../base/assert.ts';
import {
  invalidInput,
  isQuarkError,
  messageOf,
  QuarkError,
  SessionStoreError,
} from '../base/errors.ts';
import { failure } from '../service/answers.ts';
import { createStoreHandler } from '../service/handler.ts';
import { API_PATH } from '../service/protocol.ts';
import type { Store } from '../store/store.ts';

/** Options of {@link serveStore}. */
export type ServeOptions = {
  /** What to serve. It stays the caller's to close. */
  readonly store: Store;
  /** Folder with the built dashboard; without it only the store is served. */
  readonly dashboardDir?: string;
  /** Port to listen on; 0, the default, takes a free one. */
  readonly port?: number;
  /** Address to listen on; `127.0.0.1` unless given, so that no other machine can reach it. */
  readonly host?: string;
  /** Host names that requests may be for, besides `localhost`, IP addresses and `host`. */
  readonly allowedHosts?: readonly string[];
};

/** A running server. */
export type ServedStore = {
  /** Address of the dashboard and of the store, with a slash at its end: `http://127.0.0.1:4173/`. */
  readonly url: string;
  readonly port: number;
  /** Requests that have arrived and are not answered yet. A busy process can give them its next turns. */
  readonly activeRequests: number;
  /** Requests that have arrived so far. */
  readonly requestCount: number;
  /** Answers what was asked already, then closes. Closing twice is fine. */
  close(): Promise<void>;
};

/** How long `close` waits for answers under way, in milliseconds. */
const CLOSE_TIMEOUT_MS = 1_000;

const OPTION_NAMES = ['store', 'dashboardDir', 'port', 'host', 'allowedHosts'] as const;

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.wasm': 'application/wasm',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
  '.md': 'text/plain; charset=utf-8',
  '.gz': 'application/gzip',
};

/** Makes the page cross-origin isolated, which shared memory between it and its workers needs. */
const PAGE_HEADERS = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
} as const;

/** A bundler's file whose name carries a hash of its content, as Vite names them: `assets/index-BqW2x9Za.js`. */
const HASHED_ASSET = /^assets\/.*-[A-Za-z0-9_-]{8}\.[A-Za-z0-9.]+$/;

/**
 * Serves `store` (reading only) and the dashboard. A page finds its store through `quark.json` beside it.
 *
 * @throws {QuarkError} `invalid_input` when an option is wrong
 * @throws {SessionStoreError} `failed` when the port is taken or may not be used; `details.port` says which
 */
export async function serveStore(options: ServeOptions): Promise<ServedStore> {
  checkOptionNames('options', options, OPTION_NAMES);
  const port = checkCount('port', options.port ?? 0);
  if (port > 65_535) throw invalidInput('port', port, 'a port number from 0 to 65535');
  const host = options.host ?? '127.0.0.1';
  const { store } = options;
  const handler = createStoreHandler();
  const root =
    options.dashboardDir === undefined ? undefined : await dashboardRoot(options.dashboardDir);
  const allowed = new Set(
    ['localhost', host, ...(options.allowedHosts ?? [])].map((name) => name.toLowerCase()),
  );

  let activeRequests = 0;
  let requestCount = 0;
  const server = createAdaptorServer({
    overrideGlobalObjects: false,
    fetch: async (request, env) => {
      activeRequests += 1;
      requestCount += 1;
      try {
        if (!isAllowedHost(env.incoming as IncomingMessage, allowed)) return refusedHost();
        const path = new URL(request.url).pathname;
        if (path === `/${API_PATH}` || path.startsWith(`/${API_PATH}/`))
          return await handler.handle(request, { store });
        return await staticFile(root, path, request);
      } catch (error) {
        return failure(error);
      } finally {
        activeRequests -= 1;
      }
    },
  });
  const address = await listen(server, port, host);
  const shownHost = host.includes(':') ? `[${host}]` : host;
  return {
    url: `http://${shownHost}:${address.port}/`,
    port: address.port,
    get activeRequests() {
      return activeRequests;
    },
    get requestCount() {
      return requestCount;
    },
    close: () => close(server),
  };
}

async function dashboardRoot(dir: string): Promise<string> {
  try {
    const root = await realpath(dir);
    await (await open(join(root, 'index.html'))).close();
    return root;
  } catch (cause) {
    throw new QuarkError(
      'invalid_input',
      `dashboardDir must hold the built dashboard; there is no index.html in ${dir}.`,
      {
        details: { field: 'dashboardDir', path: dir },
        cause,
      },
    );
  }
}

/**
 * A page on the internet whose name is made to point at this machine (DNS rebinding) would be same-origin with this
 * server; it cannot make the browser send another name in `Host`, though. IP addresses are no names.
 */
function isAllowedHost(incoming: IncomingMessage, allowed: ReadonlySet<string>): boolean {
  const match = /^(\[[0-9a-f:.]+\]|[^:]*)(?::\d+)?$/i.exec(incoming.headers.host ?? '');
  const name = match?.[1]?.toLowerCase() ?? '';
  return allowed.has(name) || isIP(name.replace(/^\[|\]$/g, '')) !== 0;
}

function refusedHost(): Response {
  const message =
    'This server is not known by the name in the request. Open it by its address, http://127.0.0.1 and its port.';
  return failure(new SessionStoreError('unauthorised', message));
}

async function staticFile(
  root: string | undefined,
  path: string,
  request: Request,
): Promise<Response> {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return failure(
      new SessionStoreError(
        'read_only',
        `This server only reads: ${request.method} is not answered here.`,
      ),
    );
  }
  if (path === '/quark.json') {
    const headers = {
      ...PAGE_HEADERS,
      'content-type': 'application/json',
      'cache-control': 'no-cache',
    };
    return new Response('{"storage": "./"}\n', { headers });
  }
  const found = root === undefined ? undefined : await readInside(root, path);
  if (found === undefined)
    return new Response('Not found\n', {
      status: 404,
      headers: { ...PAGE_HEADERS, 'content-type': 'text/plain' },
    });
  const headers = {
    ...PAGE_HEADERS,
    'content-type': CONTENT_TYPES[extname(found.name)] ?? 'application/octet-stream',
    'cache-control': HASHED_ASSET.test(found.name)
      ? 'public, max-age=31536000, immutable'
      : 'no-cache',
    etag: found.etag,
  };
  if (request.headers.get('if-none-match') === found.etag)
    return new Response(null, { status: 304, headers });
  return new Response(found.bytes, { headers });
}

type FoundFile = {
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly etag: string;
};

/** The file of this URL path, if it lies in `root`, links followed. */
async function readInside(root: string, path: string): Promise<FoundFile | undefined> {
  let name: string;
  try {
    name = decodeURIComponent(path).replace(/^\/+/, '');
  } catch {
    return undefined;
  }
  if (name === '' || name.endsWith('/')) name += 'index.html';
  if (
    name.includes('\0') ||
    name.includes('\\') ||
    name.split('/').some((part) => part.startsWith('.') || part === '')
  )
    return undefined;
  try {
    const file = await realpath(join(root, name));
    if (!file.startsWith(root + sep)) return undefined;
    const handle = await open(file);
    try {
      const stat = await handle.stat();
      if (!stat.isFile()) return undefined;
      const bytes = new Uint8Array(await handle.readFile());
      return {
        name,
        bytes,
        etag: `"${stat.size.toString(36)}-${Math.trunc(stat.mtimeMs).toString(36)}"`,
      };
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function listen(server: ServerType, port: number, host: string): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    // Once it listens, a failure (no file descriptor left for a connection) is that connection's; an error that nobody
    // hears would end the process, and with it the training.
    server.on('error', (cause: Error & { code?: string }) =>
      reject(listenFailure(cause, port, host)),
    );
    server.listen(port, host, () => {
      const address = server.address();
      if (address !== null && typeof address === 'object') resolve(address);
      else reject(new SessionStoreError('failed', 'The server has no address.'));
    });
  });
}

function listenFailure(
  cause: Error & { code?: string },
  port: number,
  host: string,
): SessionStoreError {
  const message =
    cause.code === 'EADDRINUSE'
      ? `Port ${port} on ${host} is taken. Choose another with --port, or 0 for a free one.`
      : cause.code === 'EACCES'
        ? `This user may not listen on port ${port}. Choose one above 1023.`
        : `Cannot listen on ${host}, port ${port}: ${messageOf(cause)}`;
  return new SessionStoreError('failed', message, {
    details: { port, host, systemCode: cause.code ?? null },
    cause,
  });
}

function close(server: ServerType): Promise<void> {
  return new Promise((resolve) => {
    if (!server.listening) {
      resolve();
      return;
    }
    const cut = setTimeout(() => {
      if ('closeAllConnections' in server) server.closeAllConnections();
    }, CLOSE_TIMEOUT_MS);
    server.close(() => {
      clearTimeout(cut);
      resolve();
    });
    if ('closeIdleConnections' in server) server.closeIdleConnections();
  });
}

function isMissing(error: unknown): boolean {
  if (isQuarkError(error) || typeof error !== 'object' || error === null || !('code' in error))
    return false;
  return ['ENOENT', 'ENOTDIR', 'EISDIR', 'ELOOP', 'ENAMETOOLONG'].includes(String(error.code));
}
