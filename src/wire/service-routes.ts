/** The routes of a service beside those of its stores, and the templates by which logs and counters name requests. */
import { API_PATH, ROUTES } from './protocol.ts';

/** Routes outside the protocol of stores. */
export const SERVICE_ROUTES = {
  /** The process is alive. Needs no key. */
  health: '/healthz',
  /** The service takes requests: its database answers and it is not shutting down. Needs no key. */
  ready: '/readyz',
  /** Counters for Prometheus: for a key of scope `admin`, or from this machine itself. */
  metrics: '/metrics',
  /** Who the key belongs to, and the spaces that are open to them. */
  account: `/${API_PATH}/account`,
  /**
   * For keys of scope `admin`, about their own user. GET: `{"keys": [...]}`. POST `{"key": {"scope", "label",
   * "expires_at_ms"}}`: another key, which the answer to this request shows and nothing else ever does.
   */
  keys: `/${API_PATH}/keys`,
  /** For keys of scope `admin`. DELETE: the key of this name is of no use any longer. */
  key: `/${API_PATH}/keys/:keyId`,
  /**
   * For keys of scope `admin`, about their own user's projects. GET: `{"shares": [...]}`. PUT `{"share": {"space",
   * "project", "user", "access"}}`: shares, or changes what may be done. DELETE `?space=&project=&user=`: takes it back.
   */
  shares: `/${API_PATH}/shares`,
} as const;

/** Path of the file that tells the dashboard where its store is. */
export const DESCRIPTOR_PATH = '/quark.json';

type Template = { readonly text: string; readonly pattern: RegExp };

const TEMPLATES: readonly Template[] = [
  ...Object.values(SERVICE_ROUTES),
  ...Object.values(ROUTES).map((route) => `/${API_PATH}${route === '/' ? '' : route}`),
]
  .toSorted((a, b) => countParameters(a) - countParameters(b))
  .map((text) => ({
    text,
    pattern: new RegExp(`^${text.replaceAll(/:[A-Za-z0-9]+/g, '[^/]+')}/?$`),
  }));

function countParameters(route: string): number {
  return route.split(':').length - 1;
}

/** Whether a path is the API's. */
export function isApiPath(path: string): boolean {
  return path === `/${API_PATH}` || path.startsWith(`/${API_PATH}/`);
}

/**
 * The template of a path. A path itself never stands in a log: somebody may have put a secret into it.
 */
export function routeOf(path: string): string {
  if (!isApiPath(path) && !path.endsWith('z') && path !== SERVICE_ROUTES.metrics) return 'page';
  const found = TEMPLATES.find(({ pattern }) => pattern.test(path));
  return found?.text ?? (isApiPath(path) ? `/${API_PATH}/*` : 'page');
}
