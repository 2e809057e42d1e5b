/** Answers with curves: what was computed is stored in memory as long as it was used lately. */
import { isQuarkError } from '../../base/errors.ts';
import type { Store } from '../../store/store.ts';
import { lastingStoreOf, type StoreScope } from '../http/handler-options.ts';

/** Bytes of the answers in memory. */
const MAX_BYTES = 16 << 20;

type Answer = Uint8Array<ArrayBuffer>;

/** The answers that were used last. */
export class CurveMemory {
  readonly #answers = new Map<string, { answer: Promise<Answer>; size: number }>();
  /** Spaces without a name are told apart by their store: checksums and ids do not tell them apart. */
  readonly #unnamed = new WeakMap<Store, string>();
  #lastUnnamed = 0;
  #size = 0;

  /** A name of the space of a request, for keys of {@link once}. */
  spaceOf(scope: StoreScope): string {
    if (scope.feed !== undefined) return `named ${scope.feed.space}`;
    const store = lastingStoreOf(scope);
    const known = this.#unnamed.get(store) ?? `unnamed ${++this.#lastUnnamed}`;
    this.#unnamed.set(store, known);
    return known;
  }

  async once(key: string, signal: AbortSignal, work: () => Promise<Answer>): Promise<Answer> {
    for (;;) {
      const known = this.#answers.get(key);
      if (known === undefined) return this.#make(key, work);
      this.#answers.delete(key);
      this.#answers.set(key, known);
      try {
        return await known.answer;
      } catch (error) {
        // The one who asked first has left or may ask no more; who waits for the same makes it then.
        if (signal.aborted || !(isQuarkError(error, 'aborted') || isOwnRefusal(error))) throw error;
      }
    }
  }

  async #make(key: string, work: () => Promise<Answer>): Promise<Answer> {
    const entry = { answer: work(), size: 0 };
    this.#answers.set(key, entry);
    try {
      const answer = await entry.answer;
      entry.size = key.length + answer.byteLength;
      this.#size += entry.size;
      this.#trim();
      return answer;
    } catch (error) {
      if (this.#answers.get(key) === entry) this.#answers.delete(key);
      throw error;
    }
  }

  #trim(): void {
    for (const [key, { size }] of this.#answers) {
      if (this.#size <= MAX_BYTES) return;
      // One that is being worked out has no size yet.
      if (size === 0) continue;
      this.#answers.delete(key);
      this.#size -= size;
    }
  }
}

/** A refusal of one client. It is not shared with others who asked for the same curves. */
function isOwnRefusal(error: unknown): boolean {
  return isQuarkError(error, 'store_failed') && error.details['reason'] === 'busy';
}
