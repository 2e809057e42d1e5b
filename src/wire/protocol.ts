/**
 * The protocol between a service and its clients: versions, headers, media types, limits. The routes are in `routes.ts`, the
 * messages in `wire.ts`; `frames.ts` has the binary answer that carries segments and `upload.ts` the binary request that does.
 * Names of fields are in snake_case.
 */
import { invalidInput, SessionStoreError, type StoreFailureReason } from '../base/errors.ts';

/** Counts up when an older side could misread a message. */
export const PROTOCOL_VERSION = 1;

/** Every version that this code speaks, newest first. */
export const SPOKEN_VERSIONS: readonly number[] = [PROTOCOL_VERSION];

/**
 * Sent by both sides with every message. A client lists the versions it speaks (`2, 1`), the server answers in one of
 * them and names it; see {@link chooseVersion}.
 */
export const PROTOCOL_HEADER = 'quark-protocol';

/** Names the space of the caller that a request is about; without it, the space without a name. */
export const SPACE_HEADER = 'quark-space';

/** Names one change of one client, whichever way its request takes and however often it arrives. */
export const REQUEST_HEADER = 'quark-request';

/** Sent with every answer of a service: the id of its database. */
export const STORE_HEADER = 'quark-store';

/** Sent with every answer of a service: the epoch of its database, a number that changes when it may have lost something. */
export const EPOCH_HEADER = 'quark-epoch';

/** Sent with every answer of a service: `1` if what it has acknowledged survives the loss of power, else `0`. */
export const DURABLE_HEADER = 'quark-durable';

/** Runs in one question about batches: they travel in the URL. */
export const MAX_RUNS_PER_BATCH_QUERY = 100;

/** Every route lies below this path, relative to the address of the store. */
export const API_PATH = 'api/v1';

/** Media type of the answer that carries segments. */
export const FRAMES_MEDIA_TYPE = 'application/vnd.quark.segments';

/** Media type of the request that carries segments. */
export const UPLOAD_MEDIA_TYPE = 'application/vnd.quark.upload';

/** Media type of messages. */
export const JSON_MEDIA_TYPE = 'application/json';

/** Media type of blobs. */
export const BYTES_MEDIA_TYPE = 'application/octet-stream';

/** Media type of live updates. */
export const EVENTS_MEDIA_TYPE = 'text/event-stream';

/** Media type of rows as one Arrow IPC stream. */
export const ARROW_MEDIA_TYPE = 'application/vnd.apache.arrow.stream';

/** Media type of rows as JSON, one a line. */
export const JSON_LINES_MEDIA_TYPE = 'application/x-ndjson';

/** Largest `limit` of rows: so many rows are in memory until all have been read. */
export const MAX_ROW_LIMIT = 1_000_000;

/** Runs in one stream of live updates: its cursor travels in a header. */
export const MAX_RUNS_PER_FEED = 16;

/** Tables in one stream of live updates. */
export const MAX_TABLES_PER_FEED = 16;

/** Default interval of polls of a store for live updates, in milliseconds. */
export const FEED_POLL_MS = 1_000;

/** Runs in one answer: a run document is a few kB, so that an answer stays around 1 MB. */
export const MAX_RUNS_PER_PAGE = 500;

/** Tombstones in one answer. */
export const MAX_DELETED_PER_PAGE = 2_000;

/** Runs that one request may name to be purged. */
export const MAX_RUNS_PER_PURGE = 1_000;

/** Run ids in one question about leases: they travel in the URL, and proxies cut URLs off at 8 kB. */
export const MAX_RUNS_PER_LEASE_QUERY = 100;

/** Characters of keys in one URL; a reader with more filters them itself. */
export const MAX_KEY_CHARS_IN_URL = 2_000;

/** Segments in one question. */
export const MAX_SEGMENTS_PER_READ = 256;

/** Bytes of one question: 256 identities of the longest names fit. */
export const MAX_QUESTION_BYTES = 512 * 1024;

