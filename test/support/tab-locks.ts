/** Web Locks of several tabs in one process: a tab that ends gives up its locks, and those it waits for. */
import type { SpillLocks } from '../../src/store/idb/idb-spill-layout.ts';

type Grant = (lock: Lock | null) => unknown;
type Waiting = { readonly tab: object; readonly grant: () => void };

export class TabLocks {
  readonly #held = new Map<string, object>();
  readonly #waiting = new Map<string, Waiting[]>();

  /** A tab with locks of its own; `end` ends it without a word. */
  openTab(): { readonly locks: SpillLocks; end(): void } {
    const tab = {};
    const request = (name: string, options: LockOptions | Grant, callback?: Grant): unknown =>
      typeof options === 'function'
        ? this.#request(tab, name, {}, options)
        : this.#request(tab, name, options, callback ?? (() => undefined));
    return {
      locks: { request } as SpillLocks,
      end: () => {
        for (const [name, list] of this.#waiting)
          this.#waiting.set(
            name,
            list.filter((one) => one.tab !== tab),
          );
        for (const [name, holder] of this.#held) if (holder === tab) this.#release(name);
      },
    };
  }

  async #request(
    tab: object,
    name: string,
    { ifAvailable = false, signal }: LockOptions,
    callback: Grant,
  ): Promise<unknown> {
    if (this.#held.has(name)) {
      if (ifAvailable) return callback(null);
      await new Promise<void>((grant, reject) => {
        const waiting = { tab, grant };
        this.#waiting.set(name, [...(this.#waiting.get(name) ?? []), waiting]);
        signal?.addEventListener('abort', () => {
          const list = this.#waiting.get(name) ?? [];
          this.#waiting.set(
            name,
            list.filter((one) => one !== waiting),
          );
          reject(new DOMException('No longer wanted.', 'AbortError'));
        });
      });
    }
    this.#held.set(name, tab);
    try {
      return await callback({ name, mode: 'exclusive' });
    } finally {
      if (this.#held.get(name) === tab) this.#release(name);
    }
  }

  #release(name: string): void {
    this.#held.delete(name);
    const [next, ...others] = this.#waiting.get(name) ?? [];
    this.#waiting.set(name, others);
    if (next === undefined) return;
    this.#held.set(name, next.tab);
    next.grant();
  }
}
