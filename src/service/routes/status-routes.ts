/** The routes about the process: whether it is alive, whether it takes requests, and its counters. */
import type { Clock } from '../../base/clock.ts';
import { SessionStoreError } from '../../base/errors.ts';
import { numberCell, sqlOne } from '../../store/sql/sql-database.ts';
import { SQL_LAYOUT_VERSION } from '../../store/sql/sql-layout.ts';
import type { StoreSpaces } from '../../store/sql/sql-store.ts';
import { pathOf, routesOf } from '../../wire/route-paths.ts';
import type { RouteName } from '../../wire/route-types.ts';
import { ROUTES } from '../../wire/routes.ts';
import { checkScope } from '../access/principal.ts';
import { HEADERS, plain } from '../http/answers.ts';
import type { Gate } from '../limits/gate.ts';
import type { MemoryBudget } from '../limits/memory-budget.ts';
import {
  isLocalRequest,
  type AllowedOrigins,
  type ServiceConnection,
} from '../limits/origin-rules.ts';
import { METRICS_MEDIA_TYPE, type Gauges, type ServiceMetrics } from '../log/metrics.ts';

/** How long a readiness check waits for the database. */
const READY_TIMEOUT_MS = 2_000;
/** A memory budget that is exhausted this long without a release will not recover by itself. */
const STUCK_MS = 30_000;

/** What the routes read. */
export type StatusRouteParts = {
  readonly gate: Gate;
  readonly origins: AllowedOrigins;
  readonly areMetricsKeyed: boolean;
  readonly metrics: ServiceMetrics;
  readonly gauges: () => Promise<Gauges>;
  readonly budget: MemoryBudget;
  readonly clock: Pick<Clock, 'after'>;
  readonly spaces: Pick<StoreSpaces, 'database'>;
  readonly isClosing: () => boolean;
  readonly requestsInFlight: () => number;
  readonly onFailure: (error: unknown) => void;
};

type StatusHandler = (
  parts: StatusRouteParts,
  request: Request,
  connection: ServiceConnection,
) => Response | Promise<Response>;

const HANDLERS: { readonly [N in RouteName<'service'>]: StatusHandler } = {
  'GET /healthz': () => plain(200, { status: 'ok' }),
  'GET /readyz': ready,
  'GET /metrics': renderMetrics,
};

/** The route of a path; undefined for a path of another group. */
export function statusRouteAt(
  path: string,
): { readonly answer: StatusHandler; readonly isOpenToAll: boolean } | undefined {
  const name = routesOf('service').find((one) => pathOf(one) === path);
  if (name === undefined) return undefined;
  return { answer: HANDLERS[name], isOpenToAll: ROUTES[name].scope === 'none' };
}

/** Alive is not ready: a service whose database is away, or that is shutting down, is not asked. */
async function ready(parts: StatusRouteParts): Promise<Response> {
  if (parts.isClosing()) return plain(503, { status: 'closing' });
  const { limit, stuckMs, used } = parts.budget;
  if (stuckMs >= STUCK_MS)
    return plain(503, {
      status: 'no_memory_budget',
      reason: `${used} of ${limit} bytes are reserved by requests, and none was released for ${Math.round(stuckMs / 1_000)} seconds.`,
      bytesInFlight: used,
      requestsInFlight: parts.requestsInFlight(),
    });
  const { clock, spaces } = parts;
  let undo = (): void => undefined;
  const late = new Promise<never>((_resolve, reject) => {
    undo = clock.after(READY_TIMEOUT_MS, () =>
      reject(new SessionStoreError('busy', 'The database did not answer in time.')),
    );
  });
  try {
    const found = spaces.database.read(function* () {
      const [row] = yield sqlOne('SELECT max(version) FROM quark_layout');
      return row === undefined ? 0 : numberCell(row, 0);
    });
    const layout = await Promise.race([found, late]);
    if (layout === SQL_LAYOUT_VERSION) return plain(200, { status: 'ready', layout });
    return plain(503, { status: 'other_layout', layout, known: SQL_LAYOUT_VERSION });
  } catch (error) {
    parts.onFailure(error);
    return plain(503, { status: 'no_database' });
  } finally {
    undo();
  }
}

async function renderMetrics(
  { areMetricsKeyed, gate, gauges, metrics, origins }: StatusRouteParts,
  request: Request,
  connection: ServiceConnection,
): Promise<Response> {
  const isFree = !areMetricsKeyed && isLocalRequest(request, connection);
  if (request.headers.has('authorization') || !isFree)
    checkScope(await gate.admit(request, connection), 'admin');
  else if (!origins.isOwn(request))
    throw new SessionStoreError('unauthorised', 'Pages of another origin are not answered.');
  const headers = { ...HEADERS, 'content-type': METRICS_MEDIA_TYPE, 'cache-control': 'no-store' };
  return new Response(metrics.render(await gauges()), { headers });
}
