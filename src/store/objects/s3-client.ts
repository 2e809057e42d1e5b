/**
 * Signed requests to an S3-compatible server: each is tried again with growing pauses while that can help, and ends in a
 * typed error otherwise. Bodies are signed with their SHA-256, so that the server refuses what was damaged on the way.
 */
import { holding } from '../../base/held-request.ts';
import { toHex } from '../../base/hex.ts';
import { SessionStoreError } from '../../base/errors.ts';
import type { S3Config } from './s3-config.ts';
import {
  isTransient,
  readRefusal,
  refusalError,
  unreachableError,
  type S3Refusal,
} from './s3-errors.ts';

const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;
/** A server that asks for more is not waited for: the caller decides. */
const LONGEST_ASKED_PAUSE_MS = 30_000;
/** Slowest line that an upload is given time for, in bytes a millisecond. */
const SLOWEST_UPLOAD = 256;

/** S3 refuses requests whose time is off by 15 minutes; an answer to HEAD has no room to say that this is why. */
const TOLERATED_SKEW_MS = 5 * 60_000;

/** A request. */
export type S3Call = {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** Key below the prefix; left out for requests to the bucket. */
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array<ArrayBuffer>;
  /** SHA-256 of the body where it is known. */
  readonly sha256?: string;
  /** For messages: "put an object". */
  readonly what: string;
};

/** Tells a request that it makes progress, and so puts off its time limit. */
export type Progress = () => void;

/** What is made of an answer: a result, or a refusal that may be tried again. */
export type S3Outcome<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'refused'; readonly refusal: S3Refusal };

/** What signs requests: a client of `aws4fetch`, declared here because declarations of the package name no other package. */
export interface S3Signer {
  sign(
    url: string,
    init: RequestInit & { readonly aws: { readonly datetime: string } },
  ): Promise<Request>;
}

/** The class `AwsClient` of `aws4fetch`. */
export type S3SignerClass = new (options: {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  readonly service: string;
  readonly region: string;
  readonly retries: number;
}) => S3Signer;

/** Sends requests to one bucket. */
export class S3Client {
  readonly config: S3Config;
  readonly #signer: S3Signer;
  /** By how much the clock of the server is ahead of this machine's, once the server has refused ours. */
  #skewMs = 0;

