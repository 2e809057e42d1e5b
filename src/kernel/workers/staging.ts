/**
 * The copies of tensors on their way to a worker. Buffers are used again, because fresh memory costs more than the copy into it, and
 * all of them together stay below a limit.
 */

/** Memory a tensor waits in. */
export type StagingBuffer = ArrayBuffer | SharedArrayBuffer;

/** What {@link Staging} needs to know. */
export type StagingConfig = {
  /** Whether buffers are shared with the workers instead of transferred to them. */
  readonly isShared: boolean;
  /** Most bytes in use and kept for later, together. */
  readonly limitBytes: number;
};

const SMALLEST_BYTES = 64 * 1024;

/** Hands out buffers of at least the wanted size. */
export class Staging {
  readonly #config: StagingConfig;
  readonly #free: StagingBuffer[] = [];
  #usedBytes = 0;
  #freeBytes = 0;

  constructor(config: StagingConfig) {
    this.#config = config;
  }

  /** Bytes of the buffers that are in use. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Bytes of the buffers that are kept for later. */
  get freeBytes(): number {
    return this.#freeBytes;
  }

  /** Bytes that {@link Staging.acquire} takes for a tensor of `sizeBytes`. */
  capacityOf(sizeBytes: number): number {
    return Math.max(SMALLEST_BYTES, 2 ** Math.ceil(Math.log2(Math.max(1, sizeBytes))));
  }

  /** Whether buffers of these capacities, in total, can be acquired now. */
  hasRoom(capacityBytes: number): boolean {
    return this.#usedBytes + capacityBytes <= this.#config.limitBytes;
  }

  /** A buffer with room for `sizeBytes`. Its contents are whatever it held before. */
  acquire(sizeBytes: number): StagingBuffer {
    const capacity = this.capacityOf(sizeBytes);
    this.#usedBytes += capacity;
    const at = this.#free.findIndex((buffer) => buffer.byteLength === capacity);
    const [found] = at < 0 ? [] : this.#free.splice(at, 1);
    if (found !== undefined) {
      this.#freeBytes -= capacity;
      return found;
    }
    while (this.#usedBytes + this.#freeBytes > this.#config.limitBytes && this.#free.length > 0) {
      this.#freeBytes -= this.#free.shift()?.byteLength ?? 0;
    }
    return this.#config.isShared ? new SharedArrayBuffer(capacity) : new ArrayBuffer(capacity);
  }

  /**
   * Takes back what {@link Staging.acquire} gave.
   *
   * @param capacity of the buffer when it was acquired
   * @param buffer undefined when it was lost with a worker
   */
  release(capacity: number, buffer: StagingBuffer | undefined): void {
    this.#usedBytes -= capacity;
    if (buffer === undefined || buffer.byteLength !== capacity) return;
    this.#free.push(buffer);
    this.#freeBytes += capacity;
  }

  /** Lets go of the buffers kept for later. */
  trim(): void {
    this.#free.length = 0;
    this.#freeBytes = 0;
  }
}
