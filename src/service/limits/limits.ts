/** Limits of a service: per request, per key, per user and in all. */
import { checkCount, checkOptionNames, checkPositive } from '../../base/assert.ts';
import { invalidInput, SessionStoreError } from '../../base/errors.ts';
import type { NewSegment } from '../../store/store.ts';
import {
  MAX_BLOB_UPLOAD_BYTES,
  MAX_SEGMENTS_PER_UPLOAD,
  MAX_UNPACKED_BYTES,
  MAX_UPLOAD_BYTES,
} from '../../wire/protocol.ts';

/**
 * Limits of a service, as the option `limits` of `createService` and `serveService`. What exceeds a limit is refused with status
 * 4xx, or with 429 or 503 and `Retry-After`.
 *
 * Requests, bytes and processor time are token buckets of a user, over all keys of that user. While several keys of a user are
 * active, a key that used more than 1.5 times its equal share in the last seconds may use only the upper half of a bucket: the
 * other half is reserved for the other keys.
 *
 * @example
 * ```js
 * import { serveService } from 'quark-sdk/service';
 *
 * const limits = { requestsPerSecond: 50, maxConnections: 1_000 };
 * const service = await serveService({ storage: 'quark-runs', limits });
 * console.log(service.port > 0); // true
 * await service.close();
 * ```
 */
export type ServiceLimits = {
  /** Bytes of an upload of segments, as sent and unpacked. Default: 66 MiB, the largest segment with its manifest. */
  readonly maxUploadBytes: number;
  /** Bytes of a blob. Payloads of artifacts travel in parts of 16 MiB. Default: 64 MiB. */
  readonly maxBlobBytes: number;
  /** Segments in one upload. Default and largest value: 4,096. */
  readonly maxSegmentsPerRequest: number;
  /** Rows in one upload. Default: 4,194,304. */
  readonly maxRowsPerRequest: number;
  /** Characters of a project name, a status, a tag or a key of rows. Default: 512, the longest that writers make. */
  readonly maxNameChars: number;
  /** Tags of one run. Default: 256. */
  readonly maxTags: number;
  /** Requests per second of one user, on average. Default: 200. */
  readonly requestsPerSecond: number;
  /** Burst of requests of one user: the size of the bucket that `requestsPerSecond` fills. Default: 1,000. */
  readonly requestBurst: number;
  /** Bytes per second of one user, on average: of bodies as sent, of segments as unpacked, and of answers. Default: 128 MiB. */
  readonly bytesPerSecond: number;
  /** Burst of bytes of one user: the size of the bucket that `bytesPerSecond` fills. Default: 2 GiB. */
  readonly byteBurst: number;
  /** Unpacked bytes of the segments of one upload. Default: 512 MiB. */
  readonly maxUnpackedBytes: number;
  /**
   * Processor time of one user over all threads, in milliseconds per second, on average. While other users are active, a user
   * with more than 1.5 times an equal share waits earlier. Default: 1,500.
   */
  readonly processorMsPerSecond: number;
  /**
   * Burst of processor time of one user, in milliseconds: the size of the bucket that `processorMsPerSecond` fills. Default:
   * 60,000.
   */
  readonly processorBurstMs: number;
  /** Processor time of one request for segment checks, rows or curves, in milliseconds. Default: 60,000. */
  readonly processorMsPerRequest: number;
  /** Attempts a minute to get in without a good key, from one address, before the answer is 429. Default: 60. */
  readonly refusalsPerMinute: number;
  /** Streams of live updates that one key has open. Default: 64. */
  readonly streamsPerKey: number;
  /** Open streams of live updates of one user, over all keys. Default: 256. */
  readonly streamsPerUser: number;
  /** Keys per minute that a user creates with keys of scope `admin`, on average and as a burst. Default: 30. */
  readonly keysPerMinute: number;
  /** Keys of one user that are good, before a key of scope `admin` makes no more of them. Default: 1,000. */
  readonly keysPerUser: number;
  /** Shares of one user's projects, before a key of scope `admin` makes no more of them. Default: 1,000. */
  readonly sharesPerUser: number;
  /**
   * Memory budget of all requests and answers under way, in bytes. One user may hold half of it, or one upload of the largest
   * size if that is more. Default: 512 MiB.
   */
  readonly maxBytesInFlight: number;
  /**
   * Open connections in all. At the limit, a new connection replaces the one that has been idle longest; when all have requests
   * under way, the new one is refused with status 503. Counts for `serveService` only. Default: 4,096.
   */
  readonly maxConnections: number;
  /**
   * Open connections from one address; further ones are refused with status 503. Loopback addresses are exempt. Behind a proxy on
   * another machine, set it to the number of connections that the proxy may open: all its clients share its address. Counts for
   * `serveService` only. Default: 512.
   */
  readonly maxConnectionsPerAddress: number;
  /**
   * Days for which what a key of scope `delete` deletes can be brought back, at least. What goes sooner, and rows that go at once,
   * needs a key of scope `admin`. 0: a key of scope `delete` may remove all of it at once. Default: 1.
   */
  readonly minUndoDays: number;
};

