/**
 * The service without a socket: `(Request) => Promise<Response>`. Finds out who asks and what is open to them, and lets
 * the handler of stores (`handler.ts`) answer over a store that shows nothing else.
 *
 *     request ─ key ─ limits ─ space ─ guarded store ─ handler ─ answer ─ counters, log
 */
import type { Clock } from '../../base/clock.ts';
import { isQuarkError, messageOf, QuarkError, SessionStoreError } from '../../base/errors.ts';
import type { StoreSpaces } from '../../store/sql/sql-store.ts';
import { declaredLength, endingWith } from '../../wire/body.ts';
import { DESCRIPTOR_PATH, endpointAt, isApiPath, labelOf, pathOf } from '../../wire/route-paths.ts';
import type { AccessBook } from '../access/access-book.ts';
import { actorOf, type Actor } from '../access/audit-log.ts';
import { OpenGrants } from '../access/open-grants.ts';
import { Removals } from '../access/removals.ts';
import { OwnAccess } from '../access/own-access.ts';
import type { Principal } from '../access/principal.ts';
import { failure, plain } from '../http/answers.ts';
import { checkClient, clientGone } from '../http/client-gone.ts';
import type { ComputeOf } from '../jobs/job.ts';
import { CONTENT_CHECKS } from '../limits/content-checks.ts';
import { Gate, type KeylessUse } from '../limits/gate.ts';
import { RETRY_MS, type ServiceLimits } from '../limits/limits.ts';
import { MemoryBudget, noRoom } from '../limits/memory-budget.ts';
import type { AllowedOrigins, ServiceConnection } from '../limits/origin-rules.ts';
import { RefusalLog } from '../limits/refusal-log.ts';
import { Usage } from '../limits/usage.ts';
import { EarlyLeases } from '../live/early-leases.ts';
import { StreamKeeper } from '../live/stream-keeper.ts';
import { errorFields, type ServiceLogger } from '../log/logging.ts';
import type { RunningMark } from '../maintenance/running-mark.ts';
import { ServiceMetrics, type Gauges } from '../log/metrics.ts';
import { RepeatedLog } from '../log/repeated-log.ts';
import { createAccountHandler, type AccountHandler } from './account-routes.ts';
import { createStoreHandler, type StoreHandler } from './handler.ts';
import { SpaceRequests, type Exchange } from './space-requests.ts';
import { statusRouteAt, type StatusRouteParts } from './status-routes.ts';

/** What a service is made of. It closes the spaces. */
export type ServiceParts = {
  readonly spaces: StoreSpaces;
  readonly access: AccessBook;
  readonly limits: ServiceLimits;
  /** Tells the identity of the database with every answer; nothing is told without it. */
  readonly identity?: Pick<RunningMark, 'mark'>;
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
  /** What pages judge runs by: the content of a `quark.config.json`. */
  readonly pageConfig?: object | undefined;
  /** Memory of the process. */
  readonly memory?: () => NonNullable<Gauges['memory']>;
  /** Connections of the server, where it counts them. */
  readonly connections?: undefined | (() => NonNullable<Gauges['connections']>);
  readonly maintenance?: undefined | (() => Promise<NonNullable<Gauges['maintenance']>>);
  /** Time for which the thread of the service has worked, in milliseconds; users' processor time has only that of jobs without it. */
  readonly loopMs?: () => number;
  /** Where the jobs of a user are done, and what is told of the processor time they take; the calling thread unless given. */
  readonly computeOf?: ComputeOf;
};

/** Where polls of stores for live updates are booked. */
const EVENTS_PATH = pathOf('GET /events');
const READY_PATH = pathOf('GET /readyz');
/** Answers requests until it is closed. */
export class ServiceHandler {
  readonly #parts: ServiceParts;
  readonly #gate: Gate;
  readonly #usage: Usage;
  readonly #account: AccountHandler;
  readonly #stores: StoreHandler;
  readonly #metrics = new ServiceMetrics();
  readonly #budget: MemoryBudget;
  readonly #streams: StreamKeeper;
  readonly #refusals: RepeatedLog;
  readonly #refused: RefusalLog;
  readonly #spaces: SpaceRequests;
  readonly #status: StatusRouteParts;
  readonly #idle: (() => void)[] = [];
  #inFlight = 0;
  #isClosing = false;

