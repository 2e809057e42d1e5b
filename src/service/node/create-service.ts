/** The persistence service as a function from a request to an answer, over the storage that its options name. */
import { timingSafeEqual } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { asGiven, asGivenOr, literal, orDefault, readOptions } from '../../base/options.ts';
import { systemClock, type Clock } from '../../base/clock.ts';
import {
  startMaintenance,
  type MaintainedSpaces,
  type Maintenance,
  type MaintenanceOptions,
  type MaintenanceReport,
} from '../maintenance/maintenance.ts';
import type { S3Options } from '../../store/objects/s3-config.ts';
import { RunningMark } from '../maintenance/running-mark.ts';
import { isProcessGone, processTag } from '../../base/node/process-tag.ts';
import type { QuotaLimits } from '../../store/quotas.ts';
import { AccessBook } from '../access/access-book.ts';
import { checkQuotaLimits } from '../access/quota-book.ts';
import type { KeylessUse } from '../limits/gate.ts';
import { checkLimits, type ServiceLimits } from '../limits/limits.ts';
import { errorFields, SILENT_LOGGER, type ServiceLogger } from '../log/logging.ts';
import type { Gauges } from '../log/metrics.ts';
import { AllowedOrigins, type ServiceConnection } from '../limits/origin-rules.ts';
import { ServiceHandler } from '../routes/service-handler.ts';
import { ComputePool } from './compute-pool.ts';
import type { Synchronous } from '../../store/sql/node/sqlite.ts';
import { openSpaces } from '../../store/sql/node/open-spaces.ts';
import { checkFrameOrigins, openStaticFiles } from './static-files.ts';

/** Options of {@link createService}. */
export type ServiceOptions = {
  /**
   * Where records are stored: a directory or a `file:` URI (SQLite), or `postgres://`, `postgresql://` or `cockroach://`. The
   * current directory unless given.
   */
  readonly storage?: string;
  /**
   * Object store for artifacts and merged segments above some 64 KiB. Unless given, they are stored in the database, or in files
   * beside it.
   */
  readonly objects?: S3Options | undefined;
  /**
   * How far a write to a folder has to come before it is acknowledged: `full`, the default, to the disk, so that it survives the loss
   * of power, too; `normal` to the operating system. `file:DIR?synchronous=...` comes first. A PostgreSQL server has its own settings.
   */
  readonly synchronous?: Synchronous | undefined;
  /**
   * Merges small segments, and deletes what was merged away, in this process. Any number of services over one database
   * share the work; false leaves it to the others.
   */
  readonly maintenance?: Omit<MaintenanceOptions, 'clock' | 'onReport'> | false;
  /** Folder with the built dashboard; without it only the API is served. */
  readonly dashboardDir?: string;
  /**
   * The content of a `quark.config.json`, as `checkQuarkConfig` of `quark-sdk/analysis` returns it: pages judge runs by it. Everybody who reaches
   * the page can read it, and the service runs nothing of it. Default: none.
   */
  readonly pageConfig?: object;
  /**
   * Who may do without a key. Requests count as made on this machine only when the handler is told the address of their
   * connection, it is one of loopback, they are for `localhost` or a loopback address, no proxy has had them, and they
   * come from no page of another origin. Default `until_first_key`.
   */
  readonly keyless?: KeylessUse;
  /** Origins whose pages may use the service, such as `https://app.example.com`; `*` for all that send a key. Default none. */
  readonly allowOrigins?: readonly string[];
  /** Origins whose pages may show a run in a frame, such as `https://blog.example.org`. Default: none but the service's own. */
  readonly allowFrames?: readonly string[];
  /**
   * Most bytes, runs and segments of a user for whom nothing else was set; null or left out: as much as there is room for. "quark
   * quota" sets those of single users and projects.
   */
  readonly quotas?: Partial<QuotaLimits>;
  /** Limits per request, key and user, and in all. Default: `DEFAULT_SERVICE_LIMITS`. */
  readonly limits?: Partial<ServiceLimits>;
  /** Where to log; nowhere unless given. A `pino` logger fits. */
  readonly logger?: ServiceLogger;
  /** Decides when keys and leases end. Default: the clock of the machine. */
  readonly clock?: Clock;
};

/** A running service: call it with a request. */
export type Service = {
  /** The answer to a request. Never rejects. */
  (request: Request, connection?: ServiceConnection): Promise<Response>;
  /** Where records are stored, without anything secret. */
  readonly storageUri: string;
  /** Users, keys and shares. */
  readonly access: AccessBook;
  /** Turns new requests away; resolves when those under way are answered, or after so many milliseconds, to whether they were. */
  drain(timeoutMs: number): Promise<boolean>;
  /** Drains for 10 seconds at most unless {@link Service.drain} was called, then closes the database. Closing twice is fine. */
  close(): Promise<void>;
};

const SYNCHRONOUS = ['full', 'normal'] as const;
const KEYLESS_USES = ['never', 'until_first_key', 'always'] as const;

/** Worker threads. All jobs of one user run in one of them, which leaves the other one to other users. */
const COMPUTE_WORKERS = 2;
/** How long requests under way may take when a service is closed. */
export const DRAIN_TIMEOUT_MS = 10_000;

