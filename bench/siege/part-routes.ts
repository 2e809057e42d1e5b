/** Part 7: every route of the service's description, with every kind of key. */
import { allows, KEY_SCOPES, type KeyScope } from '../../src/wire/access-messages.ts';
import { methodOf, pathOf, ROUTE_LIST } from '../../src/wire/route-paths.ts';
import type { RouteScope } from '../../src/wire/route-parts.ts';
import { SPACE_HEADER } from '../../src/wire/protocol.ts';
import { random as randomFrom } from '../../test/support/tensors.ts';
import { footprintOf, growthOf } from './growth.ts';
import { visibleTo } from './part-mutate.ts';
import { criterion, statusText, type Report, type Siege } from './report.ts';
import { everyRoute, type RouteRequest } from './routes.ts';
import { addArtifact, addRows, addRun, makeScene, noise, RUN_ID } from './scene.ts';
import { ask, ServiceUnderSiege } from './service.ts';
import { exchange, requestBytes } from './wire/exchange.ts';

/** Requests with a bad key from one address, before the service answers 429 to it. */
const BAD_KEYS_OF_AN_ADDRESS = 40;
/** A word that stands in the runs of the owner and nowhere else. */
const SECRET = 'nobody-else-reads-this';
const ROUNDS = 3;

/** Keys by kind. */
export type RouteKeys = {
  /** Of the owner of the run that is asked for. */
  readonly owner: Readonly<Record<KeyScope, string>>;
  /** That open nothing. */
  readonly bad: Readonly<Record<string, string | undefined>>;
  /** Of somebody else. */
  readonly other: string;
  readonly sha256: string;
};

/** How often which status came, by kind of key, and what should not have come. */
export type RouteCounts = {
  readonly routes: number;
  readonly requests: number;
  readonly statuses: ReadonlyMap<string, Record<string, number>>;
  readonly wrong: readonly string[];
};

/** Writes the users, their keys and runs. */
export function makeRouteScene(storage: string): Promise<RouteKeys> {
  return makeScene(storage, async (scene) => {
    const store = await scene.store('owner');
    await addRows(store, RUN_ID, 10_000);
    await addRun(store, 'run_secret', { tags: [SECRET], config: { note: SECRET } });
    const sha256 = await addArtifact(store, RUN_ID, noise(randomFrom(7), 300_000));
    await addRun(await scene.store('other'), 'run_of_other');
    const owner: Record<string, string> = {};
    for (const scope of KEY_SCOPES) owner[scope] = await scene.key('owner', scope);
    const [read = '', write = '', remove = '', admin = ''] = KEY_SCOPES.map((one) => owner[one]);
    return {
      owner: { read, write, delete: remove, admin },
      bad: {
        none: undefined,
        'no key at all': 'Bearer of-bad-news',
        'a typing error': `${admin.slice(0, 20)}${admin[20] === 'x' ? 'y' : 'x'}${admin.slice(21)}`,
        revoked: await scene.revoked('owner'),
        expired: await scene.expired('owner'),
      },
      other: await scene.key('other', 'admin'),
      sha256,
    };
  });
}

const REMOVES_ROWS = /^DELETE .*\/(?:tables\/\{table\}|artifacts)$/;

/** What a route needs, as the table of routes says; none for methods that are answered at every path. */
function neededBy(route: string): RouteScope | undefined {
  const asked = route.replace(/^HEAD /, 'GET ');
  const found = ROUTE_LIST.find(
    ([name]) => `${methodOf(name)} ${pathOf(name).replaceAll(/:(\w+)/g, '{$1}')}` === asked,
  );
  return found?.[1].scope;
}

/** What is wrong with the status of an answer to a key that the scope does not open the route to, or does. */
function judge(route: string, scope: KeyScope | undefined, status: number): string | undefined {
  if (status < 200 || status > 499) return 'no 2xx to 4xx';
  const needed = neededBy(route);
  // Methods that every path answers; counters, which this machine may read without a key; and pages that need none.
  if (needed === undefined || needed === 'machine' || needed === 'none') return undefined;
  if (scope === undefined) return [401, 429].includes(status) ? undefined : 'not 401';
  // What nothing brings back is removed with the scope `admin` only, as long as deletions have to be undoable for a while.
  if (scope === 'delete' && REMOVES_ROWS.test(route))
    return status === 403 ? undefined : 'rows were removed for good';
  if (!allows(scope, needed)) return status === 403 ? undefined : 'not 403';
  return [401, 403].includes(status) ? 'refused' : undefined;
}

