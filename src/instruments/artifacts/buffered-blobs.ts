/** Payload parts that could not be stored, buffered in memory until they are. A record is written after its parts. */
import type { RowGate } from '../../session/writer-options.ts';
import { isRecordingFailure, type RunHandle } from '../../session/run-handle.ts';
import type { Store } from '../../store/store.ts';

/** Limit on buffered payload bytes, over all artifacts of an artifact store. */
const MAX_BUFFERED_BYTES: number = 64 << 20;

/** See the top of this file. */
export class BufferedBlobs implements RowGate {
  readonly #handle: RunHandle;
  readonly #buffered = new Map<string, { readonly bytes: Uint8Array<ArrayBuffer>; uses: number }>();
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
    return this.#buffered.size === 0;
  }

  async open(): Promise<void> {
    for (const [hash, { bytes }] of this.#buffered) {
      await this.#handle.store.putBlob(hash, bytes);
      this.#remove(hash);
    }
  }

  /** Where the parts of one payload are put. */
  forPayload(): BufferedPayload {
    return new BufferedPayload(this.#handle, this);
  }

  /** Whether there was room. */
  buffer(hash: string, bytes: Uint8Array<ArrayBuffer>): boolean {
    const known = this.#buffered.get(hash);
    if (known !== undefined) {
      known.uses++;
      return true;
    }
    if (this.#bytes + bytes.byteLength > MAX_BUFFERED_BYTES) return false;
    this.#buffered.set(hash, { bytes, uses: 1 });
    this.#bytes += bytes.byteLength;
    return true;
  }

  /** Drops an artifact, with the parts that no other artifact has buffered. */
  drop(hashes: readonly string[], artifactKey: string, sizeBytes: number): void {
    for (const hash of hashes) {
      const buffered = this.#buffered.get(hash);
      if (buffered !== undefined && --buffered.uses === 0) this.#remove(hash);
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
    this.#bytes -= this.#buffered.get(hash)?.bytes.byteLength ?? 0;
    this.#buffered.delete(hash);
  }
}

/** One payload on its way. */
class BufferedPayload implements Pick<Store, 'putBlob'> {
  readonly #handle: RunHandle;
  readonly #blobs: BufferedBlobs;
  /** Parts that this payload has put there. */
  readonly hashes: string[] = [];
  /** What the store failed with; it is not asked for every part then. */
  #failure: unknown;
  isDropped = false;

  constructor(handle: RunHandle, blobs: BufferedBlobs) {
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
    if (this.#blobs.buffer(hash, bytes)) this.hashes.push(hash);
    else this.isDropped = true;
  }
}
