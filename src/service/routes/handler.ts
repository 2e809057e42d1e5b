/**
 * Access to a store over HTTP, without a socket: `(Request, scope) => Promise<Response>`. Who may reach it, and which
 * store a request is about, is decided by whoever puts it on a socket (see `node/serve.ts` and `create-service.ts`).
 */
import { Hono, type Context } from 'hono';
import { QuarkError, SessionStoreError } from '../../base/errors.ts';
import { failure, type WireEnvironment } from '../http/answers.ts';
import { clientGone, storeWhile } from '../http/client-gone.ts';
import { addCurvesRoute } from './curves-route.ts';
import { Feeds } from '../live/feeds.ts';
import { addFileRoutes } from './file-routes.ts';
import {
  settingsOf,
  type HandlerSettings,
  type StoreHandlerOptions,
  type StoreScope,
} from '../http/handler-options.ts';
import { API_PATH, chooseVersion, PROTOCOL_HEADER, ROUTES } from '../../wire/protocol.ts';
import { addReadRoutes } from './read-routes.ts';
import { addRowsRoute } from './rows-route.ts';
import { SketchKeeper } from '../maintenance/sketch-keeper.ts';
import { addWriteRoutes } from './write-routes.ts';

/** Answers requests about stores; see `protocol.ts` for the routes. */
export interface StoreHandler {
  /** The answer to `request`, whose path begins with `/api/v1`. Never rejects. */
  handle(request: Request, scope: StoreScope): Promise<Response>;
  /** What is answered, as registered: methods and paths below `/api/v1`. */
  readonly routes: readonly { readonly method: string; readonly path: string }[];
  /** Ends the streams of live updates and the work on the side; all else goes on. */
  close(): void;
}

/**
 * Makes a handler over any number of stores: each request comes with the store it is about.
 *
 *     const handler = createStoreHandler({ writable: true });
 *     app.all('/api/v1/*', async (context) =>
 *       handler.handle(context.req.raw, { store: await storeOf(context.req.raw) }));
 *
 * @throws {QuarkError} `invalid_input` naming the option
 */
export function createStoreHandler(options: StoreHandlerOptions = {}): StoreHandler {
  const settings = settingsOf(options);
  const app = new Hono<WireEnvironment>().basePath(`/${API_PATH}`);
  app.use(async (context, next) => {
    chooseVersion(context.req.header(PROTOCOL_HEADER));
    await next();
  });
  addReadRoutes(app, settings);
  const { onFailure, clock } = options;
  const failed = (error: unknown): void => onFailure?.(error);
  addFileRoutes(app, failed);
  addRowsRoute(app, failed);
  addCurvesRoute(app, failed);
  const feeds = new Feeds({
    pollMs: settings.feedPollMs,
    onFailure: failed,
    ...(clock === undefined ? {} : { clock }),
  });
  feeds.addRoutes(app);
  const sketches = new SketchKeeper(clock, failed);
  if (settings.writable) addWriteRoutes(app, settings, feeds, sketches);
  app.all('*', (context) => refuse(context, settings));
  app.notFound((context) => refuse(context, settings));
  app.onError((error, context) => {
    // What breaks because the client has gone, such as its body, is no failure of anybody.
    const answer = failure(context.env.scope.signal?.aborted === true ? clientGone() : error);
    if (answer.status >= 500) onFailure?.(error, context.req.raw);
    return answer;
  });
  const routes = app.routes
    .filter(({ path }) => !path.endsWith('*'))
    .map(({ method, path }) => ({ method, path }));
  const methodsOf = methodFinder(routes);
  return {
    handle: async (request, scope) => {
      const { signal, store } = scope;
      const bound =
        signal === undefined
          ? scope
          : { lastingStore: store, ...scope, store: storeWhile(signal, store) };
      const answer = await app.fetch(request, { scope: bound });
      if (answer.status === 405)
        answer.headers.set('allow', methodsOf(new URL(request.url).pathname, scope).join(', '));
      return answer;
    },
    routes,
    close: () => {
      feeds.end();
      sketches.end();
    },
  };
}

/** The methods of an address: those that only read, where nothing can be written. */
function methodFinder(
  routes: StoreHandler['routes'],
): (path: string, scope: StoreScope) => readonly string[] {
  const templates = routes.map(({ method, path }) => ({
    methods: method === 'GET' ? ['GET', 'HEAD'] : [method],
    isRead: method === 'GET' || path.endsWith(ROUTES.readSegments),
    pattern: new RegExp(`^${path.replaceAll(/:[A-Za-z0-9]+/g, '[^/]+')}$`),
  }));
  return (path, { store }) => [
    ...new Set(
      templates
        .filter(({ isRead, pattern }) => (isRead || store.isWritable) && pattern.test(path))
        .flatMap(({ methods }) => methods),
    ),
  ];
}

/** Methods that write, as servers know them. */
const WRITING: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);

function refuse(context: Context<WireEnvironment>, { writable }: HandlerSettings): Response {
  const { method, path } = context.req;
  if (method === 'GET' || method === 'HEAD')
    throw new QuarkError('unsupported', 'There is nothing at this address.', { details: { path } });
  if (!writable && WRITING.has(method))
    throw new SessionStoreError(
      'read_only',
      `This server only reads: ${method} is not answered here.`,
    );
  return failure(
    new QuarkError('unsupported', `${method} is not answered at this address.`, {
      details: { path, method, httpStatus: 405 },
    }),
  );
}
