/** The half of the protocol that changes a store. Whole requests are checked before anything is written. */
import type { Hono } from 'hono';
import { invalidInput, SessionStoreError } from '../../base/errors.ts';
import { checkSha256 } from '../../store/blob-rules.ts';
import type { Store } from '../../store/store.ts';
import { AnswerMemory } from '../http/answer-memory.ts';
import { done, type WireContext, type WireEnvironment } from '../http/answers.ts';
import { readBody, readJson } from '../../wire/body.ts';
import { checkSegments } from '../limits/segment-checks.ts';
import type { Feeds } from '../live/feeds.ts';
import type { HandlerSettings } from '../http/handler-options.ts';
import {
  MAX_LEASE_MS,
  MAX_QUESTION_BYTES,
  MAX_RUN_MESSAGE_BYTES,
  ROUTES,
  UPLOAD_MEDIA_TYPE,
} from '../../wire/protocol.ts';
import type { SketchKeeper } from '../maintenance/sketch-keeper.ts';
import { decodeAppend, decodeMerge } from '../../wire/upload.ts';
import { decodeNewRun, decodeProject, decodeRun, Fields } from '../../wire/wire.ts';

const JSON_MEDIA_TYPE = 'application/json';
/** A manifest with its names, and keys as most have them. */
const MANIFEST_CHARS = 1_024;
/** What a run has beside its document. */
const RUN_CHARS = 1_024;

/** Adds the routes that write. */
export function addWriteRoutes(
  app: Hono<WireEnvironment>,
  settings: HandlerSettings,
  feeds: Feeds,
  sketches: SketchKeeper,
): void {
  const memory = new AnswerMemory();
  const wrote = (context: WireContext, runId: string, table?: string): void =>
    feeds.notify(context.env.scope, table === undefined ? { runId } : { runId, table });
  app.post(ROUTES.projects, async (context) => {
    const store = writable(context);
    const project = decodeProject((await message(context)).get('project'));
    settings.checks.project?.(project);
    return done({ project: await store.ensureProject(project) });
  });
  app.post(ROUTES.runs, async (context) => {
    const store = writable(context);
    const run = decodeNewRun((await message(context)).get('run'));
    settings.checks.run?.(run);
    const answer = await memory.once(context, lengthOf(run), async () => ({
      run: await store.createRun(run),
    }));
    wrote(context, run.id);
    return done(answer);
  });
  app.put(ROUTES.run, async (context) => {
    const store = writable(context);
    const run = decodeRun((await message(context)).get('run'));
    const runId = context.req.param('runId');
    if (run.id !== runId) throw invalidInput('run.id', run.id, `the id in the address, "${runId}"`);
    settings.checks.run?.(run);
    const answer = await memory.once(context, lengthOf(run), () => store.updateRun(run));
    wrote(context, runId);
    if (run.status !== 'running') sketches.ended(context.env.scope, runId);
    return done(answer);
  });
  app.put(ROUTES.lease, async (context) => {
    const store = writable(context);
    const ttlMs = (await message(context)).number('ttl_ms');
    if (ttlMs > MAX_LEASE_MS) throw invalidInput('ttl_ms', ttlMs, `at most ${MAX_LEASE_MS}: a day`);
    const { runId, holder } = context.req.param();
    return done({ lease: await store.renewLease(runId, holder, ttlMs) });
  });
  app.delete(ROUTES.lease, async (context) => {
    const { runId, holder } = context.req.param();
    await writable(context).releaseLease(runId, holder);
    return done({});
  });
  app.post(ROUTES.appendSegments, async (context) => {
    const store = writable(context);
    const { segments, seen } = decodeAppend(await upload(context, settings));
    await checkSegments(segments, settings, context);
    const kept = await store.appendSegments(segments, seen);
    for (const { runId, table } of kept) wrote(context, runId, table);
    sketches.appended(context.env.scope, kept);
    return done({ segments: kept });
  });
  app.put(ROUTES.table, async (context) => {
    const store = writable(context);
    const { segments, seen } = decodeAppend(await upload(context, settings));
    await checkSegments(segments, settings, context);
    const { runId, table } = context.req.param();
    const seenCount = seen?.find((one) => one.runId === runId && one.table === table)?.replaceCount;
    const answer = await memory.once(context, MANIFEST_CHARS * segments.length, async () => ({
      segments: await store.replaceTable(runId, table, segments, seenCount),
    }));
    wrote(context, runId, table);
    return done(answer);
  });
  app.post(ROUTES.mergeSegments, async (context) => {
    const store = writable(context);
    const { remove, add } = decodeMerge(await upload(context, settings));
    await checkSegments(add, settings, context);
    const { runId, table } = context.req.param();
    return done({ replaced: await store.replaceSegments(runId, table, remove, add) });
  });
  app.put(ROUTES.blob, async (context) => {
    const store = writable(context);
    const sha256 = checkSha256(context.req.param('sha256'));
    await store.putBlob(sha256, await arrived(context, 'A blob', settings.maxBlobBytes));
    return done({});
  });
  app.post(ROUTES.reclaim, async (context) => {
    checkType(context, JSON_MEDIA_TYPE);
    await writable(context).reclaimSpace();
    return done({});
  });
}

/** Asked before the body is read. */
function writable(context: WireContext): Store {
  const { store, writeRefusal } = context.env.scope;
  if (store.isWritable) return store;
  throw writeRefusal ?? new SessionStoreError('read_only', 'This store can only be read.');
}

/**
 * A page of another origin can send what a form can send without asking first. It cannot send these types, so that a
 * service without keys on this machine is safe from pages that guess its address.
 */
function checkType(context: WireContext, wanted: string): void {
  const type = context.req.header('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (type !== wanted) throw invalidInput('content-type', type ?? '', `"${wanted}"`);
}

async function message(context: WireContext): Promise<Fields> {
  checkType(context, JSON_MEDIA_TYPE);
  const limits = {
    what: 'The body',
    packedBytes: MAX_QUESTION_BYTES,
    bytes: MAX_RUN_MESSAGE_BYTES,
    takeRoom: context.env.scope.takeRoom,
  };
  const fields = new Fields('body', await readJson(context.req.raw, limits));
  await context.env.scope.confirm?.();
  return fields;
}

async function upload(
  context: WireContext,
  { maxUploadBytes: limit }: HandlerSettings,
): Promise<Uint8Array<ArrayBuffer>> {
  checkType(context, UPLOAD_MEDIA_TYPE);
  return arrived(context, 'An upload', limit);
}

/** The body of a change, whose sender may still make it. */
async function arrived(
  context: WireContext,
  what: string,
  limit: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const { confirm, takeRoom } = context.env.scope;
  const limits = { what, packedBytes: limit, bytes: limit, takeRoom };
  const bytes = await readBody(context.req.raw, limits);
  await confirm?.();
  return bytes;
}

function lengthOf(run: { readonly document: string }): number {
  return RUN_CHARS + run.document.length;
}
