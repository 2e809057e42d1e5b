/** What both ways of handing over share: memory of tensors and answers, and those who wait for an answer. */

/** Data and answers begin at multiples of so many bytes. */
const ALIGNMENT = 16;

/** Bytes that data of so many take. */
export function aligned(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
}

/** Memory that tensors are copied into. */
export class JobMemory {
  /** All of it as float64: data begins at multiples of 8 bytes. */
  readonly numbers: Float64Array;
  readonly #bytes: Uint8Array;
  readonly #floats: Float32Array;

  /** @param buffer a multiple of 8 bytes is used */
  constructor(buffer: ArrayBufferLike) {
    this.#bytes = new Uint8Array(buffer);
    this.#floats = new Float32Array(buffer, 0, buffer.byteLength >> 2);
    this.numbers = new Float64Array(buffer, 0, buffer.byteLength >> 3);
  }

  /** Copies a tensor to `byteOffset`, a multiple of 4. */
  copy(data: ArrayBufferView & ArrayLike<number>, byteOffset: number): void {
    // A view of its bytes costs as much as copying a few thousand of them.
    if (data instanceof Float32Array) this.#floats.set(data, byteOffset >> 2);
    else this.#bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), byteOffset);
  }
}

/** Callers that wait until something has come. */
export class Waiters {
  readonly #waiting = new Set<() => void>();

  /** Resolves at the next {@link wake}. */
  wait(): Promise<void> {
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resolve of waiting) resolve();
  }
}
