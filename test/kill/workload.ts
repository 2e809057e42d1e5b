/**
 * What is done while somebody is about to pull the plug, in Node and in a page: appends of all sizes, merges, blobs,
 * without end. Each thing is acknowledged once the store has said that it is done. All bytes follow from names, so that
 * whoever looks afterwards knows what should be there.
 */
import { sha256Hex } from '../../src/store/blob-rules.ts';
import type { NewSegment, SegmentIdentity, SegmentManifest, Store } from '../../src/store/store.ts';

export const RUN_ID = 'run_kill';
const TABLE = 'metrics';
const MERGE_EVERY = 12;
const BLOB_EVERY = 25;
const LARGE_BLOB_BYTES = 300_000;

/** Says that a run with a batch (`run WRITER`), a batch (`batch WRITER NUMBER`) or a blob (`blob SHA256`) is safe. */
export type Acknowledge = (line: string) => void;

/** Makes the run if it is not there. */
export async function prepareRun(store: Store, id: string = RUN_ID): Promise<void> {
  if ((await store.findRun(id)) !== undefined) return;
  await store.createRun({
    id,
    projectId: 'project',
    projectName: 'kill',
    status: 'running',
    startedAtMs: 0,
    tags: [],
    document: '{}',
  });
}

/** Works until the process or page ends. */
export async function workForever(
  store: Store,
  writerId: string,
  acknowledge: Acknowledge,
): Promise<never> {
  const own = ownRunOf(writerId);
  await prepareRun(store, own);
  await store.appendSegments([segmentFor(writerId, 0, own)]);
  acknowledge(`run ${writerId}`);
  for (let next = 0; ;) {
    const count = 1 + (next % 3);
    const segments = Array.from({ length: count }, (_, i) => segmentFor(writerId, next + i));
    await store.appendSegments(segments);
    for (let i = 0; i < count; i++) acknowledge(`batch ${writerId} ${next + i}`);
    next += count;
    if (next % MERGE_EVERY < count) await mergeOwn(store, writerId);
    if (next % BLOB_EVERY < count) {
      const bytes = contentOf(`${writerId} blob ${next}`, next % 2 === 0 ? 1000 : LARGE_BLOB_BYTES);
      const sha256 = (await sha256Hex(bytes)) ?? '';
      await store.putBlob(sha256, bytes);
      acknowledge(`blob ${sha256}`);
    }
  }
}

/** What is wrong with the store, given all that was acknowledged: empty when nothing is. */
export async function inspect(store: Store, acknowledged: readonly string[]): Promise<string[]> {
  const wrong: string[] = [];
  const live = await store.listSegments({ runId: RUN_ID, table: TABLE });
  const reads = await store.readSegments(live);
  const found = new Map<string, number>();
  let lastPlainSequence = -1;
  for (const [i, manifest] of live.entries()) {
    const parts = partsOf(manifest);
    for (const part of parts) found.set(nameOf(part), (found.get(nameOf(part)) ?? 0) + 1);
    const wanted = joined(parts.map((part) => contentOf(nameOf(part), sizeOf(part.batchNumber))));
    const read = reads[i];
    if (read?.kind !== 'bytes') wrong.push(`${nameOf(manifest)} reads as ${read?.kind}`);
    else if (!sameBytes(read.bytes, wanted)) wrong.push(`${nameOf(manifest)} has other bytes`);
    if (manifest.sources.length > 0) continue;
    if (manifest.firstSequence <= lastPlainSequence)
      wrong.push(`${nameOf(manifest)} shares a sequence number`);
    lastPlainSequence = manifest.lastSequence;
  }
  for (const [name, count] of found) if (count !== 1) wrong.push(`${name} is there ${count} times`);
  for (const line of new Set(acknowledged)) {
    const [kind, name = '', batch = ''] = line.split(' ');
    if (kind === 'batch' && !found.has(`${name} ${batch}`)) wrong.push(`${line} is lost`);
    if (kind === 'run' && !(await hasOwnRun(store, name))) wrong.push(`${line} is lost`);
    if (kind === 'blob' && (await store.getBlob(name)) === undefined) wrong.push(`${line} is lost`);
  }
  return wrong;
}

async function mergeOwn(store: Store, writerId: string): Promise<void> {
  const live = await store.listSegments({ runId: RUN_ID, table: TABLE });
  const own = live.filter((manifest) => manifest.writerId === writerId).slice(-MERGE_EVERY);
  const [first] = own;
  if (first === undefined || own.length < 2) return;
  const parts = own.flatMap(partsOf);
  const bytes = joined(parts.map((part) => contentOf(nameOf(part), sizeOf(part.batchNumber))));
  const manifest: SegmentManifest = {
    ...first,
    rowCount: parts.length,
    lastSequence: Math.max(...own.map((one) => one.lastSequence)),
    sizeBytes: bytes.byteLength,
    checksum: bytes.byteLength,
    sources: parts.map((part) => ({
      writerId,
      batchStart: part.batchNumber,
      batchLast: part.batchNumber,
    })),
  };
  await store.replaceSegments(RUN_ID, TABLE, own, [{ manifest, bytes }]);
  await store.reclaimSpace();
}

function ownRunOf(writerId: string): string {
  return `${RUN_ID}_${writerId}`;
}

async function hasOwnRun(store: Store, writerId: string): Promise<boolean> {
  const runId = ownRunOf(writerId);
  if ((await store.findRun(runId)) === undefined) return false;
  const live = await store.listSegments({ runId, table: TABLE });
  const [read, ...more] = await store.readSegments(live);
  return (
    read?.kind === 'bytes' &&
    more.length === 0 &&
    sameBytes(read.bytes, segmentFor(writerId, 0).bytes)
  );
}

function segmentFor(writerId: string, batchNumber: number, runId: string = RUN_ID): NewSegment {
  const bytes = contentOf(nameOf({ writerId, batchNumber }), sizeOf(batchNumber));
  return {
    manifest: {
      runId,
      table: TABLE,
      writerId,
      batchNumber,
      rowCount: 1,
      stepMin: null,
      stepMax: null,
      epochMin: null,
      epochMax: null,
      timeMinMs: null,
      timeMaxMs: null,
      keys: null,
      schemaVersion: 1,
      encoding: 'arrow',
      sizeBytes: bytes.byteLength,
      checksum: batchNumber,
      sources: [],
    },
    bytes,
  };
}

type Part = Pick<SegmentIdentity, 'writerId' | 'batchNumber'>;

function partsOf(manifest: SegmentManifest): Part[] {
  if (manifest.sources.length === 0) return [manifest];
  return manifest.sources.flatMap(({ writerId, batchStart, batchLast }) =>
    Array.from({ length: batchLast - batchStart + 1 }, (_, i) => ({
      writerId,
      batchNumber: batchStart + i,
    })),
  );
}

function nameOf(part: Part): string {
  return `${part.writerId} ${part.batchNumber}`;
}

/** From nothing over a few database pages to more than Chromium keeps in one value. */
function sizeOf(batchNumber: number): number {
  return [100, 5000, 28_000, 1, 90_000][batchNumber % 5] ?? 0;
}

function contentOf(name: string, length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  let state = 2166136261;
  for (let i = 0; i < name.length; i++) state = Math.imul(state ^ name.charCodeAt(i), 16777619);
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.byteLength, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.byteLength;
  }
  return bytes;
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.byteLength === b.byteLength && a.every((byte, i) => byte === b[i]);
}
