/** A file that grows at its end, in Node. */
import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { AppendFile } from '../platform.ts';

/** Opens a file in a folder; makes both where they are not there. Nothing else may write to it. */
export async function openAppendFile(folder: string, name: string): Promise<AppendFile> {
  await mkdir(folder, { recursive: true });
  const file = await open(join(folder, name), 'a+');
  return new GrowingFile(file, (await file.stat()).size);
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
