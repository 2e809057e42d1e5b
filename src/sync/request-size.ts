/**
 * How much goes into one request. What does not get through is made smaller until it does: a connection that breaks after
 * a while, or a line that is slow, lets less through than a request may hold.
 */

/** What a request holds, about: segments before compression on the wire. */
export const REQUEST_BYTES: number = 4 * 1024 * 1024;
/** Segments of a request, at most. */
export const REQUEST_SEGMENTS = 256;
/** Below it is the connection and not the size. */
const MIN_BYTES = 8 * 1024;

/** See the top of this file. */
export class RequestSize {
  #bytes = REQUEST_BYTES;

  /** Segments are added to a request until it holds so much. */
  get bytes(): number {
    return this.#bytes;
  }

  /** A request of so many bytes did not get through. */
  failed(bytes: number): void {
    this.#bytes = Math.max(MIN_BYTES, Math.min(this.#bytes, bytes) / 2);
  }

  /** One did. */
  arrived(): void {
    this.#bytes = Math.min(REQUEST_BYTES, this.#bytes * 2);
  }
}
