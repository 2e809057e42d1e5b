/** Names in a binary file that come again and again, found by their bytes: no text is made of a name that is known. */

/** One name, with what is known of it. */
export type TagEntry<T> = {
  readonly bytes: Uint8Array;
  readonly value: T;
  /** The entry that came after this one the last time: mostly it does again. */
  next: TagEntry<T> | undefined;
};

/** Names and what belongs to them. */
export class TagTable<T> {
  readonly #byHash = new Map<number, TagEntry<T>[]>();
  readonly #maxEntries: number;
  readonly #create: (bytes: Uint8Array) => T;
  #last: TagEntry<T> | undefined;
  #size = 0;

  constructor(maxEntries: number, create: (bytes: Uint8Array) => T) {
    this.#maxEntries = maxEntries;
    this.#create = create;
  }

  /** What belongs to the name at `[from, to)`; undefined when the table is full and does not have it. */
  find(bytes: Uint8Array, from: number, to: number): T | undefined {
    const guess = this.#last?.next;
    if (guess !== undefined && isSame(guess.bytes, bytes, from, to)) {
      this.#last = guess;
      return guess.value;
    }
    let hash = 0x811c9dc5;
    for (let at = from; at < to; at++) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193);
    let list = this.#byHash.get(hash);
    let entry = list?.find((known) => isSame(known.bytes, bytes, from, to));
    if (entry === undefined) {
      // Names can be made to have one hash; a table that searched long lists would stand still.
      if (this.#size >= this.#maxEntries || (list?.length ?? 0) >= MAX_SAME_HASH) return undefined;
      const own = bytes.slice(from, to);
      entry = { bytes: own, value: this.#create(own), next: undefined };
      if (list === undefined) this.#byHash.set(hash, (list = []));
      list.push(entry);
      this.#size++;
    }
    if (this.#last !== undefined) this.#last.next = entry;
    this.#last = entry;
    return entry.value;
  }
}

const MAX_SAME_HASH = 64;

function isSame(known: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean {
  if (known.length !== to - from) return false;
  for (let i = 0; i < known.length; i++) if (known[i] !== bytes[from + i]) return false;
  return true;
}
