/** Paths of the table of routes, from the point of view of a server: which route a path is, and what may be asked there. */
import { API_PATH } from './protocol.ts';
import {
  changesStore,
  type Route,
  type RouteGroup,
  type RouteScope,
  type Sending,
} from './route-parts.ts';
import type { RouteName } from './route-types.ts';
import { ROUTES } from './routes.ts';

/** Path of the file that tells the dashboard where its store is. */
export const DESCRIPTOR_PATH = '/quark.json';

/** All lines of the table, each with its name. */
export const ROUTE_LIST: readonly (readonly [RouteName, Route])[] = Object.entries(
  ROUTES,
) as unknown as readonly (readonly [RouteName, Route])[];

/** The method of a route. */
export function methodOf(name: RouteName): string {
  return name.slice(0, name.indexOf(' '));
}

/** The path of a route from the root of the server, such as `/api/v1/runs/:runId`. */
export function pathOf(name: RouteName): string {
  const path = name.slice(name.indexOf(' ') + 1);
  if (ROUTES[name].group === 'service') return path;
  return `/${API_PATH}${path === '/' ? '' : path}`;
}

/** What is answered at a path. */
export type Endpoint = {
  /** The path with the names of its parts. A path itself never stands in a log: somebody may have put a secret into it. */
  readonly template: string;
  readonly group: RouteGroup;
  readonly sends: Sending;
  readonly methods: readonly {
    readonly method: string;
    readonly isRead: boolean;
    readonly scope: RouteScope;
  }[];
};

const ENDPOINTS: readonly (Endpoint & { readonly pattern: RegExp })[] = [
  ...new Set(ROUTE_LIST.map(([name]) => pathOf(name))),
]
  // A path without named parts goes before one that has some.
  .toSorted((a, b) => a.split(':').length - b.split(':').length)
  .map((template) => {
    const routes = ROUTE_LIST.filter(([name]) => pathOf(name) === template);
    return {
      template,
      pattern: new RegExp(`^${template.replaceAll(/:[A-Za-z0-9]+/g, '[^/]+')}$`),
      group: routes[0]?.[1].group ?? 'store',
      sends: routes.find(([, { sends }]) => sends !== undefined)?.[1].sends ?? 'at_once',
      methods: routes.map(([name, route]) => ({
        method: methodOf(name),
        scope: route.scope,
        isRead: !changesStore(route),
      })),
    };
  });

/** What is at a path; undefined for nothing. */
export function endpointAt(path: string): Endpoint | undefined {
  return ENDPOINTS.find(({ pattern }) => pattern.test(path));
}

/** As an `Allow` header lists them. */
const METHODS_IN_ORDER = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'];

/** The methods of a group at a path, with HEAD beside GET; those that only read where nothing can be written. */
export function methodsAt(path: string, wanted: RouteGroup, isWritable = true): readonly string[] {
  const { group, methods: all } = endpointAt(path) ?? { group: undefined, methods: [] };
  const methods = all.filter(({ isRead }) => group === wanted && (isRead || isWritable));
  const open = new Set<string>(methods.map(({ method }) => method));
  if (open.has('GET')) open.add('HEAD');
  return METHODS_IN_ORDER.filter((method) => open.has(method));
}

/** Whether a path is the API's. */
export function isApiPath(path: string): boolean {
  return path === `/${API_PATH}` || path.startsWith(`/${API_PATH}/`);
}

/** The label of a path in logs and counters: a template, which has no secrets. */
export function labelOf(path: string): string {
  const template = endpointAt(path.replace(/(.)\/$/, '$1'))?.template;
  return template ?? (isApiPath(path) ? `/${API_PATH}/*` : 'page');
}

/** The routes of a group. */
export function routesOf<G extends RouteGroup>(group: G): readonly RouteName<G>[] {
  const isOfGroup = (name: RouteName): name is RouteName<G> => ROUTES[name].group === group;
  return ROUTE_LIST.map(([name]) => name).filter(isOfGroup);
}
