/** What a route takes, as types that derive from the table: clients import these and not the table itself. */
import type { Parameter, Repeated, RequestBody, RouteGroup } from './route-parts.ts';
import type { ROUTES } from './routes.ts';
import type { Fields } from './wire.ts';

type Table = typeof ROUTES;

/** A route by its method and path, such as `GET /runs/:runId`; of one group or of all. */
export type RouteName<G extends RouteGroup = RouteGroup> = {
  [N in keyof Table]: Table[N]['group'] extends G ? N : never;
}[keyof Table];

type Names<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | Names<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

/** The parts of a path that have names. */
export type RouteParams<N extends RouteName> = { readonly [Name in Names<N>]: string };

/** The parameters of a query, as far as they are given. */
export type QueryOf<P> = { readonly [Name in keyof P]?: ValueOf<P[Name]> };

/** The parameters of the query of a route. */
export type RouteQuery<N extends RouteName> = Table[N] extends { readonly query: infer P }
  ? QueryOf<P>
  : NoParameters;

type NoParameters = { readonly [name: string]: never };

type ValueOf<P> = P extends Repeated ? readonly string[] : P extends Parameter<infer T> ? T : never;

/** The body of a request; undefined where it has none. */
export type RouteBody<N extends RouteName> = Table[N] extends {
  readonly body: RequestBody<infer Kind>;
}
  ? { readonly json: Fields; readonly bytes: Uint8Array<ArrayBuffer> }[Kind]
  : undefined;
