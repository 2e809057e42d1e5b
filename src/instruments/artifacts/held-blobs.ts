/** Payload parts that could not be stored, buffered in memory until they are. A record is written after its parts. */
import type { RowGate } from '../../session/buffered-writer.ts';
import { isRecordingFailure, type RunHandle } from '../../session/run-handle.ts';
import type { Store } from '../../store/store.ts';

/** Limit on buffered payload bytes, over all artifacts of an artifact store. */
const MAX_HELD_BYTES: number = 64 << 20;

/** See the top of this file. */
export class HeldBlobs implements RowGate {
  readonly #handle: RunHandle;
  readonly #held = new Map<string, { readonly bytes: Uint8Array<ArrayBuffer>; uses: number }>();
  #bytes = 0;
  #droppedRows = 0;

  constructor(handle: RunHandle) {
    this.#handle = handle;
    handle.recording.count(this);
  }

  /** Number of dropped artifacts. Buffered ones count as rows of the writer. */
  get status() {
    return { bufferedRows: 0, droppedRows: this.#droppedRows };
  }

  get isOpen(): boolean {
    return this.#held.size === 0;
  }

  async open(): Promise<void> {
    for (const [hash, { bytes }] of this.#held) {
      await this.#handle.store.putBlob(hash, bytes);
      this.#remove(hash);
    }
  }

  /** Where the parts of one payload are put. */
  forPayload(): HeldPayload {
    return new HeldPayload(this.#handle, this);
  }

  /** Whether there was room. */
  hold(hash: string, bytes: Uint8Array<ArrayBuffer>): boolean {
    const known = this.#held.get(hash);
    if (known !== undefined) {
      known.uses++;
      return true;
    }
    if (this.#bytes + bytes.byteLength > MAX_HELD_BYTES) return false;
    this.#held.set(hash, { bytes, uses: 1 });
    this.#bytes += bytes.byteLength;
    return true;
  }

  /** An artifact is given up, with the parts that no other one has put here. */
  drop(hashes: readonly string[], artifactKey: string, sizeBytes: number): void {
    for (const hash of hashes) {
      const held = this.#held.get(hash);
      if (held !== undefined && --held.uses === 0) this.#remove(hash);
    }
    this.#droppedRows++;
    const message = `The payload of artifact ${artifactKey} (${sizeBytes} bytes) could not be stored, and the buffer in memory is full.`;
    const payload = { table: 'artifacts', count: 1, artifact_key: artifactKey, message };
    this.#handle.notify({
      eventType: 'records_dropped',
      severity: 'error',
      step: null,
      epoch: null,
      payload,
    });
  }

  #remove(hash: string): void {
    this.#bytes -= this.#held.get(hash)?.bytes.byteLength ?? 0;
    this.#held.delete(hash);
  }
}

/** One payload on its way. */
class HeldPayload implements Pick<Store, 'putBlob'> {
  readonly #handle: RunHandle;
  readonly #blobs: HeldBlobs;
  /** Parts that this payload has put there. */
  readonly hashes: string[] = [];
  /** What the store failed with; it is not asked for every part then. */
  #failure: unknown;
  isDropped = false;

  constructor(handle: RunHandle, blobs: HeldBlobs) {
    this.#handle = handle;
    this.#blobs = blobs;
  }

  async putBlob(hash: string, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    if (this.#failure === undefined)
      try {
        await this.#handle.store.putBlob(hash, bytes);
        return;
      } catch (error) {
        if (this.#handle.strictMode || !isRecordingFailure(error)) throw error;
        this.#failure = error;
      }
    if (this.isDropped) return;
    if (this.#blobs.hold(hash, bytes)) this.hashes.push(hash);
    else this.isDropped = true;
  }
}
