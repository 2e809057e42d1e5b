/** What the build before the rooms has left in `test/fixtures/before-rooms`. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

const FOLDER = join(import.meta.dirname, '../../fixtures/before-rooms');

/** The bytes of a fixture. */
export function fixture(name: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(readFileSync(join(FOLDER, name)));
}

/** A fixture of JSON. */
export function jsonFixture(name: string): unknown {
  return JSON.parse(new TextDecoder().decode(fixture(name)));
}

/** What a fixture of JSON can say of a value. */
export function inJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** Folders of one test file; `clear` removes them. */
export class Folders {
  readonly #folders: string[] = [];

  add(): string {
    const folder = mkdtempSync(join(tmpdir(), 'quark-before-'));
    this.#folders.push(folder);
    return folder;
  }

  /** A folder with the store of the earlier build. */
  addStore(): string {
    const folder = this.add();
    mkdirSync(join(folder, '.quark'));
    writeFileSync(join(folder, '.quark/quark.db'), gunzipSync(fixture('quark.db.gz')));
    return folder;
  }

  clear(): void {
    for (const folder of this.#folders.splice(0)) rmSync(folder, { recursive: true });
  }
}
