/** Routers made from the table of routes: a route is a line there, and a handler in the map that a router is given. */
import { Hono, type Context } from 'hono';
import { invalidInput } from '../../base/errors.ts';
import { readBody, readJson } from '../../wire/body.ts';
import { chooseVersion, PROTOCOL_HEADER } from '../../wire/protocol.ts';
import type { QueryRules, RequestBody, Route, RouteGroup } from '../../wire/route-parts.ts';
import { methodOf, pathOf, routesOf } from '../../wire/route-paths.ts';
import type {
  QueryOf,
  RouteBody,
  RouteName,
  RouteParams,
  RouteQuery,
} from '../../wire/route-types.ts';
import { ROUTES } from '../../wire/routes.ts';
import { Fields, wireName } from '../../wire/wire.ts';

/** What a router has to know of a request. */
export type RequestScope = {
  /** Reserves memory for the body, in bytes; throws when there is none left. */
  readonly takeRoom?: ((bytes: number) => void) | undefined;
  /** Asked when the body has arrived: rejects where its sender has lost the right to send it. */
  readonly confirm?: (() => Promise<void>) | undefined;
};

/** A request in a router whose scope is `S`. */
export type RouteContext<S> = Context<{ Bindings: { readonly scope: S } }>;

/** A request to a route. Scope, parameters of the query, and the type of the body are checked by then. */
export type Asked<N extends RouteName, S> = {
  readonly context: RouteContext<S>;
  readonly scope: S;
  readonly params: RouteParams<N>;
  readonly query: RouteQuery<N>;
  /** Reads the body, within its limits. */
  readonly body: () => Promise<RouteBody<N>>;
};

/** Answers a route: with a response, or with what {@link RouterParts.answer} makes one of. */
export type Handler<N extends RouteName, S, P> = (
  asked: Asked<N, S>,
  parts: P,
) => object | Promise<object>;

/** A handler for every route of a group. */
export type Handlers<G extends RouteGroup, S, P> = {
  readonly [N in RouteName<G>]: Handler<N, S, P>;
};

/** What a router is made of. */
export type RouterParts<G extends RouteGroup, S, P> = {
  readonly group: G;
  readonly handlers: Handlers<G, S, P>;
  /** What handlers share. */
  readonly parts: P;
  /** Bytes of bodies, where the table names a limit. */
  readonly limits: { readonly maxUploadBytes: number; readonly maxBlobBytes: number };
  /** Whether a route is answered at all; every one is unless given. */
  readonly isServed?: (route: Route) => boolean;
  /** The error for a parameter that is not known or given too often. */
  readonly refuseQuery?: typeof invalidInput;
  /** Throws where a request is not allowed to use a route. It comes before its body is read. */
  readonly admit: (route: Route, scope: S) => void;
  readonly answer: (context: RouteContext<S>, answer: object) => Response | Promise<Response>;
};

/** A router whose requests have a scope. */
export type Router<S> = Hono<{ Bindings: { readonly scope: S } }>;

/** The router of a group; what it does not answer is the caller's. */
export function createRouter<G extends RouteGroup, S extends RequestScope, P>(
  router: RouterParts<G, S, P>,
): Router<S> {
  const {
    group,
    handlers,
    parts,
    limits,
    isServed = () => true,
    refuseQuery,
    admit,
    answer,
  } = router;
  const app = new Hono<{ Bindings: { readonly scope: S } }>();
  app.use(async (context, next) => {
    chooseVersion(context.req.header(PROTOCOL_HEADER));
    await next();
  });
  const add = <N extends RouteName<G>>(name: N, handler: Handler<N, S, P>): void => {
    const route: Route = ROUTES[name];
    app.on(methodOf(name), pathOf(name), async (context) => {
      const { scope } = context.env;
      admit(route, scope);
      if (route.body?.isTypeChecked === true) checkType(context, route.body);
      const { query = {}, hasOtherParameters = false } = route;
      // The table declares what these are, and so their types.
      const asked = {
        context,
        scope,
        params: context.req.param(),
        query:
          route.query === undefined || hasOtherParameters
            ? {}
            : readQuery(context.req.queries(), query, [], refuseQuery).query,
        body: () => bodyOf(context.req.raw, route.body, limits, scope),
      } as unknown as Asked<N, S>;
      const made = await handler(asked, parts);
      return made instanceof Response ? made : answer(context, made);
    });
  };
  for (const name of routesOf(group)) if (isServed(ROUTES[name])) add(name, handlers[name]);
  return app;
}

/**
 * The parameters of a request, which has no others: a filter with a typing error in its name would otherwise let all
 * through.
 *
 * @param others names on the wire of further parameters, which are texts
 * @throws {QuarkError} `invalid_input`
 */
export function readQuery<const P extends QueryRules>(
  given: Readonly<Record<string, readonly string[]>>,
  rules: P,
  others: readonly string[] = [],
  refuse = invalidInput,
): { readonly query: QueryOf<P>; readonly others: ReadonlyMap<string, string> } {
  const names = new Map(Object.keys(rules).map((name) => [wireName(name), name]));
  const query: Record<string, unknown> = {};
  const rest = new Map<string, string>();
  for (const [name, values] of Object.entries(given)) {
    const field = names.get(name);
    const rule = field === undefined ? undefined : rules[field];
    if (rule === undefined && !others.includes(name))
      throw refuse(name, name, `one of ${[...names.keys(), ...others].join(', ')}`);
    const isRepeated = rule !== undefined && 'isRepeated' in rule;
    if (!isRepeated && values.length > 1) throw refuse(name, values.length, 'given once');
    const [value = ''] = values;
    if (field === undefined || rule === undefined) rest.set(name, value);
    else query[field] = isRepeated ? values : rule.read(name, value);
  }
  // Each value is what the rule of its name has read.
  return { query: query as QueryOf<P>, others: rest };
}

function checkType(context: Context, { content }: RequestBody): void {
  const type = context.req.header('content-type')?.split(';')[0]?.trim().toLowerCase();
  const [wanted = ''] = Object.keys(content);
  if (type !== wanted) throw invalidInput('content-type', type ?? '', `"${wanted}"`);
}

async function bodyOf(
  request: Request,
  body: RequestBody | undefined,
  bounds: RouterParts<RouteGroup, RequestScope, unknown>['limits'],
  { takeRoom, confirm }: RequestScope,
): Promise<Fields | Uint8Array<ArrayBuffer> | undefined> {
  if (body === undefined) return undefined;
  const bytesOf = (limit: RequestBody['maxBytes']): number =>
    typeof limit === 'number' ? limit : bounds[limit];
  const { kind, what, maxBytes, maxPackedBytes } = body;
  const limits = {
    what,
    packedBytes: bytesOf(maxPackedBytes),
    bytes: bytesOf(maxBytes),
    takeRoom,
  };
  const read =
    kind === 'json'
      ? new Fields('body', await readJson(request, limits))
      : await readBody(request, limits);
  await confirm?.();
  return read;
}
