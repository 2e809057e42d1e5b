/**
 * A bump allocator over the linear memory of one kernel instance. Growth detaches every view of the old buffer, so views are asked
 * for anew on each use and never kept across an allocation.
 */
import { QuarkError } from '../base/errors.ts';
import type { TensorData } from './kernel.ts';

/** Bytes of a WebAssembly page. */
export const PAGE_BYTES = 65_536;
const ALIGNMENT = 16;

/** Hands out addresses that are multiples of 16, and takes them back all at once. */
export class Arena {
  readonly #memory: WebAssembly.Memory;
  readonly #limitBytes: number;
  #top: number;
  #bytes: Uint8Array<ArrayBuffer>;
  #floats: Float32Array<ArrayBuffer>;
  /** The slots asked for last: nearly always those that are asked for next. */
  #slots: Float64Array<ArrayBuffer>;

  /**
   * @param base first free byte
   * @param limitBytes where the part of the memory that is handed out ends at the latest; it grows to that where it is smaller
   */
  constructor(memory: WebAssembly.Memory, base: number, limitBytes: number) {
    this.#memory = memory;
    this.#limitBytes = limitBytes;
    this.#top = align(base);
    this.#bytes = new Uint8Array(memory.buffer);
    this.#floats = new Float32Array(memory.buffer);
    this.#slots = new Float64Array(memory.buffer, 0, 0);
  }

  /** Bytes the memory holds now. WebAssembly memory grows and never shrinks. */
  get capacityBytes(): number {
    return this.#memory.buffer.byteLength;
  }

  /**
   * The address of `sizeBytes` uninitialised bytes.
   *
   * @throws {QuarkError} `kernel_failed` when the limit is reached or the machine has no memory left
   */
  allocate(sizeBytes: number): number {
    const address = this.#top;
    const end = align(address + sizeBytes);
    if (end > this.#limitBytes) throw exhausted(end, this.#limitBytes, undefined);
    if (end > this.capacityBytes) this.#grow(end);
    this.#top = end;
    return address;
  }

  /** The current top, to be handed to {@link Arena.release}. */
  mark(): number {
    return this.#top;
  }

  /** Takes back everything allocated since `mark`. */
  release(mark: number): void {
    this.#top = mark;
  }

  /** All of the memory, as bytes. Valid until the next allocation. */
  bytes(): Uint8Array<ArrayBuffer> {
    const { buffer } = this.#memory;
    if (this.#bytes.buffer !== buffer) {
      this.#bytes = new Uint8Array(buffer);
      this.#floats = new Float32Array(buffer);
    }
    return this.#bytes;
  }

  /**
   * Where a block of `data` lies, `sizeBytes` long from its byte `at` on: in this memory, or at `address`, to which it is copied
   * otherwise.
   */
  locate(address: number, data: TensorData, at: number, sizeBytes: number): number {
    const bytes = this.bytes();
    if (data.buffer === bytes.buffer) return data.byteOffset + at;
    // A view of its bytes costs as much as copying a few thousand of them.
    if (data instanceof Float32Array && sizeBytes === data.byteLength)
      this.#floats.set(data, address >> 2);
    else bytes.set(new Uint8Array(data.buffer, data.byteOffset + at, sizeBytes), address);
    return address;
  }

  /** `length` float64 slots at `address`. Valid until the next allocation. */
  slots(address: number, length: number): Float64Array {
    const { buffer } = this.#memory;
    const last = this.#slots;
    if (last.buffer === buffer && last.byteOffset === address && last.length === length)
      return last;
    this.#slots = new Float64Array(buffer, address, length);
    return this.#slots;
  }

  #grow(neededBytes: number): void {
    try {
      this.#memory.grow(Math.ceil((neededBytes - this.capacityBytes) / PAGE_BYTES));
    } catch (cause) {
      throw exhausted(neededBytes, this.#limitBytes, cause);
    }
  }
}

function align(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
}

function exhausted(neededBytes: number, limitBytes: number, cause: unknown): QuarkError {
  return new QuarkError(
    'kernel_failed',
    `A kernel needs ${neededBytes} bytes of memory; ${limitBytes} is its limit, or the machine has no more.`,
    {
      details: { neededBytes, limitBytes },
      cause,
    },
  );
}
