/** Memory that is used again for each segment: it stays in the processor's caches, and the collector has nothing to do. */

/** Hands out memory until it is taken back all at once. */
export class Scratch {
  #bytes = new Uint8Array(0);
  #taken = 0;

  /** That many bytes, which may hold anything, at a multiple of 8. */
  readonly take = (byteLength: number): Uint8Array => {
    const at = this.#taken;
    this.#taken = at + 8 * Math.ceil(byteLength / 8);
    return this.#taken <= this.#bytes.byteLength
      ? this.#bytes.subarray(at, at + byteLength)
      : new Uint8Array(byteLength);
  };

  /** Takes all of it back: what was in it is lost. */
  reset(): void {
    if (this.#taken > this.#bytes.byteLength) this.#bytes = new Uint8Array(this.#taken);
    this.#taken = 0;
  }
}
