/** The half of the protocol that changes nothing. */
import type { Hono } from 'hono';
import { checkCount, checkInstant } from '../../base/assert.ts';
import { QuarkError, RunNotFoundError, SessionStoreError } from '../../base/errors.ts';
import type {
  RunFilter,
  SegmentFilter,
  SegmentRead,
  SegmentReference,
  Store,
} from '../../store/store.ts';
import { HEADERS, json, queryOf, type WireContext, type WireEnvironment } from '../http/answers.ts';
import { readJson } from '../../wire/body.ts';
import { encodeFrames, frameBytes } from '../../wire/frames.ts';
import type { HandlerSettings, StoreScope } from '../http/handler-options.ts';
import { describeApi } from '../http/openapi.ts';
import {
  FRAMES_MEDIA_TYPE,
  MAX_QUESTION_BYTES,
  MAX_RUNS_PER_LEASE_QUERY,
  MAX_RUNS_PER_PAGE,
  MAX_SEGMENTS_PER_READ,
  PROTOCOL_VERSION,
  ROUTES,
  SPACE_HEADER,
  SPOKEN_VERSIONS,
} from '../../wire/protocol.ts';
import { checkSearch, searchRuns } from './run-search.ts';
import { decodeReference, Fields } from '../../wire/wire.ts';

/** Segments read from the store at once: bounds the memory that one answer takes beyond its target. */
const SEGMENTS_PER_STORE_READ = 8;

const RUN_FILTERS = ['project', 'started_min_ms', 'started_max_ms', 'text', 'limit', 'offset'];
const SEGMENT_FILTERS = ['sequence_min', 'step_min', 'step_max', 'epoch_min', 'epoch_max'];

/** Adds the routes that read. */
export function addReadRoutes(app: Hono<WireEnvironment>, settings: HandlerSettings): void {
  app.get(ROUTES.about, (context) =>
    json(context, {
      service: 'quark',
      protocol: PROTOCOL_VERSION,
      spoken: SPOKEN_VERSIONS,
      readOnly: !(settings.writable && context.env.scope.store.isWritable),
      space: context.req.header(SPACE_HEADER) ?? null,
      limits: { uploadBytes: settings.maxUploadBytes, blobBytes: settings.maxBlobBytes },
    }),
  );
  const description = JSON.stringify(describeApi(!settings.writable, settings.otherPaths));
  app.get(
    ROUTES.openapi,
    () =>
      new Response(description, { headers: { ...HEADERS, 'content-type': 'application/json' } }),
  );
  app.get(ROUTES.projects, async (context) =>
    json(context, { projects: await context.env.scope.store.listProjects() }),
  );
  app.get(ROUTES.runs, async (context) => {
    queryOf(context, RUN_FILTERS, ['status', 'tag', 'config']);
    const search = checkSearch(context.req.query('text'), context.req.queries('config') ?? []);
    const { store, takeRoom } = context.env.scope;
    return json(context, await searchRuns(store, runFilter(context), search, takeRoom));
  });
  app.get(ROUTES.run, async (context) => {
    const runId = context.req.param('runId');
    const run = await context.env.scope.store.findRun(runId);
    if (run === undefined) throw new RunNotFoundError(runId, 'this store');
    return json(context, { run });
  });
  app.get(ROUTES.leases, async (context) =>
    json(context, { leases: await context.env.scope.store.listLeases(leaseRuns(context)) }),
  );
  app.get(ROUTES.tables, async (context) => {
    const { store } = context.env.scope;
    if (store.listStreams === undefined)
      throw new QuarkError('unsupported', 'This store does not say which tables a run has.');
    return json(context, { tables: await store.listStreams(context.req.param('runId')) });
  });
  app.get(ROUTES.segments, async (context) => {
    const { runId, table } = context.req.param();
    const filter = segmentFilter(context, runId, table);
    return json(context, { segments: await context.env.scope.store.listSegments(filter) });
  });
  app.post(ROUTES.readSegments, async (context) => {
    const { store, takeRoom } = context.env.scope;
    const references = (await question(context.req.raw, context.env.scope)).map(decodeReference);
    const frames = encodeFrames(
      await readSegments(store, references, settings.answerTargetBytes, takeRoom),
    );
    return new Response(frames, {
      headers: { ...HEADERS, 'content-type': FRAMES_MEDIA_TYPE, 'cache-control': 'no-store' },
    });
  });
}

