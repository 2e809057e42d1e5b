/** Blobs, and payloads of artifacts, which are one blob or several: whole or in part. */
import { QuarkError, SessionStoreError } from '../../base/errors.ts';
import { recordsOfBatch } from '../../read/records.ts';
import { tableBatches } from '../../read/table-batches.ts';
import { artifactTable, type ArtifactRecord } from '../../records/artifact.ts';
import { gatherRows } from '../../segment/batch-ops.ts';
import { rangeOfBlob, sizeOfBlob } from '../../store/blob-rules.ts';
import { ARTIFACT_PART_BYTES, checkSha256 } from '../../store/blob-rules.ts';
import type { Store } from '../../store/store.ts';
import { streamOf } from '../../wire/body.ts';
import { rangeHeaders, requestedRange, type ByteRange } from '../../wire/ranges.ts';
import { HEADERS, matchesTag, type WireContext } from '../http/answers.ts';
import type { StoreScope } from '../http/handler-options.ts';
import type { StoreAsked, StoreHandlers, StoreRouteParts } from './store-routes.ts';
import { requireRun } from './run-routes.ts';

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

export const fileHandlers = {
  'GET /blobs/:sha256': readBlob,
  'GET /runs/:runId/artifacts/:artifactId': readArtifact,
  'PUT /blobs/:sha256': async ({ scope, params, body }) => {
    const sha256 = checkSha256(params.sha256);
    await scope.store.putBlob(sha256, await body());
    return {};
  },
} satisfies Partial<StoreHandlers>;

async function readBlob({
  context,
  scope,
  params,
}: StoreAsked<'GET /blobs/:sha256'>): Promise<Response> {
  // The name is the hash of the bytes: they never change.
  const sha256 = checkSha256(params.sha256);
  const missing = (): QuarkError =>
    new QuarkError('unsupported', 'No such blob.', { details: { sha256 } });
  const sizeBytes = await sizeOfBlob(scope.store, sha256);
  if (sizeBytes === undefined) throw missing();
  const type = 'application/octet-stream';
  return fileAnswer(context, { sha256, sizeBytes, type }, async ({ start, end }) => {
    const bytes = await readBytes(scope, { sha256, sizeBytes }, start, end);
    if (bytes === undefined) throw missing();
    return bytes;
  });
}

async function readArtifact(
  { context, scope, params }: StoreAsked<'GET /runs/:runId/artifacts/:artifactId'>,
  { onFailure }: StoreRouteParts,
): Promise<Response> {
  const { store, takeRoom } = scope;
  const { runId, artifactId } = params;
  await requireRun(store, runId);
  const record = await findArtifact(store, runId, artifactId, takeRoom);
  if (record === undefined)
    throw new QuarkError('artifact_not_found', 'No such artifact in this run.', {
      details: { runId, artifactId },
    });
  const { sizeBytes, sha256, payloadFormat } = record;
  const file = { sizeBytes, sha256, type: CONTENT_TYPES[payloadFormat] };
  return fileAnswer(context, file, async (range) => {
    const chunks = payloadChunks(scope, record, range);
    // The first part is read before the answer begins, so that a payload that is gone is an error with a status.
    return streamOf(await chunks.next(), chunks, onFailure);
  });
}

/** The answer with a file, or with the range of it that was asked for. */
async function fileAnswer(
  context: WireContext,
  { sha256, sizeBytes, type }: Blob & { readonly type: string },
  bodyOf: (range: ByteRange) => Promise<BodyInit>,
): Promise<Response> {
  const etag = `"${sha256}"`;
  if (matchesTag(context.req.header('if-none-match'), etag))
    return new Response(null, { status: 304, headers: { ...FILE_HEADERS, etag } });
  const range = rangeOf(context, sizeBytes, etag);
  const { status, headers } = rangeHeaders(range, sizeBytes);
  const answer = { status, headers: { ...FILE_HEADERS, ...headers, etag, 'content-type': type } };
  if (context.req.method === 'HEAD') return new Response(null, answer);
  return new Response(await bodyOf(range ?? { start: 0, end: sizeBytes }), answer);
}

/** RFC 9110 gives `Range` a meaning with GET only. */
function rangeOf({ req }: WireContext, sizeBytes: number, etag: string): ByteRange | undefined {
  return req.method === 'GET' ? requestedRange(req.raw.headers, sizeBytes, etag) : undefined;
}

type Blob = { readonly sha256: string; readonly sizeBytes: number };

/** Bytes of a blob: all of them are compared with its hash, some are all that is read. There is room for them before. */
async function readBytes(
  { store, takeRoom }: StoreScope,
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
  takeRoom: StoreScope['takeRoom'],
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
async function* payloadChunks(
  scope: StoreScope,
  record: ArtifactRecord,
  { start, end }: ByteRange,
): AsyncGenerator<Uint8Array<ArrayBuffer>, undefined> {
  const parts = record.partSha256 ?? [record.sha256];
  const partBytes = record.partSha256 === null ? record.sizeBytes : ARTIFACT_PART_BYTES;
  const { takeRoom } = scope;
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
    const bytes = await readBytes(scope, part, from, to);
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
