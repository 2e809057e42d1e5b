/** A round-robin queue over owners: takes one entry of each owner in turn, however many entries an owner has. */
export class FairQueue<T> {
  readonly #waiting = new Map<string, T[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(owner: string, item: T): void {
    const items = this.#waiting.get(owner);
    if (items === undefined) this.#waiting.set(owner, [item]);
    else items.push(item);
    this.#size += 1;
  }

  /** Takes the next entry. Its owner then moves to the end. */
  take(): T | undefined {
    for (const [owner, items] of this.#waiting) {
      const item = items.shift();
      this.#waiting.delete(owner);
      if (items.length > 0) this.#waiting.set(owner, items);
      if (item === undefined) continue;
      this.#size -= 1;
      return item;
    }
    return undefined;
  }

  /** Removes entries that are no longer needed. */
  drop(isUseless: (item: T) => boolean): void {
    for (const [owner, items] of this.#waiting) {
      const left = items.filter((item) => !isUseless(item));
      this.#size -= items.length - left.length;
      if (left.length === 0) this.#waiting.delete(owner);
      else this.#waiting.set(owner, left);
    }
  }
}