  constructor(parts: ServiceParts) {
    this.#parts = parts;
    const { access, clock, limits, logger, spaces } = parts;
    this.#usage = new Usage(parts);
    this.#gate = new Gate({ ...parts, usage: this.#usage });
    const removals = new Removals({ spaces, access, clock });
    const own = new OwnAccess({ access, clock, limits, removals, database: spaces.database });
    this.#account = createAccountHandler({ access, own, logger, usage: this.#usage });
    // One user cannot reserve the whole budget.
    const userLimit = Math.max(limits.maxBytesInFlight / 2, limits.maxUploadBytes);
    this.#budget = new MemoryBudget(limits.maxBytesInFlight, parts.monotonicMs, userLimit);
    this.#refusals = new RepeatedLog(logger, clock);
    this.#refused = new RefusalLog(access.audit, clock);
    this.#streams = new StreamKeeper(parts.clock);
    // Access that ends through this process ends open answers at once; other processes poll.
    access.onLoss = () => void this.#streams.checkAccess();
    this.#stores = createStoreHandler({
      writable: true,
      checks: CONTENT_CHECKS,
      maxUploadBytes: parts.limits.maxUploadBytes,
      maxBlobBytes: parts.limits.maxBlobBytes,
      maxUnpackedBytes: parts.limits.maxUnpackedBytes,
      describedGroups: ['store', 'account', 'service'],
      clock: parts.clock,
      onFailure: (error, request) =>
        this.#logFailure(
          error,
          request === undefined ? EVENTS_PATH : new URL(request.url).pathname,
        ),
    });
    this.#spaces = new SpaceRequests({
      ...parts,
      metrics: this.#metrics,
      usage: this.#usage,
      grants: new OpenGrants(access, parts.keyless === 'always'),
      earlyLeases: new EarlyLeases(clock),
      streams: this.#streams,
      stores: this.#stores,
      takeRoom: (exchange, bytes) => this.#takeRoom(exchange, bytes),
    });
    this.#status = {
      ...parts,
      areMetricsKeyed: parts.areMetricsKeyed === true,
      gate: this.#gate,
      metrics: this.#metrics,
      gauges: () => this.#gauges(),
      budget: this.#budget,
      isClosing: () => this.#isClosing,
      requestsInFlight: () => this.#inFlight,
      onFailure: (error) => this.#logFailure(error, READY_PATH),
    };
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
    if (answer.status === 403) await this.#recordRefusal(exchange);
    // What is still to be sent is made in a worker, part by part, as the client takes it.
    exchange.endTurn?.();
    this.#parts.identity?.mark(answer);
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

  async #recordRefusal(exchange: Exchange): Promise<void> {
    const { path, principal, request } = exchange;
    if (principal === undefined) return;
    try {
      const { method } = request;
      await this.#refused.record(actorIn(exchange, principal), { method, path });
    } catch (error) {
      this.#logFailure(error, path);
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
    const status = statusRouteAt(path);
    const isOwn = status !== undefined || path === DESCRIPTOR_PATH;
    if (isOwn && request.method !== 'GET' && request.method !== 'HEAD')
      throw new QuarkError('unsupported', 'This address can only be read.', {
        details: { path, httpStatus: 405 },
      });
    // Those that anybody may ask are answered to the end: that the service is shutting down is one of the answers.
    if (this.#isClosing && status?.isOpenToAll !== true)
      throw new SessionStoreError('closed', 'The service is shutting down.', {
        details: { retryAfterMs: RETRY_MS },
      });
    if (request.method === 'OPTIONS' && origin !== null && isApiPath(path))
      return this.#parts.origins.preflight(origin);
    if (status !== undefined) return status.answer(this.#status, request, exchange.connection);
    if (path === DESCRIPTOR_PATH) return this.#describe(exchange);
    if (!isApiPath(path)) return this.#page(exchange);
    const principal = await this.#admit(exchange);
    exchange.endTurn = await this.#usage.begin(principal, exchange.signal);
    exchange.leave = this.#usage.enter(principal);
    checkClient(exchange.signal);
    const takeRoom = (bytes: number): void => this.#takeRoom(exchange, bytes);
    return endpointAt(path)?.group === 'account'
      ? this.#account(request, {
          principal: { ...principal, actor: actorIn(exchange, principal) },
          takeRoom,
        })
      : this.#spaces.answer(exchange, principal);
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

  /**
   * @throws {SessionStoreError} `busy` (503; 429 where the user holds as much as one may); {QuarkError} `aborted` once the
   *   client has gone
   */
  #takeRoom({ share, signal }: Exchange, bytes: number): void {
    checkClient(signal);
    if (share.take(bytes)) return;
    this.#metrics.limited('memory');
    throw noRoom(share.isOwnerFull(), RETRY_MS);
  }

  async #gauges(): Promise<Gauges> {
    const { memory, connections, maintenance } = this.#parts;
    return {
      openStreams: this.#streams.total,
      requestsInFlight: this.#inFlight,
      bytesInFlight: this.#budget.used,
      bytesInFlightLimit: this.#budget.limit,
      budgetStuckMs: this.#budget.stuckMs,
      quotas: this.#parts.access.quotas.counts,
      memory: memory?.(),
      connections: connections?.(),
      maintenance: await maintenance?.(),
    };
  }

  /** Tells the page where its store is, and whether to ask for a key. */
  async #describe({ request, connection }: Exchange): Promise<Response> {
    const key = (await this.#gate.isKeyless(request, connection)) ? 'none' : 'needed';
    const { pageConfig } = this.#parts;
    return plain(200, {
      storage: './',
      key,
      ...(pageConfig === undefined ? {} : { config: pageConfig }),
    });
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
      route: labelOf(path),
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
    const route = labelOf(path);
    const fields = errorFields(error);
    const kind = `${route} ${JSON.stringify({ ...fields, stack: undefined })}`;
    this.#refusals.write('error', kind, { route, error: fields }, 'failed');
  }
}

/** Whether somebody was refused by a limit, which the line of their request says. */
function isRefusal(error: unknown): boolean {
  return isQuarkError(error, 'store_failed') && error.details['limit'] !== undefined;
}

/** Who asks, for the audit log. */
function actorIn({ connection, request }: Exchange, principal: Principal): Actor {
  return actorOf(principal, connection.remoteAddress, request.headers);
}

/** Methods as labels: what a client makes up is not one. */
function methodName(method: string): string {
  return /^(?:GET|HEAD|POST|PUT|DELETE|OPTIONS|PATCH)$/.test(method) ? method : 'other';
}
