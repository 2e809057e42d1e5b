/**
 * The service without a socket: `(Request) => Promise<Response>`. Finds out who asks and what is open to them, and lets
 * the handler of stores (`handler.ts`) answer over a store that shows nothing else.
 *
 *     request ─ key ─ limits ─ space ─ guarded store ─ handler ─ answer ─ counters, log
 */
import type { Clock } from '../../base/clock.ts';
import { isQuarkError, messageOf, QuarkError, SessionStoreError } from '../../base/errors.ts';
import { numberCell, sqlOne } from '../../store/sql/sql-database.ts';
import { SQL_LAYOUT_VERSION } from '../../store/sql/sql-layout.ts';
import type { StoreSpaces } from '../../store/sql/sql-store.ts';
import type { AccessBook } from '../access/access-book.ts';
import { guardStore } from '../access/guarded-store.ts';
import { OpenGrants, viewOf } from '../access/open-grants.ts';
import { OwnAccess } from '../access/own-access.ts';
import {
  accessOf,
  checkScope,
  parseSpaceAddress,
  type Principal,
  writeRefusal,
} from '../access/principal.ts';
import { answerAccount, plain, type AccountParts } from './account-routes.ts';
import { failure, HEADERS } from '../http/answers.ts';
import { declaredLength, endingWith } from '../../wire/body.ts';
import { checkClient, clientGone } from '../http/client-gone.ts';
import { CONTENT_CHECKS } from '../limits/content-checks.ts';
import { EarlyLeases } from '../live/early-leases.ts';
import { Gate, type KeylessUse } from '../limits/gate.ts';
import { createStoreHandler, type StoreHandler } from './handler.ts';
import type { ComputeOf } from '../jobs/job.ts';
import { tooOften, type ServiceLimits } from '../limits/limits.ts';
import { errorFields, type ServiceLogger } from '../log/logging.ts';
import { MemoryBudget, noRoom, type MemoryShare } from '../limits/memory-budget.ts';
import { METRICS_MEDIA_TYPE, ServiceMetrics, type Gauges } from '../log/metrics.ts';
import {
  isLocalRequest,
  type AllowedOrigins,
  type ServiceConnection,
} from '../limits/origin-rules.ts';
import { SERVICE_PATHS } from '../http/openapi-service.ts';
import { API_PATH, ROUTES, SPACE_HEADER } from '../../wire/protocol.ts';
import { RepeatedLog } from '../log/repeated-log.ts';
import { DESCRIPTOR_PATH, isApiPath, routeOf, SERVICE_ROUTES } from '../../wire/service-routes.ts';
import {
  isEventStream,
  isSentInParts,
  LOOK_MS,
  StreamKeeper,
  type StreamHolder,
} from '../live/stream-keeper.ts';
import { Usage } from '../limits/usage.ts';
import { watchStore } from '../live/watched-store.ts';

/** What a service is made of. It closes the spaces. */
export type ServiceParts = {
  readonly spaces: StoreSpaces;
  readonly access: AccessBook;
  readonly limits: ServiceLimits;
  readonly keyless: KeylessUse;
  /** Whether `/metrics` asks everybody for a key of scope `admin`, requests of this machine included. */
  readonly areMetricsKeyed?: boolean;
  readonly origins: AllowedOrigins;
  readonly logger: ServiceLogger;
  readonly clock: Clock;
  /** A time that is never set back, in milliseconds. */
  readonly monotonicMs: () => number;
  /** Answers what is neither the API's nor the service's own: the files of the dashboard. */
  readonly pages?: (request: Request, path: string) => Promise<Response>;
  /** Memory of the process. */
  readonly memory?: () => NonNullable<Gauges['memory']>;
  /** Connections of the server, where it counts them. */
  readonly connections?: () => NonNullable<Gauges['connections']>;
  readonly maintenance?: () => Promise<NonNullable<Gauges['maintenance']>>;
  /** Time for which the thread of the service has worked, in milliseconds; users' processor time has only that of jobs without it. */
  readonly loopMs?: () => number;
  /** Where the jobs of a user are done, and what is told of the processor time they take; the calling thread unless given. */
  readonly computeOf?: ComputeOf;
};

