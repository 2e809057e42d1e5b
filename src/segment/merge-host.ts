/** The side of merges that is another thread: see `node/merge-thread.ts`. */
import { messageOf } from '../base/errors.ts';
import { TABLES } from '../records/tables.ts';
import type { FromMerger, SentBytes, ToMerger } from './merge-messages.ts';
import { rowMerge, type MergeWork } from './row-merge.ts';
import type { SegmentRead } from '../store/store.ts';

/** The part of Node's `worker_threads` that is used. */
type Threads = {
  readonly parentPort: {
    readonly postMessage: (message: FromMerger, transfer: readonly ArrayBuffer[]) => void;
    readonly on: (event: 'message', listener: (message: ToMerger) => void) => void;
  } | null;
};

/** Runs this thread as one that merges. */
export function exposeMerges(): void {
  const { process } = globalThis as {
    readonly process?: { readonly getBuiltinModule?: (name: string) => unknown };
  };
  const threads = process?.getBuiltinModule?.('node:worker_threads') as Threads | undefined;
  const port = threads?.parentPort;
  if (port === null || port === undefined) return;
  const running = new Map<number, MergeWork>();
  port.on('message', (message) => {
    const { id, kind } = message;
    if (kind === 'end') {
      running.delete(id);
      return;
    }
    void answer(running, message).then(
      (value) =>
        port.postMessage(
          value,
          value.kind === 'merged' ? value.value.map(({ bytes }) => bytes.buffer) : [],
        ),
      (error: unknown) => port.postMessage({ id, kind: 'failed', reason: messageOf(error) }, []),
    );
  });
}

async function answer(
  running: Map<number, MergeWork>,
  message: Exclude<ToMerger, { readonly kind: 'end' }>,
): Promise<FromMerger> {
  const { id } = message;
  let merge = running.get(id);
  if (message.kind === 'add') {
    if (merge === undefined) {
      const { name } = message;
      const table = TABLES.get(name.table);
      if (table === undefined) throw new Error(`There is no table ${name.table}.`);
      merge = rowMerge({ ...name, table });
      running.set(id, merge);
    }
    const segments = message.manifests.flatMap((manifest, i) => {
      const sent = message.reads[i];
      return sent === undefined ? [] : [{ manifest, read: readOf(sent, message.bytes) }];
    });
    return { id, kind: 'taken', value: await merge.add(segments) };
  }
  if (merge === undefined) throw new Error('Nothing was added to this merge.');
  const merged = await merge.finish();
  // Of memory of its own: what moves to the other thread takes all of its memory along.
  const value = merged.map(({ bytes, manifest }) => ({
    manifest,
    bytes: bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice(),
  }));
  return { id, kind: 'merged', value };
}

function readOf(sent: SentBytes, bytes: Uint8Array<ArrayBuffer>): SegmentRead {
  return 'damage' in sent
    ? { kind: 'damaged', reason: sent.damage }
    : { kind: 'bytes', bytes: bytes.subarray(sent.start, sent.end) };
}
