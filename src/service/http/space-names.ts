/** Names for the spaces that requests are about, for memories that serve them all. */
import type { Store } from '../../store/store.ts';
import { lastingStoreOf, type StoreScope } from './handler-options.ts';

/** Spaces are told apart by the name they were given, else by their store. Checksums and ids do not tell them apart. */
export class SpaceNames {
  readonly #unnamed = new WeakMap<Store, string>();
  #count = 0;

  /** Equal for two requests where they are about one space. */
  of(scope: StoreScope): string {
    if (scope.feed !== undefined) return `named ${scope.feed.space}`;
    const store = lastingStoreOf(scope);
    const known = this.#unnamed.get(store);
    if (known !== undefined) return known;
    this.#count += 1;
    const name = `unnamed ${this.#count}`;
    this.#unnamed.set(store, name);
    return name;
  }
}