/** The defaults of {@link ServiceLimits}. */
export const DEFAULT_SERVICE_LIMITS: ServiceLimits = Object.freeze({
  maxUploadBytes: MAX_UPLOAD_BYTES,
  maxBlobBytes: MAX_BLOB_UPLOAD_BYTES,
  maxSegmentsPerRequest: MAX_SEGMENTS_PER_UPLOAD,
  maxRowsPerRequest: 4 * 1024 * 1024,
  maxNameChars: 512,
  maxTags: 256,
  requestsPerSecond: 200,
  requestBurst: 1_000,
  bytesPerSecond: 128 * 1024 * 1024,
  byteBurst: 2 * 1024 * 1024 * 1024,
  maxUnpackedBytes: MAX_UNPACKED_BYTES,
  processorMsPerSecond: 1_500,
  processorBurstMs: 60_000,
  processorMsPerRequest: 60_000,
  refusalsPerMinute: 60,
  streamsPerKey: 64,
  streamsPerUser: 256,
  keysPerMinute: 30,
  keysPerUser: 1_000,
  sharesPerUser: 1_000,
  maxBytesInFlight: 512 * 1024 * 1024,
  maxConnections: 4_096,
  maxConnectionsPerAddress: 512,
  minUndoDays: 1,
});

/** A hundred years: no deleted run can be brought back for longer. */
const MAX_UNDO_DAYS = 36_500;

/** The limits with their defaults filled in. @throws {QuarkError} `invalid_input` */
export function checkLimits(given: Partial<ServiceLimits> = {}): ServiceLimits {
  checkOptionNames('limits', given, Object.keys(DEFAULT_SERVICE_LIMITS));
  const limits = { ...DEFAULT_SERVICE_LIMITS, ...given };
  const { minUndoDays, ...positive } = limits;
  for (const [name, value] of Object.entries(positive)) checkPositive(`limits.${name}`, value);
  if (checkCount('limits.minUndoDays', minUndoDays) > MAX_UNDO_DAYS)
    throw invalidInput('limits.minUndoDays', minUndoDays, `from 0 to ${MAX_UNDO_DAYS}`);
  if (limits.maxBytesInFlight < limits.maxUploadBytes)
    throw invalidInput(
      'limits.maxBytesInFlight',
      limits.maxBytesInFlight,
      'at least maxUploadBytes, or no large upload could ever arrive',
    );
  return limits;
}

/** Counts what is open, for each name and in all. */
export class OpenCounter {
  readonly #counts = new Map<string, number>();
  #total = 0;

  get total(): number {
    return this.#total;
  }

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  /** Counts one more; returns the undo, which works once. */
  open(name: string): () => void {
    this.#counts.set(name, this.of(name) + 1);
    this.#total += 1;
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.#total -= 1;
      const left = this.of(name) - 1;
      if (left === 0) this.#counts.delete(name);
      else this.#counts.set(name, left);
    };
  }
}

/** How long a client is told to wait where nothing better is known, in milliseconds. */
export const RETRY_MS = 1_000;

/** The error for somebody who is to come back later: status 429, with `Retry-After`. */
export function tooOften(message: string, retryAfterMs = RETRY_MS): SessionStoreError {
  return new SessionStoreError('busy', message, { details: { retryAfterMs, httpStatus: 429 } });
}

/** Checks the sum of an upload. @throws {SessionStoreError} `too_large` */
export function checkUpload(segments: readonly NewSegment[], limits: ServiceLimits): void {
  if (segments.length > limits.maxSegmentsPerRequest)
    throw tooMany('segments', segments.length, limits.maxSegmentsPerRequest);
  let rows = 0;
  for (const { manifest } of segments) {
    rows += manifest.rowCount;
    if (rows > limits.maxRowsPerRequest) throw tooMany('rows', rows, limits.maxRowsPerRequest);
    for (const key of manifest.keys ?? []) checkNameLength('keys', key, limits);
  }
}

/** Checks the names in a run. @throws {QuarkError} `invalid_input` */
export function checkRunNames(
  run: { readonly projectName: string; readonly status: string; readonly tags: readonly string[] },
  limits: ServiceLimits,
): void {
  checkNameLength('projectName', run.projectName, limits);
  checkNameLength('status', run.status, limits);
  if (run.tags.length > limits.maxTags)
    throw invalidInput('tags.length', run.tags.length, `at most ${limits.maxTags}`);
  for (const tag of run.tags) checkNameLength('tags', tag, limits);
}

/** @throws {QuarkError} `invalid_input` */
export function checkNameLength(field: string, value: string, limits: ServiceLimits): void {
  if (value.length > limits.maxNameChars)
    throw invalidInput(field, value, `at most ${limits.maxNameChars} characters`);
}

function tooMany(what: string, count: number, limit: number): SessionStoreError {
  return new SessionStoreError(
    'too_large',
    `One upload may hold at most ${limit} ${what}; got ${count}. Send less at once.`,
    { details: { field: what, rule: `at most ${limit}` } },
  );
}
