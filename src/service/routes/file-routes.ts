/** Blobs, and payloads of artifacts, which are one blob or several: whole or in part. */
import type { Hono } from 'hono';
import { QuarkError, RunNotFoundError, SessionStoreError } from '../../base/errors.ts';
import { recordsOfBatch } from '../../read/records.ts';
import { tableBatches } from '../../read/table-batches.ts';
import { artifactTable, type ArtifactRecord } from '../../records/artifact.ts';
import { gatherRows } from '../../segment/batch-ops.ts';
import { rangeOfBlob, sizeOfBlob } from '../../store/blob-ranges.ts';
import { ARTIFACT_PART_BYTES, checkSha256 } from '../../store/blob-rules.ts';
import type { Store } from '../../store/store.ts';
import { HEADERS, matchesTag, type WireContext, type WireEnvironment } from '../http/answers.ts';
import { streamOf } from '../../wire/body.ts';
import type { StoreScope } from '../http/handler-options.ts';
import { ROUTES } from '../../wire/protocol.ts';
import { rangeHeaders, requestedRange, type ByteRange } from '../../wire/ranges.ts';

const CONTENT_TYPES: Readonly<Record<ArtifactRecord['payloadFormat'], string>> = {
  json: 'application/json',
  text: 'text/plain; charset=utf-8',
  bytes: 'application/octet-stream',
};

/** Whatever a payload is, a browser that is led to its address does not run it. */
const FILE_HEADERS = {
  ...HEADERS,
  'content-security-policy': "default-src 'none'; sandbox",
  'cache-control': 'private, max-age=31536000, immutable',
} as const;

/** Adds the routes that give out files. */
export function addFileRoutes(
  app: Hono<WireEnvironment>,
  onFailure: (error: unknown) => void,
): void {
  app.get(ROUTES.blob, (context) => blob(context));
  app.get(ROUTES.artifact, (context) => artifact(context, onFailure));
}

async function blob(context: WireContext): Promise<Response> {
  const { store, takeRoom } = context.env.scope;
  const sha256 = checkSha256(context.req.param('sha256'));
  // The name is the hash of the bytes: they never change.
  const etag = `"${sha256}"`;
  const sizeBytes = await sizeOfBlob(store, sha256);
  if (sizeBytes === undefined)
    throw new QuarkError('unsupported', 'No such blob.', { details: { sha256 } });
  if (matchesTag(context.req.header('if-none-match'), etag))
    return new Response(null, { status: 304, headers: { ...FILE_HEADERS, etag } });
  const range = rangeOf(context, sizeBytes, etag);
  const { status, headers } = rangeHeaders(range, sizeBytes);
  const answer = {
    status,
    headers: { ...FILE_HEADERS, ...headers, etag, 'content-type': 'application/octet-stream' },
  };
  if (context.req.method === 'HEAD') return new Response(null, answer);
  const { start, end } = range ?? { start: 0, end: sizeBytes };
  const bytes = await readBytes({ store, takeRoom }, { sha256, sizeBytes }, start, end);
  if (bytes === undefined)
    throw new QuarkError('unsupported', 'No such blob.', { details: { sha256 } });
  return new Response(bytes, answer);
}

