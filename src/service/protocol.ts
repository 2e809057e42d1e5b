/**
 * The wire between a store and a reader elsewhere: routes, versions, limits. Both ends import this file and nothing
 * else of each other. Field names on the wire are snake_case; see `wire.ts` for the messages and `frames.ts` for the
 * binary answer that carries segments.
 */
import type { StoreFailureReason } from '../base/errors.ts';

/** Counts up when an older reader could misread an answer. */
export const PROTOCOL_VERSION = 1;

/** Sent by both sides with every message. */
export const PROTOCOL_HEADER = 'quark-protocol';

/** Every route lies below this path, relative to the address of the store. */
export const API_PATH = 'api/v1';

/** Media type of the answer that carries segments. */
export const FRAMES_MEDIA_TYPE = 'application/vnd.quark.segments';

/** The routes below {@link API_PATH}, as the handler declares them. */
export const ROUTES = {
  /** Says what this is: `{"service": "quark", "protocol": 1, "read_only": true}`. */
  about: '/',
  projects: '/projects',
  /** `?project=&status=&tag=&limit=&offset=`; status and tag may be repeated. */
  runs: '/runs',
  run: '/runs/:runId',
  /** `?sequence_min=&step_min=&step_max=&epoch_min=&epoch_max=&key=`; key may be repeated. */
  segments: '/runs/:runId/tables/:table/segments',
  /** POST `{"segments": [{"run_id", "table", "writer_id", "batch_number"}]}`; changes nothing. */
  readSegments: '/segments/read',
  /** `?run=`, which may be repeated; without it the leases of all runs. */
  leases: '/leases',
  blob: '/blobs/:sha256',
} as const;

/** Runs in one answer: a run document is a few kB, so that an answer stays around 1 MB. */
export const MAX_RUNS_PER_PAGE = 500;

/** Run ids in one question about leases: they travel in the URL, and proxies cut URLs off at 8 kB. */
export const MAX_RUNS_PER_LEASE_QUERY = 100;

/** Characters of keys in one URL; a reader with more filters them itself. */
export const MAX_KEY_CHARS_IN_URL = 2_000;

/** Segments in one question. */
export const MAX_SEGMENTS_PER_READ = 256;

/** Bytes of one question: 256 identities of the longest names fit. */
export const MAX_QUESTION_BYTES = 512 * 1024;

/** An answer is closed once it holds this much; the reader asks again for the rest. */
export const ANSWER_TARGET_BYTES = 16 * 1024 * 1024;

/** Longest answer a reader takes: one segment may be larger than the target. */
export const MAX_ANSWER_BYTES = 512 * 1024 * 1024;

/** How long a reader waits for one answer unless told otherwise, in milliseconds. */
export const DEFAULT_TIMEOUT_MS = 15_000;

/** The HTTP status that goes with the reason of a store's failure. */
export const STATUS_OF_REASON: Readonly<Record<StoreFailureReason, number>> = {
  unknown_scheme: 400,
  unwritable: 500,
  full: 507,
  corrupt: 500,
  busy: 503,
  closed: 503,
  blocked: 503,
  read_only: 405,
  unreachable: 502,
  unauthorised: 401,
  rejected: 400,
  too_large: 413,
  version: 400,
  missing: 404,
  failed: 500,
};