/** Bytes of a message with a run: its document holds configuration and environment. */
export const MAX_RUN_MESSAGE_BYTES = 8 * 1024 * 1024;

/** Segments in one upload. */
export const MAX_SEGMENTS_PER_UPLOAD = 4_096;

/** Bytes of one upload, unpacked: the largest segment and its manifest fit. */
export const MAX_UPLOAD_BYTES = 66 * 1024 * 1024;

/** Bytes of the segments of one upload in their unpacked form. */
export const MAX_UNPACKED_BYTES: number = 512 * 1024 * 1024;

/** Bytes of a blob over HTTP. Payloads of artifacts are stored in parts of 16 MiB. */
export const MAX_BLOB_UPLOAD_BYTES = 64 * 1024 * 1024;

/** Longest claim of a lease: sessions renew theirs every few seconds. */
export const MAX_LEASE_MS = 24 * 3_600_000;

/** An answer is closed once it holds this much; the reader asks again for the rest. */
export const ANSWER_TARGET_BYTES = 16 * 1024 * 1024;

/** Longest answer a reader takes: one segment may be larger than the target. */
export const MAX_ANSWER_BYTES = 512 * 1024 * 1024;

/** How long a client waits for one answer unless told otherwise, in milliseconds. */
export const DEFAULT_TIMEOUT_MS = 15_000;

/** The HTTP status that goes with the reason of a store's failure. */
export const STATUS_OF_REASON: Readonly<Record<StoreFailureReason, number>> = {
  unknown_scheme: 400,
  unwritable: 500,
  full: 507,
  // Not 507: it is no failure of the server, and the client is told all of it.
  quota: 413,
  corrupt: 500,
  busy: 503,
  closed: 503,
  blocked: 503,
  read_only: 405,
  unreachable: 502,
  unauthorised: 401,
  rejected: 400,
  deleted: 410,
  too_large: 413,
  version: 400,
  missing: 404,
  fenced: 409,
  failed: 500,
};

const SPACE = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/**
 * The name of a space: a name, never a path. `OWNER:NAME` is a space of another user who shares a project in it.
 *
 * @throws {QuarkError} `invalid_input`
 */
export function checkSpaceName(field: string, value: unknown): string {
  const names = typeof value === 'string' ? value.split(':') : [];
  if (typeof value !== 'string' || names.length > 2 || !names.every((name) => SPACE.test(name)))
    throw invalidInput(
      field,
      value,
      'a name of 1 to 128 letters, digits, ".", "_" or "-", the first a letter or digit; "OWNER:NAME" for what another user shares',
    );
  return value;
}

/**
 * The newest version that both sides speak. A request that names none is taken to speak the oldest.
 *
 * @throws {SessionStoreError} `version`, saying which versions are spoken and which side to update
 */
export function chooseVersion(
  offered: string | null | undefined,
  spoken: readonly number[] = SPOKEN_VERSIONS,
): number {
  if (offered === null || offered === undefined) return Math.min(...spoken);
  const versions = offered
    .split(',')
    .map((item) => (/^\s*\d{1,6}\s*$/.test(item) ? Number(item) : Number.NaN));
  const common = spoken.filter((version) => versions.includes(version));
  if (common.length > 0) return Math.max(...common);
  const isNewer = versions.every((version) => version > Math.max(...spoken));
  throw new SessionStoreError(
    'version',
    `This server speaks ${spokenText(spoken)} of the protocol, the client ${JSON.stringify(offered.slice(0, 32))}. ${
      isNewer
        ? 'Update quark-sdk on the server, or use an older one on the client.'
        : 'Update quark-sdk on the client.'
    }`,
    { details: { protocol: Math.max(...spoken), spoken: spoken.join(', ') } },
  );
}

/** Versions as they stand in a sentence: `version 1`, `versions 2, 1`. */
export function spokenText(spoken: readonly number[]): string {
  return `${spoken.length === 1 ? 'version' : 'versions'} ${spoken.join(', ')}`;
}
