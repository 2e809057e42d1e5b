/** The persistence service on a port. */
import { checkCount } from '../../base/assert.ts';
import { systemClock } from '../../base/clock.ts';
import { invalidInput } from '../../base/errors.ts';
import type { AccessBook } from '../access/access-book.ts';
import { checkLimits } from '../limits/limits.ts';
import { SILENT_LOGGER } from '../log/logging.ts';
import { isLoopbackHost } from '../limits/origin-rules.ts';
import { RepeatedLog } from '../log/repeated-log.ts';
import { ConnectionSlots } from './connection-slots.ts';
import { DRAIN_TIMEOUT_MS, makeService, type ServiceOptions } from './create-service.ts';
import { createHttpServer } from './http-exchanges.ts';
import { checkPort, closeServer, listen, urlOf } from './listener.ts';

/** Options of {@link serveService}. */
export type ServeServiceOptions = ServiceOptions & {
  /** Port to listen on; 0, the default, takes a free one. */
  readonly port?: number;
  /** Address to listen on; `127.0.0.1` unless given. On any other than one of loopback, every request needs a key. */
  readonly host?: string;
  /** How long requests under way may take when the service is closed, in milliseconds; 10,000 unless given. */
  readonly drainTimeoutMs?: number;
};

/** A service that listens. */
export type ServedService = {
  /** Address of the dashboard and of the API, with a slash at its end: `http://127.0.0.1:4747/`. */
  readonly url: string;
  readonly port: number;
  /** Where records are stored, without anything secret. */
  readonly storageUri: string;
  /** Users, keys and shares. */
  readonly access: AccessBook;
  /** Whether people at this machine may do without a key now. */
  isOpen(): Promise<boolean>;
  /** Takes no more requests, finishes those under way, closes the database. Closing twice is fine. */
  close(): Promise<void>;
};

/** How long answers may take to reach their clients once they are made. */
const SEND_TIMEOUT_MS = 2_000;

/**
 * Makes a service and puts it on a port of this machine: what `quark serve` does.
 *
 * @throws {QuarkError} `invalid_input` naming the option
 * @throws {SessionStoreError} `failed` when the port is taken or may not be used; what the storage reports
 * @example
 * ```js
 * import { listRuns, openStorage, startRun } from 'quark-sdk';
 * import { serveService } from 'quark-sdk/service';
 *
 * const service = await serveService({ storage: 'service-data', port: 0 }); // a free port of 127.0.0.1
 * const { key } = await service.access.createKey({ user: 'ada' });
 * const session = await startRun({ project: 'digits', storageDir: 'quark-runs', persistenceUrl: service.url, userKey: key });
 * await session.synced();
 * await session.endRun();
 * const remote = await openStorage(service.url, { userKey: key, space: 'quark-runs' }); // named after the folder
 * console.log((await listRuns(remote)).length); // 1
 * await remote.close();
 * await service.close();
 * ```
 */
export async function serveService(options: ServeServiceOptions = {}): Promise<ServedService> {
  const { port = 0, host = '127.0.0.1', drainTimeoutMs = DRAIN_TIMEOUT_MS, ...rest } = options;
  checkPort(port);
  checkCount('drainTimeoutMs', drainTimeoutMs);
  const isLocal = isLoopbackHost(host);
  const { keyless = 'until_first_key' } = rest;
  if (keyless === 'always' && !isLocal)
    throw invalidInput(
      'keyless',
      keyless,
      `"never" or "until_first_key" where other machines reach the service (host ${host})`,
    );
  const { clock = systemClock, limits, logger = SILENT_LOGGER } = rest;
  const log = new RepeatedLog(logger, clock);
  const slots = new ConnectionSlots(checkLimits(limits), (bound) =>
    log.write('warn', bound, { bound, open: slots.open }, 'connection refused'),
  );
  const service = await makeService(
    { ...rest, keyless: isLocal ? keyless : 'never' },
    { connections: () => slots, areMetricsKeyed: keyless === 'never' },
  );
  const server = createHttpServer(service);
  slots.guard(server);
  try {
    const address = await listen(server, port, host);
    let closing: Promise<void> | undefined;
    const close = async (): Promise<void> => {
      // Connections that ask for something more are told to go while the last answers are made.
      const drained = service.drain(drainTimeoutMs);
      const closed = closeServer(server, drainTimeoutMs + SEND_TIMEOUT_MS);
      // What is open now asks for nothing, such as a connection that a browser has opened in advance.
      if (await drained) server.closeAllConnections();
      await closed;
      log.flush();
      await service.close();
    };
    return {
      url: urlOf(host, address.port),
      port: address.port,
      storageUri: service.storageUri,
      access: service.access,
      isOpen: async () =>
        isLocal &&
        (keyless === 'always' ||
          (keyless === 'until_first_key' && !(await service.access.hasKeys()))),
      close: () => (closing ??= close()),
    };
  } catch (error) {
    await service.close();
    throw error;
  }
}
