/** Where the object store is and how it is spoken to: the options, from code or from the environment, checked once. */
import { checkLiteral } from '../../base/assert.ts';
import {
  asGiven,
  literal,
  numberWhere,
  optional,
  orDefault,
  positive,
  readOptions,
} from '../../base/options.ts';
import { invalidInput, QuarkError } from '../../base/errors.ts';

/** How a bucket is addressed: `https://endpoint/bucket/key` or `https://bucket.endpoint/key`. */
export const S3_ADDRESSING = ['path', 'virtual'] as const;

/** One of {@link S3_ADDRESSING}. */
export type S3Addressing = (typeof S3_ADDRESSING)[number];

/** An S3-compatible object store. */
export type S3Options = {
  /** Address of the service: `https://s3.eu-central-1.amazonaws.com`, `http://minio:9000`. Without the bucket. */
  readonly endpoint: string;
  /** Name of a bucket that exists. */
  readonly bucket: string;
  /** Region that requests are signed for. Default `us-east-1`, which most servers other than AWS go by. */
  readonly region?: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Third part of temporary credentials. Default none. */
  readonly sessionToken?: string;
  /** Put in front of every key, so that a bucket can be shared: letters, digits, ".", "_", "-" and "/". Default none. */
  readonly prefix?: string;
  /** Default `path`, which every server understands. */
  readonly addressing?: S3Addressing;
  /** How long an attempt may make no progress, in milliseconds. Default 30,000. */
  readonly timeoutMs?: number;
  /** How often a request is tried before it fails. Default 6, with pauses of some 3 seconds in all. */
  readonly attempts?: number;
  /** Objects above this size are uploaded in parts of it, in bytes. From 5 MiB; default 16 MiB. */
  readonly partBytes?: number;
  /** Parts of one object that are under way at the same time: with `partBytes` it bounds memory. Default 3. */
  readonly parallelParts?: number;
  /** Used in place of the global `fetch`. */
  readonly fetch?: (request: Request) => Promise<Response>;
  /** Used in place of waiting; resolves after so many milliseconds. */
  readonly wait?: (delayMs: number) => Promise<void>;
};

/** The options with every default filled in. */
export type S3Config = Required<Omit<S3Options, 'sessionToken'>> & {
  readonly sessionToken: string | undefined;
};

/** Smallest part that S3 takes, but for the last one of an object. */
const MIN_PART_BYTES = 5 * 1024 * 1024;
const MAX_PART_BYTES = 512 * 1024 * 1024;

/** Environment variables, by the option that each one gives. */
export const S3_VARIABLES = {
  endpoint: 'QUARK_S3_ENDPOINT',
  bucket: 'QUARK_S3_BUCKET',
  region: 'QUARK_S3_REGION',
  accessKeyId: 'QUARK_S3_ACCESS_KEY_ID',
  secretAccessKey: 'QUARK_S3_SECRET_ACCESS_KEY',
  sessionToken: 'QUARK_S3_SESSION_TOKEN',
  prefix: 'QUARK_S3_PREFIX',
  addressing: 'QUARK_S3_ADDRESSING',
} as const;

const REQUIRED = ['endpoint', 'bucket', 'accessKeyId', 'secretAccessKey'] as const;

/**
 * The options that the environment gives, or undefined when it names no object store. Blank variables count as unset.
 *
 * @throws {QuarkError} `invalid_input` when some of the variables are there and one that has to be is not
 * @example
 * ```js
 * import { s3OptionsFromEnvironment } from 'quark-sdk/service';
 *
 * console.log(s3OptionsFromEnvironment({})); // undefined
 * const options = s3OptionsFromEnvironment({
 *   QUARK_S3_ENDPOINT: 'http://minio:9000',
 *   QUARK_S3_BUCKET: 'quark',
 *   QUARK_S3_ACCESS_KEY_ID: 'quark',
 *   QUARK_S3_SECRET_ACCESS_KEY: 'example',
 * }); // usually process.env, for the option `objects` of createService
 * console.log(options.endpoint, options.bucket); // http://minio:9000 quark
 * ```
 */