/**
 * Opens the storage and makes the service over it. Put it on a socket with `serveService`, or call it from a server of
 * your own: `Deno.serve`, an edge function, Hono's `app.mount`.
 *
 * @throws {QuarkError} `invalid_input` naming the option
 * @throws {SessionStoreError} what the storage reports: `unwritable`, `corrupt`, `version`, `unreachable`, ...
 * @example
 * ```js
 * import { createService } from 'quark-sdk/service';
 *
 * const service = await createService({ storage: 'quark-runs' });
 * const response = await service(new Request('http://localhost/healthz')); // from Deno.serve, Hono's app.mount, ...
 * console.log(response.status); // 200
 * const { key } = await service.access.createKey({ user: 'ada' });
 * console.log(key.startsWith('qk_')); // true
 * await service.close();
 * ```
 */
export function createService(options: ServiceOptions = {}): Promise<Service> {
  return makeService(options);
}

/** What the server around a service knows. */
type ServerFacts = {
  readonly connections?: () => NonNullable<Gauges['connections']>;
  /** Unless given: with `keyless: 'never'`. A server that sets `never` because of its address leaves `/metrics` to this machine. */
  readonly areMetricsKeyed?: boolean;
};

/** {@link createService}, with the connection counts of the server around it. */
export async function makeService(
  options: ServiceOptions,
  server: ServerFacts = {},
): Promise<Service> {
  const settings = checkOptions(options);
  const { clock, keyless, limits, logger } = settings;
  const pages = await openStaticFiles(settings.dashboardDir, settings.allowFrames);
  const spaces = await openSpaces(settings.storage, {
    clock,
    objects: settings.objects,
    synchronous: settings.synchronous,
  });
  const identity = await RunningMark.start({
    database: spaces.database,
    clock,
    tag: processTag,
    isGone: isProcessGone,
    onFailure: (error) => logger.warn({ error: errorFields(error) }, 'mark not written'),
  });
  const maintenance = maintain(spaces, settings);
  const access = new AccessBook({ database: spaces.database, clock, timingSafeEqual });
  access.quotas.defaults = settings.quotas;
  access.quotas.onNear = (ownerId, { resource, used, limit }) =>
    logger.warn({ ownerId, resource, used, limit }, 'four fifths of a quota are used');
  const compute = new ComputePool({
    size: COMPUTE_WORKERS,
    clock: systemClock,
    processorMsPerRequest: limits.processorMsPerRequest,
  });
  const handler = new ServiceHandler({
    spaces,
    access,
    identity,
    limits,
    keyless,
    areMetricsKeyed: server.areMetricsKeyed ?? keyless === 'never',
    origins: settings.allowOrigins,
    logger,
    clock,
    monotonicMs: () => performance.now(),
    loopMs: () => performance.eventLoopUtilization().active,
    computeOf: (userId, charge, onStart) => compute.of(userId, charge, onStart),
    pages,
    pageConfig: settings.pageConfig,
    memory: () => {
      const { rss, heapUsed } = process.memoryUsage();
      return { residentBytes: rss, heapBytes: heapUsed };
    },
    connections: server.connections,
    maintenance:
      maintenance &&
      (async () => ({ ...maintenance.status, backlog: await maintenance.countBacklog() })),
  });
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    const stopped = maintenance?.stop();
    if (!handler.isClosing) await handler.drain(DRAIN_TIMEOUT_MS);
    await compute.close();
    await stopped;
    await identity.stop();
    await spaces.close();
  };
  return Object.assign(
    (request: Request, connection?: ServiceConnection) => handler.handle(request, connection),
    {
      storageUri: spaces.uri,
      access,
      drain: (timeoutMs: number) => handler.drain(timeoutMs),
      close: () => (closing ??= close()),
    },
  );
}

type Settings = ReturnType<typeof checkOptions>;

function checkOptions(options: ServiceOptions) {
  return readOptions(
    'options',
    options,
    {
      storage: orDefault(asGiven, '.'),
      objects: asGiven,
      synchronous: orDefault(literal<Synchronous>(SYNCHRONOUS), 'full'),
      maintenance: asGiven,
      dashboardDir: asGiven,
      pageConfig: asGiven,
      keyless: orDefault(literal<KeylessUse>(KEYLESS_USES), 'until_first_key'),
      allowFrames: checkFrameOrigins,
      allowOrigins: (_field, origins) => new AllowedOrigins(origins ?? []),
      limits: (_field, limits) => checkLimits(limits),
      quotas: (_field, quotas) => checkQuotaLimits('quotas', quotas),
      logger: asGivenOr(SILENT_LOGGER),
      clock: asGivenOr(systemClock),
    },
    '',
  );
}

function maintain(
  spaces: MaintainedSpaces,
  { maintenance, clock, logger }: Settings,
): Maintenance | undefined {
  if (maintenance === false) return undefined;
  const onReport = (report: MaintenanceReport): void => logMaintenance(logger, report);
  return startMaintenance(spaces, { ...maintenance, clock, onReport });
}

function logMaintenance(logger: ServiceLogger, report: MaintenanceReport): void {
  const { kind, ...facts } = report;
  if (report.kind === 'failed')
    logger.warn({ what: report.what, error: errorFields(report.error) }, 'maintenance failed');
  else logger.debug(facts, `maintenance ${kind}`);
}
