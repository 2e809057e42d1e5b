/**
 * Several segments in one binary request. All integers are little-endian:
 *
 *     "QSU1" | u32 length of the head | head | bytes of each segment, one after the other
 *
 * The head is JSON in UTF-8: `{"segments": [manifest, ...], "remove": [reference, ...], "seen": [table, ...], "live": [generation, ...]}`,
 * with the manifests of `wire.ts`; `size_bytes` of each says where its bytes end. `remove` is there in merges only, `seen` in what
 * appends to tables or empties them, `live` in appends of live sessions. Nothing follows.
 */
import { SessionStoreError } from '../base/errors.ts';
import type {
  MergedSegment,
  NewSegment,
  RunGeneration,
  TableEpoch,
  SegmentReference,
} from '../store/store.ts';
import { MAX_SEGMENTS_PER_UPLOAD } from './protocol.ts';
import {
  decodeManifest,
  decodeNewManifest,
  decodeReference,
  decodeRunGeneration,
  decodeTableEpoch,
  Fields,
  toWire,
} from './wire.ts';

const MAGIC = 0x31555351; // "QSU1" read as a little-endian u32
const START_BYTES = 8;

/** The request for `segments`; merged ones carry their sequence numbers. */
export function encodeUpload(
  segments: readonly NewSegment[],
  {
    remove,
    seen,
    live,
  }: {
    readonly remove?: readonly SegmentReference[];
    readonly seen?: readonly TableEpoch[] | undefined;
    readonly live?: readonly RunGeneration[] | undefined;
  } = {},
): Uint8Array<ArrayBuffer> {
  const head = new TextEncoder().encode(
    JSON.stringify(
      toWire({
        segments: segments.map(({ manifest }) => manifest),
        ...(remove === undefined ? {} : { remove }),
        ...(seen === undefined ? {} : { seen }),
        ...(live === undefined ? {} : { live }),
      }),
    ),
  );
  const size = segments.reduce(
    (sum, { bytes }) => sum + bytes.byteLength,
    START_BYTES + head.byteLength,
  );
  const upload = new Uint8Array(size);
  const view = new DataView(upload.buffer);
  view.setUint32(0, MAGIC, true);
  view.setUint32(4, head.byteLength, true);
  upload.set(head, START_BYTES);
  let at = START_BYTES + head.byteLength;
  for (const { bytes } of segments) {
    upload.set(bytes, at);
    at += bytes.byteLength;
  }
  return upload;
}

/**
 * The segments of a request. Their bytes are views of `upload`.
 *
 * @throws {SessionStoreError} `rejected`, `too_large`
 */
export function decodeAppend(upload: Uint8Array<ArrayBuffer>): {
  readonly segments: readonly NewSegment[];
  /** Undefined where the client does not say. */
  readonly seen: readonly TableEpoch[] | undefined;
  /** The generations that live sessions have of their runs. */
  readonly live: readonly RunGeneration[] | undefined;
} {
  const { head, bytesFrom } = open(upload);
  return {
    segments: cut(upload, bytesFrom, listOf(head, 'segments').map(decodeNewManifest)),
    seen: head.get('seen') === undefined ? undefined : listOf(head, 'seen').map(decodeTableEpoch),
    live:
      head.get('live') === undefined ? undefined : listOf(head, 'live').map(decodeRunGeneration),
  };
}

/** The same for a merge. @throws {SessionStoreError} `rejected`, `too_large` */
export function decodeMerge(upload: Uint8Array<ArrayBuffer>): {
  readonly remove: readonly SegmentReference[];
  readonly add: readonly MergedSegment[];
} {
  const { head, bytesFrom } = open(upload);
  return {
    remove: listOf(head, 'remove').map(decodeReference),
    add: cut(upload, bytesFrom, listOf(head, 'segments').map(decodeManifest)),
  };
}

function open(upload: Uint8Array<ArrayBuffer>): { head: Fields; bytesFrom: number } {
  if (upload.byteLength < START_BYTES) throw misfit('it is too short');
  const view = new DataView(upload.buffer, upload.byteOffset, upload.byteLength);
  if (view.getUint32(0, true) !== MAGIC) throw misfit('it does not start with QSU1');
  const bytesFrom = START_BYTES + view.getUint32(4, true);
  if (bytesFrom > upload.byteLength) throw misfit('its head was cut off');
  let head: unknown;
  try {
    head = JSON.parse(
      new TextDecoder('utf-8', { fatal: true }).decode(upload.subarray(START_BYTES, bytesFrom)),
    );
  } catch (cause) {
    throw misfit('its head is not JSON in UTF-8', cause);
  }
  return { head: new Fields('head', head), bytesFrom };
}

function listOf(head: Fields, name: string): readonly unknown[] {
  const items = head.list(name);
  if (items.length <= MAX_SEGMENTS_PER_UPLOAD) return items;
  throw new SessionStoreError(
    'too_large',
    `An upload may hold at most ${MAX_SEGMENTS_PER_UPLOAD} segments; got ${items.length}.`,
    { details: { field: name, rule: `at most ${MAX_SEGMENTS_PER_UPLOAD} segments` } },
  );
}

function cut<M extends { readonly sizeBytes: number }>(
  upload: Uint8Array<ArrayBuffer>,
  bytesFrom: number,
  manifests: readonly M[],
): readonly { readonly manifest: M; readonly bytes: Uint8Array<ArrayBuffer> }[] {
  let at = bytesFrom;
  const segments = manifests.map((manifest) => {
    const end = at + manifest.sizeBytes;
    if (manifest.sizeBytes < 0 || end > upload.byteLength)
      throw misfit('the bytes of its segments were cut off');
    const bytes = upload.subarray(at, end);
    at = end;
    return { manifest, bytes };
  });
  if (at !== upload.byteLength) throw misfit('bytes follow its last segment');
  return segments;
}

function misfit(why: string, cause?: unknown): SessionStoreError {
  return new SessionStoreError('rejected', `The body must be an upload of segments: ${why}.`, {
    details: { field: 'body', rule: why },
    cause,
  });
}