export function s3OptionsFromEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
): S3Options | undefined {
  const given: Partial<Record<keyof typeof S3_VARIABLES, string>> = Object.fromEntries(
    Object.entries(S3_VARIABLES).flatMap(([option, name]) => {
      const value = environment[name]?.trim() ?? '';
      return value === '' ? [] : [[option, value]];
    }),
  );
  if (Object.keys(given).length === 0) return undefined;
  const { endpoint, bucket, accessKeyId, secretAccessKey, addressing, ...rest } = given;
  if (
    endpoint === undefined ||
    bucket === undefined ||
    accessKeyId === undefined ||
    secretAccessKey === undefined
  ) {
    throw invalidInput(
      S3_VARIABLES[REQUIRED.find((name) => given[name] === undefined) ?? 'endpoint'],
      undefined,
      'set as well when another QUARK_S3_... variable is: endpoint, bucket and both keys belong together',
    );
  }
  return {
    ...rest,
    endpoint,
    bucket,
    accessKeyId,
    secretAccessKey,
    ...(addressing === undefined
      ? {}
      : { addressing: checkLiteral(S3_VARIABLES.addressing, addressing, S3_ADDRESSING) }),
  };
}

/** The checked options. Secrets are never part of a message. @throws {QuarkError} `invalid_input` */
export function checkS3Options(options: S3Options): S3Config {
  const { endpoint, ...settings } = readOptions('s3', options, {
    endpoint: asGiven,
    // The names AWS allows, and the capitals and underlines of old buckets and of other servers.
    bucket: (field, value) => checkPattern(field, value, /^[A-Za-z0-9][A-Za-z0-9._-]{1,62}$/),
    region: (field, value) => checkPattern(field, value ?? 'us-east-1', /^[A-Za-z0-9-]{1,64}$/),
    accessKeyId: checkSecret,
    secretAccessKey: checkSecret,
    sessionToken: optional(checkSecret),
    prefix: (_, value) => checkPrefix(value ?? ''),
    addressing: orDefault(literal<S3Addressing>(S3_ADDRESSING), 'path'),
    timeoutMs: orDefault(positive(), 30_000),
    attempts: orDefault(positive(), 6),
    partBytes: orDefault(
      numberWhere(
        (bytes) =>
          Number.isSafeInteger(bytes) && bytes >= MIN_PART_BYTES && bytes <= MAX_PART_BYTES,
        `from ${MIN_PART_BYTES} to ${MAX_PART_BYTES}`,
      ),
      16 * 1024 * 1024,
    ),
    parallelParts: orDefault(positive(), 3),
    fetch: orDefault(asGiven, (request: Request) => globalThis.fetch(request)),
    wait: orDefault(
      asGiven,
      (delayMs: number) => new Promise<void>((resolve) => void setTimeout(resolve, delayMs)),
    ),
  });
  return { ...settings, endpoint: checkEndpoint(endpoint, settings.addressing) };
}

function checkEndpoint(value: unknown, addressing: S3Addressing): string {
  const rule = 'the http or https address of an S3-compatible server, without a query';
  let url: URL;
  try {
    url = new URL(typeof value === 'string' ? value : '');
  } catch {
    // Not shown: what is no address may be a secret in the wrong variable.
    throw hiddenInput('s3.endpoint', rule);
  }
  if (url.username !== '' || url.password !== '')
    throw hiddenInput('s3.endpoint', 'an address without a user name and a password');
  if (!/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
    throw invalidInput('s3.endpoint', `${url.protocol}//${url.host}`, rule);
  const path = url.pathname.replace(/\/+$/, '');
  if (addressing === 'virtual' && path !== '')
    throw invalidInput(
      's3.endpoint',
      url.href,
      'an address without a path when addressing is "virtual"',
    );
  return url.origin + path;
}

function checkPrefix(value: unknown): string {
  if (value === '') return '';
  const prefix = checkPattern('s3.prefix', value, /^[A-Za-z0-9._-]+(?:\/[A-Za-z0-9._-]+)*\/?$/);
  if (prefix.length > 256 || prefix.split('/').some((part) => part === '.' || part === '..'))
    throw invalidInput(
      's3.prefix',
      prefix,
      'at most 256 characters, without "." and ".." as parts',
    );
  return prefix.endsWith('/') ? prefix : `${prefix}/`;
}

function checkPattern(field: string, value: unknown, pattern: RegExp): string {
  if (typeof value !== 'string' || !pattern.test(value))
    throw invalidInput(field, value, `text like ${String(pattern)}`);
  return value;
}

/** Credentials travel in headers: anything but visible ASCII is a mistake, such as a line break from a file. */
function checkSecret(field: string, value: unknown): string {
  if (typeof value !== 'string' || !/^[\u0021-\u007e]+$/.test(value))
    throw hiddenInput(field, 'visible ASCII characters without blanks and line breaks');
  return value;
}

function hiddenInput(field: string, rule: string): QuarkError {
  return new QuarkError('invalid_input', `${field} must be ${rule}. Its value is not shown.`, {
    details: { field, rule },
  });
}
