/** A file that grows at its end, in Node. */
import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, SessionStoreError } from '../../../base/errors.ts';
import { makeWithParents } from '../../../base/node/make-folder.ts';
import type { AppendFile } from '../platform.ts';

/**
 * Opens a file in a folder; makes both where they are not there. Nothing else may write to it.
 *
 * @throws {SessionStoreError} `unwritable`
 */
export async function openAppendFile(folder: string, name: string): Promise<AppendFile> {
  const path = join(folder, name);
  try {
    await makeWithParents(folder);
    const file = await open(path, 'a+');
    return new GrowingFile(file, (await file.stat()).size);
  } catch (cause) {
    throw new SessionStoreError(
      'unwritable',
      `${path} cannot be written. (${messageOf(cause)}) Name a folder that this program may write to.`,
      { details: { path }, cause },
    );
  }
}

class GrowingFile implements AppendFile {
  readonly #file: FileHandle;
  #size: number;

  constructor(file: FileHandle, size: number) {
    this.#file = file;
    this.#size = size;
  }

  get size(): number {
    return this.#size;
  }

  async append(bytes: Uint8Array): Promise<void> {
    await this.#file.appendFile(bytes);
    this.#size += bytes.byteLength;
  }

  async cut(size: number): Promise<void> {
    await this.#file.truncate(size);
    this.#size = size;
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}
