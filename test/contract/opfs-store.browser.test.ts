/** The contract on the origin-private file system of Chromium. */
import { createId } from '../../src/base/ids.ts';
import { opfsFileName } from '../../src/store/opfs/opfs-files.ts';
import { openOpfsStorage } from '../../src/store/opfs/opfs-store.ts';
import { describeStore } from './store-contract.ts';

const stores = async (): Promise<FileSystemDirectoryHandle> =>
  (await navigator.storage.getDirectory()).getDirectoryHandle('quark-sdk', { create: true });

describeStore(
  'opfs',
  async (clock) => {
    const name = createId('contract', Date.now());
    return {
      open: () => openOpfsStorage(`opfs:${name}`, { clock }),
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
