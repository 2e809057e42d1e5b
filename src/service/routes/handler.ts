/**
 * Access to a store over HTTP, without a socket: `(Request, scope) => Promise<Response>`. Who may reach it, and which
 * store a request is about, is decided by the server that puts it on a socket (see `node/serve.ts` and `create-service.ts`).
 */
import { QuarkError, SessionStoreError } from '../../base/errors.ts';
import { changesStore } from '../../wire/route-parts.ts';
import { methodsAt } from '../../wire/route-paths.ts';
import { AnswerMemory } from '../http/answer-memory.ts';
import { done, failure, json, type WireContext } from '../http/answers.ts';
import { clientGone, storeWhile } from '../http/client-gone.ts';
import {
  settingsOf,
  type HandlerSettings,
  type StoreHandlerOptions,
  type StoreScope,
} from '../http/handler-options.ts';
import { describeApi } from '../http/openapi.ts';
import { createRouter, type Router } from '../http/router.ts';
import { Feeds } from '../live/feeds.ts';
import { SketchKeeper } from '../maintenance/sketch-keeper.ts';
import { CurveMemory } from './curve-memory.ts';
import { answerCurves } from './curves-route.ts';
import { answerSparklines } from './sparklines-route.ts';
import { documentHandlers } from './document-routes.ts';
import { fileHandlers } from './file-routes.ts';
import { readRows } from './rows-route.ts';
import { runHandlers } from './run-routes.ts';
import { segmentHandlers } from './segment-routes.ts';
import { silenceHandlers } from './silence-routes.ts';
import type { StoreHandlers, StoreRouteParts } from './store-routes.ts';

/** Answers requests about stores; see `routes.ts` for the table. */
export interface StoreHandler {
  /** The answer to `request`, whose path begins with `/api/v1`. Never rejects. */
  handle(request: Request, scope: StoreScope): Promise<Response>;
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
  const { onFailure, clock } = options;
  const failed = (error: unknown): void => onFailure?.(error);
  const feeds = new Feeds({
    pollMs: settings.feedPollMs,
    onFailure: failed,
    ...(clock === undefined ? {} : { clock }),
  });
  const sketches = new SketchKeeper(clock, failed);
  const description = describeApi(!settings.writable, settings.describedGroups);
  const app = routerOf({
    settings,
    description: JSON.stringify(description),
    memory: new AnswerMemory(),
    curves: new CurveMemory(),
    feeds,
    sketches,
    onFailure: failed,
  });
  app.notFound((context) => refuse(context, settings));
  app.onError((error, context) => {
    // What breaks because the client has gone, such as its body, is no failure of anybody.
    const answer = failure(context.env.scope.signal?.aborted === true ? clientGone() : error);
    if (answer.status >= 500) onFailure?.(error, context.req.raw);
    return answer;
  });
  return {
    handle: async (request, scope) => {
      const { signal, store } = scope;
      const bound =
        signal === undefined
          ? scope
          : { lastingStore: store, ...scope, store: storeWhile(signal, store) };
      const answer = await app.fetch(request, { scope: bound });
      if (answer.status === 405) {
        const isWritable = settings.writable && store.isWritable;
        answer.headers.set(
          'allow',
          methodsAt(new URL(request.url).pathname, 'store', isWritable).join(', '),
        );
      }
      return answer;
    },
    close: () => {
      feeds.end();
      sketches.end();
    },
  };
}

function routerOf(parts: StoreRouteParts): Router<StoreScope> {
  const { settings } = parts;
  return createRouter<'store', StoreScope, StoreRouteParts>({
    group: 'store',
    handlers: HANDLERS,
    parts,
    limits: settings,
    isServed: (route) => settings.writable || !changesStore(route),
    admit: (
      { scope },
      { store, writeRefusal, deleteRefusal, purgeRefusal = deleteRefusal, ...may },
    ) => {
      const { mayDelete = store.isWritable, mayPurge = mayDelete } = may;
      if (scope === 'write' && !store.isWritable) throw writeRefusal ?? onlyRead();
      if (scope === 'delete' && !mayDelete) throw deleteRefusal ?? onlyRead();
      if (scope === 'admin' && !mayPurge) throw purgeRefusal ?? onlyRead();
    },
    answer: (context, answer) =>
      context.req.method === 'GET' || context.req.method === 'HEAD'
        ? json(context, answer)
        : done(answer),
  });
}

/** Every route about stores. */
const HANDLERS: StoreHandlers = {
  ...runHandlers,
  ...segmentHandlers,
  ...fileHandlers,
  ...silenceHandlers,
  ...documentHandlers,
  'GET /runs/:runId/tables/:table/rows': readRows,
  'GET /runs/:runId/curves': answerCurves,
  'POST /tables/curves': answerSparklines,
  'GET /events': (asked, { feeds }) => feeds.answer(asked),
};

function onlyRead(): SessionStoreError {
  return new SessionStoreError('read_only', 'This store can only be read.');
}

/** Methods that write, as servers know them. */
const WRITING: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);

function refuse(context: WireContext, { writable }: HandlerSettings): Response {
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
