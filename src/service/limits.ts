/** What a service lets one user, each of their keys, and all of them together take. */
import { checkOptionNames, checkPositive } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import { invalidInput, SessionStoreError } from '../base/errors.ts';
import type { NewSegment } from '../store/store.ts';
import {
  MAX_BLOB_UPLOAD_BYTES,
  MAX_SEGMENTS_PER_UPLOAD,
  MAX_UNPACKED_BYTES,
  MAX_UPLOAD_BYTES,
} from './protocol.ts';

/**
 * The limits of a service. Requests, bytes, processor time and streams are counted for a user, whatever number of keys they
 * have. While several keys of a user are active, one that has taken more than one and a half even parts in the last seconds may use the
 * upper half of a burst only: the other half is for the other keys.
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
  /** Requests a second of one user, on average. Default: 200. */
  readonly requestsPerSecond: number;
  /** Requests of one user at once, before the average counts. Default: 1,000. */
  readonly requestBurst: number;
  /** Bytes a second of one user, on average: as sent, as unpacked to be checked, and as answered. Default: 128 MiB. */
  readonly bytesPerSecond: number;
  /** Bytes of one user at once, before the average counts. Default: 2 GiB. */
  readonly byteBurst: number;
  /** Bytes of the segments of one upload, unpacked. Default: 512 MiB. */
  readonly maxUnpackedBytes: number;
  /**
   * Processor time of one user, in milliseconds a second on average, over all threads. While other users are active, those
   * that take more than one and a half even parts are held back sooner. Default: 1,500.
   */
  readonly processorMsPerSecond: number;
  /** Processor time of one user at once, in milliseconds, before the average counts. Default: 60,000. */
  readonly processorBurstMs: number;
  /** Processor time of the checks, rows or curves of one request, in milliseconds. Default: 60,000. */
  readonly processorMsPerRequest: number;
  /** Attempts a minute to get in without a good key, from one address, before the answer is 429. Default: 60. */
  readonly refusalsPerMinute: number;
  /** Streams of live updates that one key has open. Default: 64. */
  readonly streamsPerKey: number;
  /** Streams of live updates that one user has open with all keys. Default: 256. */
  readonly streamsPerUser: number;
  /** Keys that a user makes in a minute by keys of scope `admin`, on average and at once. Default: 30. */
  readonly keysPerMinute: number;
  /** Keys of one user that are good, before a key of scope `admin` makes no more of them. Default: 1,000. */
  readonly keysPerUser: number;
  /** Shares of one user's projects, before a key of scope `admin` makes no more of them. Default: 1,000. */
  readonly sharesPerUser: number;
  /**
   * Bytes that requests and answers under way may hold, of all users together. One user may hold half of it, or one
   * upload of the largest size where that is more. Default: 512 MiB.
   */
  readonly maxBytesInFlight: number;
  /**
   * Connections that are open, all clients together. Beyond it, the connection that has waited longest without a request
   * is ended for a new one; where all have requests under way, the new one is refused with status 503. Default: 4,096.
   */
  readonly maxConnections: number;
  /**
   * Connections that are open from one address; further ones are refused with status 503. Does not count for addresses of
   * loopback. A proxy on another machine needs `maxConnections` here, as it is the address of all its clients. Default: 512.
   */
  readonly maxConnectionsPerAddress: number;
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
});

/** The limits with their defaults filled in. @throws {QuarkError} `invalid_input` */
export function checkLimits(given: Partial<ServiceLimits> = {}): ServiceLimits {
  checkOptionNames('limits', given, Object.keys(DEFAULT_SERVICE_LIMITS));
  const limits = { ...DEFAULT_SERVICE_LIMITS, ...given };
  for (const [name, value] of Object.entries(limits)) checkPositive(`limits.${name}`, value);
  if (limits.maxBytesInFlight < limits.maxUploadBytes)
    throw invalidInput(
      'limits.maxBytesInFlight',
      limits.maxBytesInFlight,
      'at least maxUploadBytes, or no large upload could ever arrive',
    );
  return limits;
}

/**
 * The right to go on at a steady rate, with a burst: a bucket for each name that fills up with time (token bucket, as in
 * ATM networks). Full buckets are forgotten, so that memory follows the number of names in use.
 */
export class RateLimiter {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #perMs: number;
  readonly #burst: number;
  readonly #buckets = new Map<string, { tokens: number; atMs: number }>();
  #sweepAt = SWEEP_BUCKETS;

  constructor(clock: Pick<Clock, 'now'>, perSecond: number, burst: number) {
    this.#clock = clock;
    this.#perMs = perSecond / 1_000;
    this.#burst = burst;
  }

  /** Takes one; returns 0, or how many milliseconds to wait until there is one to take. */
  take(name: string): number {
    const nowMs = this.#clock.now();
    const tokens = this.#tokensOf(name, nowMs);
    const isEmpty = tokens < WHOLE_TOKEN;
    // Kept also when there is none to take: a clock that was set back would stand still until it is where it was.
    this.#buckets.set(name, { tokens: isEmpty ? tokens : tokens - 1, atMs: nowMs });
    if (isEmpty) return Math.max(1, Math.ceil((1 - tokens) / this.#perMs));
    if (this.#buckets.size > this.#sweepAt) this.#sweep(nowMs);
    return 0;
  }

  #tokensOf(name: string, nowMs: number): number {
    const bucket = this.#buckets.get(name);
    if (bucket === undefined) return this.#burst;
    // A clock that was set back gives nothing and takes nothing.
    const elapsedMs = Math.max(0, nowMs - bucket.atMs);
    return Math.min(this.#burst, bucket.tokens + elapsedMs * this.#perMs);
  }

  #sweep(nowMs: number): void {
    for (const name of this.#buckets.keys())
      if (this.#tokensOf(name, nowMs) >= this.#burst) this.#buckets.delete(name);
    // All in use: look again when there are twice as many.
    this.#sweepAt = Math.max(SWEEP_BUCKETS, 2 * this.#buckets.size);
  }
}

/** Parts of a token that have come one after the other add up to a little less than a whole one. What is lent is taken off. */
const WHOLE_TOKEN = 1 - 1e-9;
const SWEEP_BUCKETS = 1_024;

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

/** The error for somebody who is to come back later: status 429, with `Retry-After`. */
export function tooOften(message: string, retryAfterMs: number): SessionStoreError {
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
