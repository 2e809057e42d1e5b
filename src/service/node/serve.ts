/** Puts a store's read handler and the built dashboard on a local port. */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { asGiven, flag, orDefault, readOptions } from '../../base/options.ts';
import { SessionStoreError } from '../../base/errors.ts';
import { failure } from '../http/answers.ts';
import { createStoreHandler } from '../routes/handler.ts';
import { DESCRIPTOR_PATH, isApiPath } from '../../wire/route-paths.ts';
import type { Store } from '../../store/store.ts';
import { compressedAnswer } from './compress.ts';
import { createHttpServer } from './http-exchanges.ts';
import { checkPort, closeServer, listen, urlOf } from './listener.ts';
import { PageChanges } from './page-changes.ts';
import { checkFrameOrigins, descriptorAnswer, openStaticFiles } from './static-files.ts';

/** Options of {@link serveStore}. */
export type ServeOptions = {
  /** What to serve. It stays the caller's to close. */
  readonly store: Store;
  /** Folder with the built dashboard; without it only the store is served. */
  readonly dashboardDir?: string;
  /** The content of a `quark.config.json`, as `checkQuarkConfig` of `quark-sdk/analysis` returns it: the page judges runs by it. Default: none. */
  readonly pageConfig?: object;
  /** Port to listen on; 0, the default, takes a free one. */
  readonly port?: number;
  /** Address to listen on; `127.0.0.1` unless given, so that no other machine can reach it. */
  readonly host?: string;
  /** Host names that requests may be for, besides `localhost`, IP addresses and `host`. */
  readonly allowedHosts?: readonly string[];
  /**
   * True: a client that opened `changeUrl` may name, tag, archive and delete runs, and write whatever else the store takes. Only for an address
   * of loopback. Default false: nobody may change anything.
   */
  readonly changes?: boolean;
  /** Origins whose pages may show a run in a frame, such as `https://blog.example.org`. Default: none but this server's own. */
  readonly allowFrames?: readonly string[];
};

/** A running server. */
export type ServedStore = {
  /** Address of the dashboard and of the store, with a slash at its end: `http://127.0.0.1:4173/`. */
  readonly url: string;
  /** The address that allows changes: a person opens it once, as it sets a cookie. The same as `url` where nobody may change anything. */
  readonly changeUrl: string;
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

/**
 * Serves a store over HTTP, with the dashboard where `dashboardDir` is given. Nobody may write unless `changes` allows it. A page finds its store through `quark.json` beside it.
 *
 * @throws {QuarkError} `invalid_input` when an option is wrong
 * @throws {SessionStoreError} `failed` when the port is taken or may not be used; `details.port` says which
 * @example
 * ```js
 * import { openStorage, TrainingSession } from 'quark-sdk';
 * import { serveStore } from 'quark-sdk/node';
 *
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, () => {});
 * const store = await openStorage('quark-runs');
 * const server = await serveStore({ store }); // a free port of 127.0.0.1; nobody may write
 * console.log(server.url);
 * const remote = await openStorage(server.url);
 * console.log(remote.isWritable); // false
 * await remote.close();
 * await server.close();
 * await store.close();
 * ```
 */
export async function serveStore(options: ServeOptions): Promise<ServedStore> {
  const { store, dashboardDir, pageConfig, port, host, allowedHosts, changes, allowFrames } =
    readOptions(
      'options',
      options,
      {
        store: asGiven,
        dashboardDir: asGiven,
        pageConfig: asGiven,
        port: (_field, value) => checkPort(value ?? 0),
        host: orDefault(asGiven, '127.0.0.1'),
        allowedHosts: orDefault(asGiven<readonly string[]>, []),
        changes: orDefault(flag(), false),
        allowFrames: checkFrameOrigins,
      },
      '',
    );
  const pageChanges = changes && store.isWritable ? new PageChanges(store, host) : undefined;
  const handler = createStoreHandler({ writable: pageChanges !== undefined });
  const files = await openStaticFiles(dashboardDir, allowFrames);
  const allowed = new Set(['localhost', host, ...allowedHosts].map((name) => name.toLowerCase()));

  let activeRequests = 0;
  let requestCount = 0;
  const server = createHttpServer(async (request, { signal }, incoming) => {
    activeRequests += 1;
    requestCount += 1;
    try {
      if (!isAllowedHost(incoming, allowed)) return refusedHost();
      const path = new URL(request.url).pathname;
      if (isApiPath(path)) {
        const open = pageChanges?.storeFor(request, incoming) ?? store;
        const scope = { store: open, feed: { space: '', view: '' }, lastingStore: store, signal };
        return await compressedAnswer(request, await handler.handle(request, scope));
      }
      const welcome = pageChanges?.welcome(request, incoming);
      if (welcome !== undefined) return welcome;
      if (path === DESCRIPTOR_PATH && request.method === 'GET')
        return descriptorAnswer(`${JSON.stringify({ storage: './', config: pageConfig })}\n`);
      return await files(request, path);
    } finally {
      activeRequests -= 1;
    }
  });
  const address = await listen(server, port, host);
  const url = urlOf(host, address.port);
  return {
    url,
    changeUrl: pageChanges?.addressOf(url) ?? url,
    port: address.port,
    get activeRequests() {
      return activeRequests;
    },
    get requestCount() {
      return requestCount;
    },
    close: () => closeServer(server, CLOSE_TIMEOUT_MS),
  };
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