async function artifact(
  context: WireContext,
  onFailure: (error: unknown) => void,
): Promise<Response> {
  const { store, takeRoom } = context.env.scope;
  const { runId, artifactId } = context.req.param() as { runId: string; artifactId: string };
  if ((await store.findRun(runId)) === undefined) throw new RunNotFoundError(runId, 'this store');
  const record = await findArtifact(store, runId, artifactId, takeRoom);
  if (record === undefined)
    throw new QuarkError('artifact_not_found', 'No such artifact in this run.', {
      details: { runId, artifactId },
    });
  const { sizeBytes, sha256, payloadFormat } = record;
  const etag = `"${sha256}"`;
  if (matchesTag(context.req.header('if-none-match'), etag))
    return new Response(null, { status: 304, headers: { ...FILE_HEADERS, etag } });
  const range = rangeOf(context, sizeBytes, etag);
  const { status, headers } = rangeHeaders(range, sizeBytes);
  const answer = {
    status,
    headers: { ...FILE_HEADERS, ...headers, etag, 'content-type': CONTENT_TYPES[payloadFormat] },
  };
  if (context.req.method === 'HEAD') return new Response(null, answer);
  const pieces = payloadPieces(store, record, range ?? { start: 0, end: sizeBytes }, takeRoom);
  // The first part is read before the answer begins, so that a payload that is gone is an error with a status.
  const first = await pieces.next();
  return new Response(streamOf(first, pieces, onFailure), answer);
}

/** RFC 9110 gives `Range` a meaning with GET only. */
function rangeOf({ req }: WireContext, sizeBytes: number, etag: string): ByteRange | undefined {
  return req.method === 'GET' ? requestedRange(req.raw.headers, sizeBytes, etag) : undefined;
}

type TakeRoom = StoreScope['takeRoom'];

type Blob = { readonly sha256: string; readonly sizeBytes: number };

/** Bytes of a blob: all of them are compared with its hash, some are all that is read. There is room for them before. */
async function readBytes(
  { store, takeRoom }: { readonly store: Store; readonly takeRoom: TakeRoom },
  { sha256, sizeBytes }: Blob,
  start: number,
  end: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  takeRoom?.(end - start);
  const bytes =
    start === 0 && end === sizeBytes
      ? await store.getBlob(sha256)
      : await rangeOfBlob(store, sha256, start, end);
  takeRoom?.((bytes?.byteLength ?? 0) - (end - start));
  return bytes;
}

/** The record that was written last under this id. */
async function findArtifact(
  store: Store,
  runId: string,
  artifactId: string,
  takeRoom: TakeRoom,
): Promise<ArtifactRecord | undefined> {
  let found: ArtifactRecord | undefined;
  for await (const batch of tableBatches(store, artifactTable, runId, { takeRoom })) {
    const ids = batch.columns.get('id');
    if (ids?.kind !== 'text') continue;
    const row = ids.values.lastIndexOf(artifactId);
    if (row < 0) continue;
    [found] = recordsOfBatch(artifactTable, runId, gatherRows(batch, Int32Array.of(row)), () => 0);
  }
  return found;
}

/** One part at a time in memory, and none that the range does not touch. */
async function* payloadPieces(
  store: Store,
  record: ArtifactRecord,
  { start, end }: ByteRange,
  takeRoom: TakeRoom,
): AsyncGenerator<Uint8Array<ArrayBuffer>, undefined> {
  const parts = record.partSha256 ?? [record.sha256];
  const partBytes = record.partSha256 === null ? record.sizeBytes : ARTIFACT_PART_BYTES;
  let held = 0;
  for (const [i, hash] of parts.entries()) {
    const partStart = i * partBytes;
    const partEnd = i === parts.length - 1 ? record.sizeBytes : partStart + partBytes;
    if (partEnd <= start || partStart >= end) continue;
    takeRoom?.(-held);
    held = 0;
    const part = { sha256: checkSha256(hash), sizeBytes: partEnd - partStart };
    const from = Math.max(0, start - partStart);
    const to = Math.min(part.sizeBytes, end - partStart);
    const bytes = await readBytes({ store, takeRoom }, part, from, to);
    held = bytes?.byteLength ?? 0;
    if (bytes === undefined)
      throw new SessionStoreError(
        'missing',
        `Part ${i + 1} of ${parts.length} of the payload is not in the store.`,
      );
    if (bytes.byteLength !== to - from)
      throw new SessionStoreError(
        'corrupt',
        `Part ${i + 1} of the payload has another size than its record says.`,
      );
    yield bytes;
  }
}
