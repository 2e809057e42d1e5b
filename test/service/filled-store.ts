/** A store with some of everything, for the tests of the wire. */
import { createStoreHandler } from '../../src/service/routes/handler.ts';
import type { StoreHandlerOptions } from '../../src/service/http/handler-options.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { NewSegment, Store } from '../../src/store/store.ts';

/** `size` bytes that differ from segment to segment. */
export function bytesOf(seed: number, size: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: size }, (_, at) => (at * 31 + seed * 17) & 255);
}

export async function sha256Of(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return Buffer.from(await crypto.subtle.digest('SHA-256', bytes)).toString('hex');
}

export function newSegment(
  runId: string,
  batchNumber: number,
  size = 64,
  over: Partial<NewSegment['manifest']> = {},
): NewSegment {
  const bytes = bytesOf(batchNumber, size);
  return {
    bytes,
    manifest: {
      runId,
      table: 'metrics',
      writerId: 'w_one',
      batchNumber,
      rowCount: 10,
      stepMin: batchNumber * 10,
      stepMax: batchNumber * 10 + 9,
      epochMin: null,
      epochMax: null,
      timeMinMs: 1_000,
      timeMaxMs: 2_000,
      keys: ['train/loss'],
      schemaVersion: 1,
      encoding: 'arrow',
      sizeBytes: bytes.byteLength,
      checksum: batchNumber + 1,
      sources: [],
      ...over,
    },
  };
}

/** Three runs of two projects, one live; segments of several keys, one merged; a blob. */
export async function filledStore(clock?: { now(): number }): Promise<Store> {
  const store = createMemoryStore(clock === undefined ? {} : { clock });
  await store.ensureProject({ id: 'p_1', name: 'digits "ä" / ü', createdAtMs: 10 });
  await store.ensureProject({ id: 'p_2', name: 'other', createdAtMs: 20 });
  const run = {
    projectId: 'p_1',
    projectName: 'digits "ä" / ü',
    status: 'running',
    startedAtMs: 100,
    tags: ['a b', 'x&y=z'],
    document: '{"id":"r_1","config":{"camelCase":1,"snake_case":2}}',
  };
  await store.createRun({ ...run, id: 'r_1' });
  await store.createRun({
    ...run,
    id: 'r_2',
    status: 'completed',
    tags: ['x&y=z'],
    startedAtMs: 200,
  });
  await store.createRun({
    ...run,
    id: 'r_3',
    projectId: 'p_2',
    projectName: 'other',
    tags: [],
    startedAtMs: 150,
  });
  await store.renewLease('r_1', 'h_1', 60_000);
  await store.renewLease('r_3', 'h_2', 60_000);
  await store.appendSegments([
    newSegment('r_1', 0),
    newSegment('r_1', 1, 5_000, { keys: ['val/loss', 'optimizer/lr'], epochMin: 1, epochMax: 2 }),
    newSegment('r_1', 2, 1, { keys: null, stepMin: null, stepMax: null }),
    newSegment('r_1', 3, 300, { writerId: 'w_two', batchNumber: 0, encoding: 'packed' }),
  ]);
  await store.appendSegments([newSegment('r_1', 7, 9, { table: 'events', keys: ['epoch_ended'] })]);
  const blob = bytesOf(5, 1_000);
  await store.putBlob(await sha256Of(blob), blob);
  return store;
}

/** The handler over one store, reading only unless told otherwise. */
export function handlerOf(
  store: Store,
  options: StoreHandlerOptions = {},
): (request: Request) => Promise<Response> {
  const handler = createStoreHandler(options);
  return (request) => handler.handle(request, { store });
}
