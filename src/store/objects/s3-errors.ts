/** What an answer of an object store means: the typed error, and whether trying again can help. */
import { SessionStoreError, type StoreFailureReason } from '../../base/errors.ts';
import { elementText } from './s3-xml.ts';

/** Where a request went and what it was for, in messages. Holds no secret. */
export type S3Location = { readonly endpoint: string; readonly bucket: string };

/** An answer that is not the wanted one. */
export type S3Refusal = {
  readonly status: number;
  /** The server's name for what went wrong (`NoSuchKey`, `SlowDown`), or '' where it gives none. */
  readonly code: string;
  readonly requestId: string;
  /** What the server asks to wait before the next attempt, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** The region the bucket is in, where the server says so. */
  readonly region: string | undefined;
  /** The server's clock, in UTC epoch milliseconds. */
  readonly serverTimeMs: number | undefined;
};

const RETRIED_STATUSES: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504, 509]);
const RETRIED_CODES: ReadonlySet<string> = new Set([
  'RequestTimeout',
  'SlowDown',
  'Throttling',
  'ThrottlingException',
  'TooManyRequests',
  'InternalError',
  'ServiceUnavailable',
  'OperationAborted',
  'ConditionalRequestConflict',
  'IncompleteBody',
  'BadDigest',
  'XAmzContentSHA256Mismatch',
  'XMinioServerNotInitialized',
]);
const FULL_CODES: ReadonlySet<string> = new Set([
  'InsufficientStorage',
  'XMinioStorageFull',
  'QuotaExceeded',
  'XMinioAdminBucketQuotaExceeded',
]);
/** Longest body of an error that is looked at. */
const MAX_ERROR_CHARS = 16_384;

/** Reads what a refusing answer says, and its body to the end. */
export async function readRefusal(response: Response, text?: string): Promise<S3Refusal> {
  const body = (text ?? (await response.text().catch(() => ''))).slice(0, MAX_ERROR_CHARS);
  const code = elementText(body, 'Code') ?? '';
  const requestId = response.headers.get('x-amz-request-id') ?? '';
  const region = elementText(body, 'Region') ?? response.headers.get('x-amz-bucket-region');
  const serverTimeMs = Date.parse(response.headers.get('date') ?? '');
  return {
    status: response.status,
    // Only what can be a name: a hostile or broken server must not write into messages.
    code: /^[A-Za-z0-9]{1,64}$/.test(code) ? code : '',
    requestId: /^[A-Za-z0-9+/=_-]{1,128}$/.test(requestId) ? requestId : '',
    retryAfterMs: retryAfter(response.headers.get('retry-after')),
    region:
      region !== null && region !== undefined && /^[a-z0-9-]{1,64}$/.test(region)
        ? region
        : undefined,
    serverTimeMs: Number.isFinite(serverTimeMs) ? serverTimeMs : undefined,
  };
}

/** Whether the same request may succeed later. */
export function isTransient(refusal: S3Refusal): boolean {
  return RETRIED_STATUSES.has(refusal.status) || RETRIED_CODES.has(refusal.code);
}

/** The error for a request that was refused for good, or too often. */
export function refusalError(
  refusal: S3Refusal,
  what: string,
  location: S3Location,
  attempts: number,
): SessionStoreError {
  const [reason, advice] = meaningOf(refusal, location);
  const said =
    refusal.code === '' ? `status ${refusal.status}` : `${refusal.code}, status ${refusal.status}`;
  const tried = attempts > 1 ? ` after ${attempts} attempts` : '';
  return new SessionStoreError(
    reason,
    `The object store at ${location.endpoint} refused to ${what} in bucket "${location.bucket}"${tried}: ${said}. ${advice}`,
    {
      details: {
        endpoint: location.endpoint,
        bucket: location.bucket,
        status: refusal.status,
        code: refusal.code,
        requestId: refusal.requestId,
        attempts,
        ...(refusal.retryAfterMs === undefined ? {} : { retryAfterMs: refusal.retryAfterMs }),
      },
    },
  );
}

/** The error for a request that got no answer. */
export function unreachableError(
  cause: unknown,
  what: string,
  location: S3Location,
  attempts: number,
): SessionStoreError {
  const tried = attempts > 1 ? ` after ${attempts} attempts` : '';
  return new SessionStoreError(
    'unreachable',
    `The object store at ${location.endpoint} could not be reached${tried}, to ${what} in bucket "${location.bucket}". See that it runs and that the address is right.`,
    { details: { endpoint: location.endpoint, bucket: location.bucket, attempts }, cause },
  );
}

function meaningOf(
  { status, code, region }: S3Refusal,
  location: S3Location,
): readonly [StoreFailureReason, string] {
  if (code === 'NoSuchBucket')
    return [
      'missing',
      `There is no bucket "${location.bucket}": create it, or name another one in QUARK_S3_BUCKET.`,
    ];
  if (code === 'RequestTimeTooSkewed')
    return ['unauthorised', 'The clocks of this machine and of the server differ by too much.'];
  if (region !== undefined && (status === 301 || status === 400))
    return [
      'rejected',
      `The bucket is in region "${region}": set QUARK_S3_REGION and the endpoint of that region.`,
    ];
  if (FULL_CODES.has(code) || status === 507)
    return ['full', 'It has no room left, or a quota is used up.'];
  if (status === 401 || status === 403)
    return [
      'unauthorised',
      'Check QUARK_S3_ACCESS_KEY_ID and QUARK_S3_SECRET_ACCESS_KEY, and that the key may list, read, write and delete in the bucket.',
    ];
  if (status === 413 || code === 'EntityTooLarge')
    return ['too_large', 'It takes no objects of this size.'];
  if (status === 429 || status === 503 || code === 'SlowDown')
    return ['busy', 'It has too much to do; try again later.'];
  if (status === 404) return ['missing', 'What was asked for is not there.'];
  if (status >= 300 && status < 400)
    return ['rejected', 'It answers with another address: name that one in QUARK_S3_ENDPOINT.'];
  if (status === 502 || status === 504)
    return ['unreachable', 'Something between here and there does not answer.'];
  if (status >= 500) return ['failed', 'Look into the logs of the object store.'];
  return ['rejected', 'It may not be an S3-compatible server, or not know this request.'];
}

function retryAfter(value: string | null): number | undefined {
  if (value === null) return undefined;
  const seconds = Number(value);
  if (value.trim() !== '' && Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const atMs = Date.parse(value);
  return Number.isFinite(atMs) ? Math.max(0, atMs - Date.now()) : undefined;
}