  constructor(config: S3Config, Signer: S3SignerClass) {
    this.config = config;
    const { accessKeyId, secretAccessKey, sessionToken, region } = config;
    this.#signer = new Signer({
      accessKeyId,
      secretAccessKey,
      ...(sessionToken === undefined ? {} : { sessionToken }),
      service: 's3',
      region,
      retries: 0,
    });
  }

  /**
   * Sends until there is an answer that `read` makes a result of. A `read` that throws counts as an answer that was
   * broken off; every attempt calls it anew.
   *
   * @throws {SessionStoreError} `missing`, `unauthorised`, `rejected`, `too_large`, `full`, `busy`, `unreachable`, `failed`
   */
  async send<T>(
    call: S3Call,
    read: (response: Response, progress: Progress) => Promise<S3Outcome<T>>,
  ): Promise<T> {
    const { attempts } = this.config;
    const sha256 = call.sha256 ?? (await bodyHash(call.body));
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#attempt(call, sha256, read);
      if (outcome.kind === 'done') return outcome.value;
      const isLast = attempt >= attempts;
      if (outcome.kind === 'lost') {
        if (isLast) throw unreachableError(outcome.cause, call.what, this.config, attempt);
        await this.#pause(attempt, undefined);
        continue;
      }
      const { refusal } = outcome;
      if (!isLast && this.#takeClock(refusal)) continue;
      if (isLast || !isTransient(refusal) || (refusal.retryAfterMs ?? 0) > LONGEST_ASKED_PAUSE_MS)
        throw refusalError(refusal, call.what, this.config, attempt);
      await this.#pause(attempt, refusal.retryAfterMs);
    }
  }

  async #attempt<T>(
    call: S3Call,
    sha256: string,
    read: (response: Response, progress: Progress) => Promise<S3Outcome<T>>,
  ): Promise<S3Outcome<T> | { readonly kind: 'lost'; readonly cause: unknown }> {
    const limit = new TimeLimit(this.config.timeoutMs);
    try {
      limit.start((call.body?.byteLength ?? 0) / SLOWEST_UPLOAD);
      const request = await this.#sign(call, sha256, limit.signal);
      return await holding(request, async () => {
        const response = await this.config.fetch(request);
        limit.start(0);
        return read(response, () => limit.start(0));
      });
    } catch (cause) {
      // What the answer says, such as an object of a wrong size, is not a matter of the line.
      if (cause instanceof SessionStoreError) throw cause;
      return { kind: 'lost', cause };
    } finally {
      limit.stop();
    }
  }

  /** Goes by the server's clock from now on, if the request was refused and the clocks differ by much. */
  #takeClock({ status, serverTimeMs }: S3Refusal): boolean {
    if (status !== 403 || serverTimeMs === undefined) return false;
    const skewMs = serverTimeMs - Date.now();
    if (Math.abs(skewMs - this.#skewMs) < TOLERATED_SKEW_MS) return false;
    this.#skewMs = skewMs;
    return true;
  }

  #sign(call: S3Call, sha256: string, signal: AbortSignal): Promise<Request> {
    const dated = new Date(Date.now() + this.#skewMs).toISOString().replace(/[:-]|\.\d{3}/g, '');
    return this.#signer.sign(this.#address(call), {
      method: call.method,
      headers: { ...call.headers, 'x-amz-content-sha256': sha256 },
      ...(call.body === undefined ? {} : { body: call.body }),
      // A redirected request would carry the signature of another address.
      redirect: 'manual',
      signal,
      aws: { datetime: dated },
    });
  }

  #address({ key, query }: S3Call): string {
    const { addressing, bucket, endpoint, prefix } = this.config;
    const url = new URL(endpoint);
    if (addressing === 'virtual') url.hostname = `${bucket}.${url.hostname}`;
    const base = url.pathname.replace(/\/$/, '') + (addressing === 'path' ? `/${bucket}` : '');
    url.pathname = key === undefined ? base || '/' : `${base}/${prefix}${key}`;
    for (const [name, value] of Object.entries(query ?? {})) url.searchParams.set(name, value);
    return url.href;
  }

  /** Full jitter: pauses between nothing and a bound that doubles, so that many processes do not come back at once. */
  #pause(attempt: number, askedMs: number | undefined): Promise<void> {
    const bound = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempt - 1));
    return this.config.wait(Math.max(askedMs ?? 0, Math.random() * bound));
  }
}

/** An answer with one of these statuses, read to its end; any other is a refusal. */
export async function whenStatus<T>(
  response: Response,
  statuses: readonly number[],
  read: () => Promise<T> | T,
): Promise<S3Outcome<T>> {
  if (!statuses.includes(response.status))
    return { kind: 'refused', refusal: await readRefusal(response) };
  return { kind: 'done', value: await read() };
}

/** Reads a body to its end and drops it: the connection is free again only then. */
export async function drain(response: Response): Promise<void> {
  await response.arrayBuffer();
}

async function bodyHash(body: Uint8Array<ArrayBuffer> | undefined): Promise<string> {
  if (body === undefined || body.byteLength === 0) return EMPTY_SHA256;
  return toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', body)));
}

/** Aborts when nothing has happened for some time. Its timer keeps the process alive, as the request does. */
class TimeLimit {
  readonly #limitMs: number;
  readonly #controller = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(limitMs: number) {
    this.#limitMs = limitMs;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  start(moreMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#controller.abort(new Error(`No answer within ${this.#limitMs} ms.`));
    }, this.#limitMs + moreMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
