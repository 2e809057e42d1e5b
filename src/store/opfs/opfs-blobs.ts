/** Blobs: a file for each, and in the first shard what blobs there are. */
import { SessionStoreError } from '../../base/errors.ts';
import { checkStoredBlob } from '../blob-rules.ts';
import { hasNewArtifacts, type BlobSweeps } from '../blob-sweep.ts';
import { compareText } from '../run-rules.ts';
import type { Store } from '../store.ts';
import { isNamed, openedAlone, removed, type FolderEntry } from './opfs-files.ts';
import { type RootChange } from './opfs-root.ts';

import type { OpfsCore } from './opfs-core.ts';
import { CLOSING_MS, waitToClose } from './opfs-core.ts';

/** See the top of this file. */
export class OpfsBlobs {
  readonly #core: OpfsCore;

  constructor(core: OpfsCore) {
    this.#core = core;
  }

  readonly putBlob: Store['putBlob'] = (sha256, bytes) =>
    // No blob is dropped between the two.
    this.#core.lockArtifacts('shared', async () => {
      await this.#writeBlob(await this.#blobs(), sha256, bytes);
      const blob = { sizeBytes: bytes.byteLength, putAtMs: this.#core.nowMs };
      const changes: readonly RootChange[] = [
        ['blobs', sha256, blob],
        ['leaving', `blob/${sha256}`, null],
      ];
      await this.#core.root.change(() => this.#core.write(changes), true);
    });

  readonly getBlob: Store['getBlob'] = async (sha256) => {
    const isThere = await this.#core.root.read(() =>
      this.#core.root.state.tables.blobs.has(sha256),
    );
    if (!isThere) return undefined;
    const folder = await this.#blobs();
    const bytes = await bytesOf(folder, sha256);
    if (bytes === undefined) {
      // It may have been dropped meanwhile.
      const isStillThere = await this.#core.root.read(() =>
        this.#core.root.state.tables.blobs.has(sha256),
      );
      if (isStillThere) throw this.#isLost(sha256);
      return undefined;
    }
    await checkStoredBlob(sha256, bytes, this.#core.parts.uri);
    return bytes;
  };

  readonly listBlobs: BlobSweeps['listBlobs'] = ({ after = '', limit, putBeforeMs }) =>
    this.#core.root.read(() =>
      [...this.#core.root.state.tables.blobs]
        .filter(([sha256, { putAtMs }]) => sha256 > after && putAtMs <= putBeforeMs)
        .sort(([a], [b]) => compareText(a, b))
        .slice(0, limit)
        .map(([sha256, { putAtMs, sizeBytes }]) => ({ sha256, sizeBytes, putAtMs })),
    );

  readonly dropBlobs: BlobSweeps['dropBlobs'] = ({ hashes, putBeforeMs, seen }) =>
    this.#core.lockArtifacts('exclusive', async () => {
      const runIds = await this.#core.root.read(() => this.#core.allRuns().map(({ id }) => id));
      const streams = await this.#core.streams(runIds);
      if (hasNewArtifacts(streams, seen)) return undefined;
      const dropped = await this.#core.root.change(async () => {
        const { blobs } = this.#core.root.state.tables;
        const gone = hashes.filter(
          (hash) => (blobs.get(hash)?.putAtMs ?? Number.POSITIVE_INFINITY) <= putBeforeMs,
        );
        await this.#core.write(
          gone.flatMap((hash): RootChange[] => [
            ['blobs', hash, null],
            ['leaving', `blob/${hash}`, true],
          ]),
        );
        return gone.length;
      }, true);
      const folder = await this.#blobs();
      await this.#core.removeLeaving('blob/', (sha256) => removed(folder, sha256));
      return dropped;
    });

  #isLost(sha256: string): SessionStoreError {
    const { uri } = this.#core.parts;
    return new SessionStoreError(
      'corrupt',
      `The file of blob ${sha256} in ${uri} is missing. Put the blob again to repair it.`,
      { details: { sha256, where: uri } },
    );
  }

  async #blobs(): Promise<FolderEntry> {
    return this.#core.parts.folder.getDirectoryHandle('blobs', { create: true });
  }

  async #writeBlob(
    folder: FolderEntry,
    sha256: string,
    bytes: Uint8Array<ArrayBuffer>,
  ): Promise<void> {
    const entry = await folder.getFileHandle(sha256, { create: true });
    const untilMs = performance.now() + CLOSING_MS;
    for (;;) {
      const file = await openedAlone(entry);
      if (file === undefined) {
        // Another thread writes the same bytes.
        if (performance.now() > untilMs) await entry.createSyncAccessHandle();
        await waitToClose();
        continue;
      }
      try {
        if (isSame(file.getSize(), bytes, file)) return;
        if (file.write(bytes, { at: 0 }) !== bytes.byteLength)
          throw new DOMException(`a blob of ${bytes.byteLength} bytes`, 'QuotaExceededError');
        file.truncate(bytes.byteLength);
        file.flush();
        return;
      } catch (error) {
        // What was there before is there no more: a blob that is known is to be put again, as its check says.
        file.truncate(0);
        throw error;
      } finally {
        file.close();
      }
    }
  }
}

function isSame(
  size: number,
  bytes: Uint8Array<ArrayBuffer>,
  file: { read(into: Uint8Array<ArrayBuffer>, options: { readonly at: number }): number },
): boolean {
  if (size !== bytes.byteLength) return false;
  const there = new Uint8Array(size);
  file.read(there, { at: 0 });
  return there.every((byte, i) => byte === bytes[i]);
}

/** The bytes of a blob; undefined where its file is missing. */
async function bytesOf(
  folder: FolderEntry,
  sha256: string,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  try {
    const file = await (await folder.getFileHandle(sha256)).getFile();
    return new Uint8Array(await file.slice(0, file.size).arrayBuffer());
  } catch (error) {
    if (isNamed(error, 'NotFoundError')) return undefined;
    throw error;
  }
}