/** Reads until the answer is full; the first segment is always in it. */
async function readSegments(
  store: Store,
  references: readonly SegmentReference[],
  targetBytes: number,
  takeRoom: (bytes: number) => void = () => undefined,
): Promise<readonly SegmentRead[]> {
  const answer: SegmentRead[] = [];
  let bytes = 0;
  while (answer.length < references.length && bytes < targetBytes) {
    const next = references.slice(answer.length, answer.length + SEGMENTS_PER_STORE_READ);
    const { some, sizeBytes } = await fitting(store, next, targetBytes - bytes);
    if (answer.length > 0 && bytes + sizeBytes > targetBytes) return answer;
    // Once as it is read, and once in the answer: before there is anything to hold.
    takeRoom(2 * sizeBytes);
    const reads = await store.readSegments(some);
    const readBytes = reads.reduce((sum, read) => sum + frameBytes(read), 0);
    takeRoom(2 * (readBytes - sizeBytes));
    for (const read of reads) {
      bytes += frameBytes(read);
      if (answer.length > 0 && bytes > targetBytes) return answer;
      answer.push(read);
    }
  }
  return answer;
}

/** Segments from the start of `next` that are at most so large together; always the first. */
async function fitting(
  store: Store,
  next: readonly SegmentReference[],
  roomBytes: number,
): Promise<{ readonly some: readonly SegmentReference[]; readonly sizeBytes: number }> {
  const sizes = await store.segmentSizes?.(next);
  if (sizes === undefined) return { some: next, sizeBytes: 0 };
  let sizeBytes = sizes[0] ?? 0;
  let count = 1;
  while (count < next.length && sizeBytes + (sizes[count] ?? 0) <= roomBytes)
    sizeBytes += sizes[count++] ?? 0;
  return { some: next.slice(0, count), sizeBytes };
}

async function question(
  request: Request,
  { confirm, takeRoom }: StoreScope,
): Promise<readonly unknown[]> {
  const limits = {
    what: 'The body',
    packedBytes: MAX_QUESTION_BYTES,
    bytes: MAX_QUESTION_BYTES,
    takeRoom,
  };
  const segments = new Fields('body', await readJson(request, limits)).list('segments');
  await confirm?.();
  if (segments.length > MAX_SEGMENTS_PER_READ)
    throw new SessionStoreError(
      'too_large',
      `At most ${MAX_SEGMENTS_PER_READ} segments can be asked for at once; got ${segments.length}.`,
      { details: { field: 'segments', rule: `at most ${MAX_SEGMENTS_PER_READ}` } },
    );
  return segments;
}

function runFilter(context: WireContext): RunFilter {
  const project = context.req.query('project');
  const statuses = context.req.queries('status');
  const tags = context.req.queries('tag');
  const limit = number(context, 'limit') ?? MAX_RUNS_PER_PAGE;
  const offset = number(context, 'offset');
  const startedMinMs = instant(context, 'started_min_ms');
  const startedMaxMs = instant(context, 'started_max_ms');
  return {
    ...(project === undefined ? {} : { projectName: project }),
    ...(statuses === undefined ? {} : { statuses }),
    ...(tags === undefined ? {} : { tags }),
    ...(startedMinMs === undefined ? {} : { startedMinMs }),
    ...(startedMaxMs === undefined ? {} : { startedMaxMs }),
    limit: Math.min(limit, MAX_RUNS_PER_PAGE),
    ...(offset === undefined ? {} : { offset }),
  };
}

function segmentFilter(context: WireContext, runId: string, table: string): SegmentFilter {
  const { key: keys } = queryOf(context, SEGMENT_FILTERS, ['key']);
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

function leaseRuns(context: WireContext): readonly string[] | undefined {
  const { run: runs } = queryOf(context, [], ['run']);
  if (runs !== undefined && runs.length > MAX_RUNS_PER_LEASE_QUERY)
    throw new SessionStoreError(
      'too_large',
      `At most ${MAX_RUNS_PER_LEASE_QUERY} runs can be asked for at once; got ${runs.length}.`,
      { details: { field: 'run', rule: `at most ${MAX_RUNS_PER_LEASE_QUERY}` } },
    );
  return runs;
}

function number(context: WireContext, name: string): number | undefined {
  const text = context.req.query(name);
  if (text === undefined) return undefined;
  return checkCount(name, /^\d{1,16}$/.test(text) ? Number(text) : text);
}

/** Epoch milliseconds, or a date in ISO 8601. */
function instant(context: WireContext, name: string): number | undefined {
  const text = context.req.query(name);
  if (text === undefined) return undefined;
  return checkInstant(name, /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text);
}