/** What only tells of the service itself. */
const OWN_PATHS: ReadonlySet<string> = new Set([
  SERVICE_ROUTES.health,
  SERVICE_ROUTES.ready,
  SERVICE_ROUTES.metrics,
  DESCRIPTOR_PATH,
]);
/** Where looks at stores for live updates are booked. */
const EVENTS_PATH = `/${API_PATH}${ROUTES.events}`;
/** How long a readiness check waits for the database. */
const READY_TIMEOUT_MS = 2_000;
/** How long whoever finds no room is told to wait. */
const NO_ROOM_RETRY_MS = 1_000;
/** A memory budget that is exhausted this long without a release will not recover by itself. */
const STUCK_MS = 30_000;

/** What is known of a request while it is under way. */
type Exchange = {
  /** When it began, by the clock that is never set back. */
  readonly startMs: number;
  readonly request: Request;
  readonly connection: ServiceConnection;
  readonly path: string;
  /** Closed when the answer was sent or its client has disconnected. */
  readonly share: MemoryShare;
  /** Aborted when the client has disconnected. */
  readonly signal: AbortSignal;
  principal: Principal | undefined;
  /** Ends its turn among the requests of its user. */
  endTurn?: () => void;
  /** Ends the count of its user's processor time. */
  leave?: () => void;
  /** Why the request was refused, for the answer. */
  refusal: string;
};

/** Answers requests until it is closed. */
export class ServiceHandler {
  readonly #parts: ServiceParts;
  readonly #gate: Gate;
  readonly #usage: Usage;
  readonly #account: AccountParts;
  readonly #stores: StoreHandler;
  readonly #metrics = new ServiceMetrics();
  readonly #budget: MemoryBudget;
  readonly #streams: StreamKeeper;
  readonly #refusals: RepeatedLog;
  readonly #grants: OpenGrants;
  readonly #earlyLeases: EarlyLeases;
  readonly #idle: (() => void)[] = [];
  #inFlight = 0;
  #isClosing = false;

