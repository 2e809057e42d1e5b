/** Objects in memory, with requests that fail or stop on demand. */
import type { ObjectFiles } from '../../src/store/sql/object-files.ts';

export class MemoryObjects implements ObjectFiles {
  readonly name = 'memory objects';
  readonly objects = new Map<string, { bytes: Uint8Array<ArrayBuffer>; modifiedAtMs: number }>();
  readonly #clock: { now(): number };
  /** Throws to break a request, before or after it is carried out. */
  fault: ((what: 'put' | 'get' | 'delete', isDone: boolean) => void) | undefined;

  constructor(clock: { now(): number }) {
    this.#clock = clock;
  }

  async put(key: string, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    this.fault?.('put', false);
    if (this.objects.has(key)) throw new Error(`${key} is written twice.`);
    this.objects.set(key, { bytes: bytes.slice(), modifiedAtMs: this.#clock.now() });
    this.fault?.('put', true);
  }

  async get(key: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
    this.fault?.('get', false);
    return this.objects.get(key)?.bytes.slice();
  }

  async delete(key: string): Promise<void> {
    this.fault?.('delete', false);
    this.objects.delete(key);
    this.fault?.('delete', true);
  }

  async *list(start: string): AsyncIterable<{ key: string; modifiedAtMs: number }> {
    for (const [key, { modifiedAtMs }] of [...this.objects].sort(([a], [b]) => (a < b ? -1 : 1)))
      if (key.startsWith(start)) yield { key, modifiedAtMs };
  }
}
