/**
 * Read access to a store over HTTP, without a socket: `(Request) => Promise<Response>`. Nothing a request says changes
 * the store. Who may reach the handler is decided by whoever puts it on a socket (see `node/serve.ts`).
 */
import { toHex } from '../base/hex.ts';
import { Hono, type Context } from 'hono';
import { checkCount, checkPositive } from '../base/assert.ts';
import { QuarkError, RunNotFoundError, SessionStoreError } from '../base/errors.ts';
import { checkSha256 } from '../store/blob-rules.ts';
import type { RunFilter, SegmentFilter, SegmentRead, Store } from '../store/store.ts';
import { encodeFrames, frameBytes } from './frames.ts';
import {
  ANSWER_TARGET_BYTES,
  API_PATH,
  FRAMES_MEDIA_TYPE,
  MAX_QUESTION_BYTES,
  MAX_RUNS_PER_LEASE_QUERY,
  MAX_RUNS_PER_PAGE,
  MAX_SEGMENTS_PER_READ,
  PROTOCOL_HEADER,
  PROTOCOL_VERSION,
  ROUTES,
} from './protocol.ts';
import { decodeReference, encodeError, Fields, toWire } from './wire.ts';

/** Options of {@link createReadHandler}. */
export type ReadHandlerOptions = {
  /** Closes an answer with segments once it holds this many bytes; 16 MiB unless given. */
  readonly answerTargetBytes?: number;
};

/** Answers requests; see `protocol.ts` for the routes. */
export type ReadHandler = (request: Request) => Promise<Response>;

/** Segments read from the store at once: bounds the memory that one answer takes beyond its target. */
const SEGMENTS_PER_STORE_READ = 8;

const HEADERS = {
  [PROTOCOL_HEADER]: String(PROTOCOL_VERSION),
  'cache-control': 'no-cache',
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
} as const;

/**
 * Makes a handler that lets readers see everything in `store` and change nothing. The store stays the caller's to close.
 */
export function createReadHandler(store: Store, options: ReadHandlerOptions = {}): ReadHandler {
  const targetBytes = checkPositive(
    'answerTargetBytes',
    options.answerTargetBytes ?? ANSWER_TARGET_BYTES,
  );
  const app = new Hono().basePath(`/${API_PATH}`);

  app.use(async (context, next) => {
    checkVersion(context.req.header(PROTOCOL_HEADER));
    await next();
  });
  app.get(ROUTES.about, (context) =>
    json(context, { service: 'quark', protocol: PROTOCOL_VERSION, readOnly: true }),
  );
  app.get(ROUTES.projects, async (context) =>
    json(context, { projects: await store.listProjects() }),
  );
  app.get(ROUTES.runs, async (context) =>
    json(context, { runs: await store.listRuns(runFilter(context)) }),
  );
  app.get(ROUTES.run, async (context) => {
    const runId = context.req.param('runId');
    const run = await store.findRun(runId);
    if (run === undefined) throw new RunNotFoundError(runId, 'this store');
    return json(context, { run });
  });
  app.get(ROUTES.leases, async (context) =>
    json(context, { leases: await store.listLeases(leaseRuns(context)) }),
  );
  app.get(ROUTES.segments, async (context) => {
    const { runId, table } = context.req.param();
    return json(context, {
      segments: await store.listSegments(segmentFilter(context, runId, table)),
    });
  });
  app.post(ROUTES.readSegments, async (context) => {
    const frames = encodeFrames(
      await readSegments(store, await question(context.req.raw), targetBytes),
    );
    return new Response(frames, {
      headers: { ...HEADERS, 'content-type': FRAMES_MEDIA_TYPE, 'cache-control': 'no-store' },
    });
  });
  app.get(ROUTES.blob, (context) => blob(store, context));

  app.all('*', (context) => {
    if (context.req.method === 'GET' || context.req.method === 'HEAD') {
      throw new QuarkError('unsupported', 'There is nothing at this address.', {
        details: { path: context.req.path },
      });
    }
    throw new SessionStoreError(
      'read_only',
      `This server only reads: ${context.req.method} is not answered here.`,
    );
  });
  app.onError((error) => failure(error));
  app.notFound(() => failure(new QuarkError('unsupported', 'There is nothing at this address.')));
  return async (request) => app.fetch(request);
}

/** The response that stands for an error. */
export function failure(error: unknown): Response {
  const { status, body } = encodeError(error);
  const headers = { ...HEADERS, 'content-type': 'application/json', 'cache-control': 'no-store' };
  return new Response(JSON.stringify(body), {
    status,
    headers: status === 405 ? { ...headers, allow: 'GET, HEAD' } : headers,
  });
}

async function json(context: Context, answer: object): Promise<Response> {
  const bytes = new TextEncoder().encode(JSON.stringify(toWire(answer)));
  const etag = `"${toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))).slice(0, 32)}"`;
  if (matches(context.req.header('if-none-match'), etag))
    return new Response(null, { status: 304, headers: { ...HEADERS, etag } });
  return new Response(bytes, { headers: { ...HEADERS, 'content-type': 'application/json', etag } });
}