  constructor(parts: ServiceParts) {
    this.#parts = parts;
    const { access, clock, limits, logger, spaces } = parts;
    this.#usage = new Usage(parts);
    this.#gate = new Gate({ ...parts, usage: this.#usage });
    const own = new OwnAccess({ access, clock, limits, database: spaces.database });
    this.#account = { access, own, logger, usage: this.#usage };
    // One user cannot reserve the whole budget.
    const userLimit = Math.max(limits.maxBytesInFlight / 2, limits.maxUploadBytes);
    this.#budget = new MemoryBudget(limits.maxBytesInFlight, parts.monotonicMs, userLimit);
    this.#refusals = new RepeatedLog(logger, clock);
    this.#streams = new StreamKeeper(parts.clock);
    this.#earlyLeases = new EarlyLeases(clock);
    this.#grants = new OpenGrants(access, parts.keyless === 'always');
    // What was taken away here ends here at once; other processes look by themselves.
    access.onLoss = () => void this.#streams.look();
    this.#stores = createStoreHandler({
      writable: true,
      checks: CONTENT_CHECKS,
      maxUploadBytes: parts.limits.maxUploadBytes,
      maxBlobBytes: parts.limits.maxBlobBytes,
      maxUnpackedBytes: parts.limits.maxUnpackedBytes,
      otherPaths: SERVICE_PATHS,
      clock: parts.clock,
      onFailure: (error, request) =>
        this.#logFailure(
          error,
          request === undefined ? EVENTS_PATH : new URL(request.url).pathname,
        ),
    });
  }

  /** The answer to a request. Never rejects. */
  async handle(request: Request, connection: ServiceConnection = {}): Promise<Response> {
    const path = new URL(request.url).pathname;
    const exchange: Exchange = {
      startMs: this.#parts.monotonicMs(),
      request,
      connection,
      path,
      share: this.#budget.open(),
      signal: connection.signal ?? request.signal,
      principal: undefined,
      refusal: '',
    };
    this.#inFlight += 1;
    let answer = await this.#answerOrFailure(exchange);
    // What is still to be sent is made in a worker, part by part, as the client takes it.
    exchange.endTurn?.();
    this.#parts.origins.mark(answer, request.headers.get('origin'));
    if (this.#isClosing) answer.headers.set('connection', 'close');
    const finish = (sentBytes: number): void => this.#finish(exchange, answer, sentBytes);
    const { share } = exchange;
    if (connection.onClose !== undefined)
      connection.onClose((sentBytes) => {
        share.close();
        finish(sentBytes);
      });
    else {
      finish(declaredLength(answer.headers));
      answer = endingWith(answer, share.close, exchange.signal);
    }
    return answer;
  }

  async #answerOrFailure(exchange: Exchange): Promise<Response> {
    const { path, signal } = exchange;
    try {
      const answer = await this.#answer(exchange);
      if (!signal.aborted) return answer;
      // The body is cancelled, and its memory is released.
      await answer.body?.cancel().catch(() => undefined);
      return failure(clientGone());
    } catch (error) {
      if (signal.aborted) return failure(clientGone());
      const answer = failure(error);
      if (answer.status >= 500) this.#logFailure(error, path);
      if (answer.status === 429) this.#metrics.limited('rate');
      return answer;
    }
  }

  /** Whether requests are taken. */
  get isClosing(): boolean {
    return this.#isClosing;
  }

  /**
   * Turns new requests away and ends streams; resolves when all others are answered, or after `timeoutMs`, to whether
   * they were.
   */
  async drain(timeoutMs: number): Promise<boolean> {
    this.#isClosing = true;
    this.#streams.endAll();
    this.#stores.close();
    this.#refusals.flush();
    if (this.#inFlight === 0) return true;
    return new Promise((resolve) => {
      const undo = this.#parts.clock.after(timeoutMs, () => resolve(false));
      this.#idle.push(() => {
        undo();
        resolve(true);
      });
    });
  }

  async #answer(exchange: Exchange): Promise<Response> {
    const { request, path } = exchange;
    const origin = request.headers.get('origin');
    if (OWN_PATHS.has(path) && request.method !== 'GET' && request.method !== 'HEAD')
      throw new QuarkError('unsupported', 'This address can only be read.', {
        details: { path, httpStatus: 405 },
      });
    if (path === SERVICE_ROUTES.health) return plain(200, { status: 'ok' });
    if (path === SERVICE_ROUTES.ready) return this.#ready();
    if (this.#isClosing)
      throw new SessionStoreError('closed', 'The service is shutting down.', {
        details: { retryAfterMs: NO_ROOM_RETRY_MS },
      });
    if (request.method === 'OPTIONS' && origin !== null && isApiPath(path))
      return this.#parts.origins.preflight(origin);
    if (path === SERVICE_ROUTES.metrics) return this.#renderMetrics(exchange);
    if (path === DESCRIPTOR_PATH) return this.#describe(exchange);
    if (!isApiPath(path)) return this.#page(exchange);
    const principal = await this.#admit(exchange);
    exchange.endTurn = await this.#usage.begin(principal, exchange.signal);
    exchange.leave = this.#usage.enter(principal);
    checkClient(exchange.signal);
    const takeRoom = (bytes: number): void => this.#takeRoom(exchange, bytes);
    const about = await answerAccount({ request, path, principal, takeRoom }, this.#account);
    return about ?? this.#askStore(exchange, principal);
  }

  async #admit(exchange: Exchange): Promise<Principal> {
    try {
      exchange.principal = await this.#gate.admit(exchange.request, exchange.connection);
      exchange.share.giveTo(exchange.principal.userId);
      return exchange.principal;
    } catch (error) {
      exchange.refusal = messageOf(error);
      throw error;
    }
  }

  async #askStore(exchange: Exchange, principal: Principal): Promise<Response> {
    const { request, signal, path } = exchange;
    const { spaces, access, limits } = this.#parts;
    const address = parseSpaceAddress(request.headers.get(SPACE_HEADER) ?? undefined);
    const { storedName, projects } = await access.openSpace(principal, address);
    const kept = spaces.store(storedName);
    const whole = watchStore(kept, this.#metrics, limits);
    const name = address.owner === undefined ? address.name : `${address.owner}:${address.name}`;
    const store = guardStore({
      store: whole,
      name,
      access: accessOf(principal.scope),
      projects,
      blobs: {
        index: this.#grants.blobsOf(storedName),
        notes: kept.notes,
        userId: principal.userId,
      },
    });
    const answer = await this.#stores.handle(request, {
      // A guest's claim waits for no run: it would be on one that may not be shared with them.
      store: projects === undefined ? this.#earlyLeases.over(store, storedName) : store,
      signal,
      feed: { space: storedName, view: `${principal.userId} ${viewOf(projects)}` },
      notes: kept.notes,
      confirm: async () => {
        const tookMs = this.#parts.monotonicMs() - exchange.startMs;
        if (tookMs >= LOOK_MS) await this.#grants.confirm(principal, address, projects);
      },
      writeRefusal: writeRefusal(principal, name),
      takeRoom: (bytes) => this.#takeRoom(exchange, bytes),
      takeUnpacked: (bytes) => this.#usage.takeBytes(principal, bytes),
      compute: this.#parts.computeOf?.(
        principal.userId,
        (ms) => this.#usage.chargeProcessor(principal, ms),
        // In a worker, its user's other requests need not wait for it.
        () => exchange.endTurn?.(),
      ),
    });
    const holder: StreamHolder = {
      principal,
      grant: `${principal.keyId ?? ''} ${principal.userId} ${name} ${viewOf(projects)}`,
      mayGoOn: () => this.#grants.isOpen(principal, address, viewOf(projects)),
    };
    if (!isEventStream(answer))
      return isSentInParts(path) && answer.body !== null
        ? this.#streams.keepLong(answer, holder)
        : answer;
    // A stream waits: its looks at the store are nobody's in particular.
    exchange.leave?.();
    const open = this.#streams.countOf(principal);
    for (const [whose, limit] of [
      ['key', limits.streamsPerKey],
      ['user', limits.streamsPerUser],
    ] as const) {
      if (open[whose] < limit) continue;
      await answer.body?.cancel();
      throw tooOften(
        `This ${whose} has ${limit} streams open, which is the limit.`,
        NO_ROOM_RETRY_MS,
      );
    }
    return this.#streams.keepStream(answer, holder);
  }

  /**
   * @throws {SessionStoreError} `busy` (503; 429 where the user holds as much as one may); {QuarkError} `aborted` once the
   *   client has gone
   */
  #takeRoom({ share, signal }: Exchange, bytes: number): void {
    checkClient(signal);
    if (share.take(bytes)) return;
    this.#metrics.limited('memory');
    throw noRoom(share.isOwnerFull(), NO_ROOM_RETRY_MS);
  }

  async #renderMetrics({ request, connection }: Exchange): Promise<Response> {
    const isFree = this.#parts.areMetricsKeyed !== true && isLocalRequest(request, connection);
    if (request.headers.has('authorization') || !isFree)
      checkScope(await this.#gate.admit(request, connection), 'admin');
    else if (!this.#parts.origins.isOwn(request))
      throw new SessionStoreError('unauthorised', 'Pages of another origin are not answered.');
    const memory = this.#parts.memory?.();
    const connections = this.#parts.connections?.();
    const maintenance = await this.#parts.maintenance?.();
    const text = this.#metrics.render({
      openStreams: this.#streams.total,
      requestsInFlight: this.#inFlight,
      bytesInFlight: this.#budget.used,
      bytesInFlightLimit: this.#budget.limit,
      budgetStuckMs: this.#budget.stuckMs,
      ...(memory === undefined ? {} : { memory }),
      ...(connections === undefined ? {} : { connections }),
      ...(maintenance === undefined ? {} : { maintenance }),
    });
    const headers = { ...HEADERS, 'content-type': METRICS_MEDIA_TYPE, 'cache-control': 'no-store' };
    return new Response(text, { headers });
  }

  /** Alive is not ready: a service whose database is away, or that is going, is not asked. */
  async #ready(): Promise<Response> {
    if (this.#isClosing) return plain(503, { status: 'closing' });
    const { limit, stuckMs, used } = this.#budget;
    if (stuckMs >= STUCK_MS)
      return plain(503, {
        status: 'no_memory_budget',
        reason: `${used} of ${limit} bytes are reserved by requests, and none was released for ${Math.round(stuckMs / 1_000)} seconds.`,
        bytesInFlight: used,
        requestsInFlight: this.#inFlight,
      });
    const { clock, spaces } = this.#parts;
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
      this.#logFailure(error, SERVICE_ROUTES.ready);
      return plain(503, { status: 'no_database' });
    } finally {
      undo();
    }
  }

  /** Tells the page where its store is, and whether to ask for a key. */
  async #describe({ request, connection }: Exchange): Promise<Response> {
    const key = (await this.#gate.isKeyless(request, connection)) ? 'none' : 'needed';
    return plain(200, { storage: './', key });
  }

  async #page({ request, path }: Exchange): Promise<Response> {
    const { pages } = this.#parts;
    if (pages !== undefined) return pages(request, path);
    throw new QuarkError('unsupported', 'There is nothing at this address.');
  }

  #finish(
    { startMs, request, connection, path, principal, refusal, leave }: Exchange,
    { status }: Response,
    responseBytes: number,
  ): void {
    leave?.();
    const requestBytes = declaredLength(request.headers);
    if (principal !== undefined) this.#usage.chargeBytes(principal, requestBytes + responseBytes);
    this.#inFlight -= 1;
    const durationMs = this.#parts.monotonicMs() - startMs;
    const facts = {
      route: routeOf(path),
      method: methodName(request.method),
      status,
      durationMs: Math.round(durationMs * 100) / 100,
      requestBytes,
      responseBytes,
    };
    this.#metrics.answered(facts);
    const keyId = principal?.keyId ?? null;
    const line = { ...facts, keyId, remoteAddress: connection.remoteAddress ?? null };
    if (status < 400) this.#parts.logger.info(line, 'request');
    else {
      const kind = `${facts.method} ${facts.route} ${status} ${keyId ?? ''} ${refusal}`;
      this.#refusals.write('info', kind, line, 'request');
    }
    if (this.#inFlight === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  #logFailure(error: unknown, path: string): void {
    // A stream whose client has disconnected.
    if (isQuarkError(error, 'aborted') || isRefusal(error)) return;
    const route = routeOf(path);
    const fields = errorFields(error);
    const kind = `${route} ${JSON.stringify({ ...fields, stack: undefined })}`;
    this.#refusals.write('error', kind, { route, error: fields }, 'failed');
  }
}

/** Whether somebody was refused by a limit, which the line of their request says. */
function isRefusal(error: unknown): boolean {
  return isQuarkError(error, 'store_failed') && error.details['limit'] !== undefined;
}

/** Methods as labels: what a client makes up is not one. */
function methodName(method: string): string {
  return /^(?:GET|HEAD|POST|PUT|DELETE|OPTIONS|PATCH)$/.test(method) ? method : 'other';
}
