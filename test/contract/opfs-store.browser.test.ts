/** The contract on the origin-private file system of Chromium. */
import { createId } from '../../src/base/ids.ts';
import { segmentName } from '../../src/records/shapes/manifest.ts';
import { opfsFileName } from '../../src/store/opfs/opfs-files.ts';
import { findFrames } from '../../src/store/opfs/opfs-frames.ts';
import { framePartsOf, readerOf } from '../../src/store/opfs/opfs-parts.ts';
import type { RunBody } from '../../src/store/opfs/opfs-run.ts';
import { openOpfsStorage } from '../../src/store/opfs/opfs-store.ts';
import type { SegmentManifest } from '../../src/store/store.ts';
import { describeStore } from './store-contract.ts';

const stores = async (): Promise<FileSystemDirectoryHandle> =>
  (await navigator.storage.getDirectory()).getDirectoryHandle('quark-sdk', { create: true });

describeStore(
  'opfs',
  async (clock) => {
    const name = createId('contract', Date.now());
    return {
      open: () => openOpfsStorage(`opfs:${name}`, { clock }),
      damage: async (segment) => {
        const file = await fileOf(name, segment);
        const untilMs = performance.now() + 10_000;
        for (;;)
          try {
            const sync = await file.entry.createWritable({ keepExistingData: true });
            await sync.write({ type: 'write', position: file.at, data: new Uint8Array(5) });
            await sync.close();
            return;
          } catch (error) {
            // The store closes a file a second after the last change.
            if (performance.now() > untilMs) throw error;
            await new Promise((resolve) => {
              setTimeout(resolve, 50);
            });
          }
      },
      countBytes: async (runId) => {
        const store = await (await stores()).getDirectoryHandle(opfsFileName(name));
        const runs = await store.getDirectoryHandle('runs', { create: true });
        let bytes = 0;
        for await (const [folder, run] of runs.entries()) {
          if (folder !== opfsFileName(runId) || run.kind !== 'directory') continue;
          for await (const [, file] of run.entries())
            if (file.kind === 'file') bytes += (await file.getFile()).size;
        }
        return bytes;
      },
      remove: async () => {
        await (await stores()).removeEntry(opfsFileName(name), { recursive: true });
      },
    };
  },
  { hasNotes: true, serves: false },
);

/** The file that has the bytes of a segment, and where they begin. */
async function fileOf(
  name: string,
  segment: SegmentManifest,
): Promise<{ readonly entry: FileSystemFileHandle; readonly at: number }> {
  const store = await (await stores()).getDirectoryHandle(opfsFileName(name));
  const runs = await store.getDirectoryHandle('runs');
  const run = await runs.getDirectoryHandle(opfsFileName(segment.runId));
  for await (const entry of run.values()) {
    if (entry.kind !== 'file') continue;
    const file = await entry.getFile();
    const { frames } = await findFrames(readerOf(file), 0, file.size);
    for (const frame of frames) {
      const { add = [] } = frame.body as RunBody;
      const i = add.findIndex((manifest) => segmentName(manifest) === segmentName(segment));
      const part = framePartsOf(entry.name, frame)[i];
      if (part !== undefined) return { entry, at: part.at };
    }
  }
  throw new Error('No file has the segment.');
}