async function blob(store: Store, context: Context): Promise<Response> {
  const sha256 = context.req.param('sha256') ?? '';
  checkSha256(sha256);
  // The name is the hash of the bytes: they never change.
  const headers = {
    ...HEADERS,
    'cache-control': 'private, max-age=31536000, immutable',
    etag: `"${sha256}"`,
  };
  const bytes = await store.getBlob(sha256);
  if (bytes === undefined)
    throw new QuarkError('unsupported', 'No such blob.', { details: { sha256 } });
  if (matches(context.req.header('if-none-match'), `"${sha256}"`))
    return new Response(null, { status: 304, headers });
  return new Response(bytes, {
    headers: { ...headers, 'content-type': 'application/octet-stream' },
  });
}

/** Reads until the answer is full; the first segment is always in it. */
async function readSegments(
  store: Store,
  segments: readonly unknown[],
  targetBytes: number,
): Promise<readonly SegmentRead[]> {
  const references = segments.map(decodeReference);
  const answer: SegmentRead[] = [];
  let bytes = 0;
  for (let at = 0; at < references.length && bytes < targetBytes; at += SEGMENTS_PER_STORE_READ) {
    for (const read of await store.readSegments(
      references.slice(at, at + SEGMENTS_PER_STORE_READ),
    )) {
      bytes += frameBytes(read);
      if (answer.length > 0 && bytes > targetBytes) return answer;
      answer.push(read);
    }
  }
  return answer;
}

async function question(request: Request): Promise<readonly unknown[]> {
  const text = await boundedText(request);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new SessionStoreError('rejected', 'The body must be JSON.', { cause });
  }
  const segments = new Fields('body', value).list('segments');
  if (segments.length > MAX_SEGMENTS_PER_READ) {
    throw new SessionStoreError(
      'too_large',
      `At most ${MAX_SEGMENTS_PER_READ} segments can be asked for at once; got ${segments.length}.`,
    );
  }
  return segments;
}

async function boundedText(request: Request): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  const reader = request.body?.getReader();
  if (reader === undefined) return text;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.byteLength;
    if (bytes > MAX_QUESTION_BYTES) {
      await reader.cancel();
      throw new SessionStoreError(
        'too_large',
        `The body must be at most ${MAX_QUESTION_BYTES} bytes.`,
      );
    }
    text += decoder.decode(value, { stream: true });
  }
}

function checkVersion(given: string | undefined): void {
  if (given === undefined || given === String(PROTOCOL_VERSION)) return;
  throw new SessionStoreError(
    'version',
    `This server speaks version ${PROTOCOL_VERSION} of the protocol; the request came in another. Use the same version of quark-sdk on both sides.`,
    { details: { protocol: PROTOCOL_VERSION } },
  );
}

function runFilter(context: Context): RunFilter {
  const project = context.req.query('project');
  const statuses = context.req.queries('status');
  const tags = context.req.queries('tag');
  const limit = number(context, 'limit') ?? MAX_RUNS_PER_PAGE;
  const offset = number(context, 'offset');
  return {
    ...(project === undefined ? {} : { projectName: project }),
    ...(statuses === undefined ? {} : { statuses }),
    ...(tags === undefined ? {} : { tags }),
    limit: Math.min(limit, MAX_RUNS_PER_PAGE),
    ...(offset === undefined ? {} : { offset }),
  };
}

function segmentFilter(context: Context, runId: string, table: string): SegmentFilter {
  const keys = context.req.queries('key');
  const filter: Record<string, number> = {};
  for (const [name, key] of [
    ['sequenceMin', 'sequence_min'],
    ['stepMin', 'step_min'],
    ['stepMax', 'step_max'],
    ['epochMin', 'epoch_min'],
    ['epochMax', 'epoch_max'],
  ] as const) {
    const text = context.req.query(key);
    // What is no number is the store's to refuse.
    if (text !== undefined) filter[name] = text.trim() === '' ? Number.NaN : Number(text);
  }
  return { ...filter, runId, table, ...(keys === undefined ? {} : { keys }) };
}

function leaseRuns(context: Context): readonly string[] | undefined {
  const runs = context.req.queries('run');
  if (runs !== undefined && runs.length > MAX_RUNS_PER_LEASE_QUERY) {
    throw new SessionStoreError(
      'too_large',
      `At most ${MAX_RUNS_PER_LEASE_QUERY} runs can be asked for at once; got ${runs.length}.`,
    );
  }
  return runs;
}

function number(context: Context, name: string): number | undefined {
  const text = context.req.query(name);
  if (text === undefined) return undefined;
  return checkCount(name, /^\d{1,16}$/.test(text) ? Number(text) : text);
}

function matches(given: string | undefined, etag: string): boolean {
  return (
    given !== undefined && given.split(',').some((item) => item.trim().replace(/^W\//, '') === etag)
  );
}