/** Asks every route with every key. What the owner has may change with the owner's own keys only. */
export async function askEveryRoute(port: number, keys: RouteKeys): Promise<RouteCounts> {
  const { owner, bad, other, sha256 } = keys;
  const description = await ask(port, '/api/v1/openapi.json', {
    headers: { authorization: `Bearer ${owner.admin}` },
  });
  const routes = everyRoute(JSON.parse(description.text), sha256);
  const statuses = new Map<string, Record<string, number>>();
  const wrong: string[] = [];
  let requests = 0;
  const send = async (
    kind: string,
    route: RouteRequest,
    given: { readonly key: string | undefined; readonly space?: string },
  ): Promise<{ readonly status: number; readonly text: string }> => {
    const authorization =
      given.key === undefined ? [] : [['authorization', `Bearer ${given.key}`] as const];
    const space = given.space === undefined ? [] : [[SPACE_HEADER, given.space] as const];
    const headers = [...Object.entries(route.headers), ...authorization, ...space];
    // A loopback address each for so many requests, because bad keys of one address are counted.
    const localAddress = `127.0.1.${1 + (Math.floor(requests++ / BAD_KEYS_OF_AN_ADDRESS) % 250)}`;
    const { method, path, body } = route;
    const bytes = requestBytes({ method, path, headers, body }, port);
    const answer = await exchange(bytes, { port, localAddress });
    const counts = statuses.get(kind) ?? {};
    counts[answer.status] = (counts[answer.status] ?? 0) + 1;
    statuses.set(kind, counts);
    return answer;
  };
  const note = (
    kind: string,
    route: RouteRequest,
    status: number,
    what: string | undefined,
  ): void => {
    if (what !== undefined) wrong.push(`${kind}: ${route.route}: ${status}, ${what}`);
  };
  const seen = await visibleTo(port, owner.admin);

  for (const [kind, key] of Object.entries(bad))
    for (const route of routes) {
      const { status, text } = await send(kind, route, { key });
      note(kind, route, status, judge(route.route, undefined, status));
      if (text.includes(SECRET)) note(kind, route, status, 'shows what is not open');
    }
  for (const space of [undefined, 'owner:default', 'owner:other'])
    for (const route of routes) {
      const kind = space === undefined ? 'of another user' : `of another user, for ${space}`;
      const given = { key: other, ...(space === undefined ? {} : { space }) };
      const { status, text } = await send(kind, route, given);
      note(kind, route, status, status >= 500 || status < 200 ? 'no 2xx to 4xx' : undefined);
      if (text.includes(SECRET)) note(kind, route, status, 'shows what is not open');
    }
  for (const route of routes) {
    const { status } = await send('read', route, { key: owner.read });
    note('read', route, status, judge(route.route, 'read', status));
  }
  const seenAfter = await visibleTo(port, owner.admin);
  const changed = seenAfter.find((line, i) => line !== seen[i]);
  if (changed !== undefined) wrong.push(`what the owner has was changed: ${changed}`);

  for (const scope of ['write', 'delete', 'admin'] as const)
    for (const route of routes) {
      const { status } = await send(scope, route, { key: owner[scope] });
      note(scope, route, status, judge(route.route, scope, status));
    }
  return { routes: new Set(routes.map(({ route }) => route)).size, requests, statuses, wrong };
}

export async function siegeOfRoutes(siege: Siege): Promise<Report> {
  const keys = await makeRouteScene(siege.folder);
  const service = await ServiceUnderSiege.start(siege.dist, siege.folder);
  try {
    const first = await askEveryRoute(service.port, keys);
    const before = await footprintOf(service, siege.folder);
    const wrong = [...first.wrong];
    let { requests } = first;
    for (let round = 1; round < (siege.isLong ? 4 * ROUNDS : ROUNDS); round++) {
      const again = await askEveryRoute(service.port, keys);
      wrong.push(...again.wrong);
      requests += again.requests;
    }
    const after = await footprintOf(service, siege.folder);
    return {
      tables: [
        {
          title: `${first.routes} routes and methods with every kind of key: statuses of one round`,
          head: ['key', 'statuses'],
          rows: [...first.statuses].map(([kind, statuses]) => [kind, statusText(statuses)]),
        },
      ],
      criteria: [
        criterion(
          'routes: 401 without a good key, 403 without the scope, no 5xx, nothing of another user is shown or changed',
          wrong.length === 0 && service.isRunning,
          wrong.length === 0 ? `${requests} requests` : wrong.slice(0, 8).join(' | '),
        ),
        ...growthOf('routes', before, after),
      ],
      figures: [`${requests} requests, ${first.routes} routes and methods`],
    };
  } finally {
    await service.stop();
  }
}
