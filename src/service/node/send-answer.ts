/** Writes an answer to its connection with back pressure, and stops when the client disconnects. */
import type { ServerResponse } from 'node:http';
import { failure } from '../http/answers.ts';

/** Bytes per write. A client has to read this many within the idle limit, which sets a minimum rate. */
const SLICE_BYTES = 64 * 1024;

type Chunk = ReadableStreamReadResult<Uint8Array>;

/**
 * Sends an answer. Resolves when it was sent, or when the connection is gone; the body was then read to its end or cancelled. A
 * failure before the first byte becomes an error answer; a later failure closes the connection, which the client sees as an
 * incomplete answer.
 *
 * @param gone aborted when the connection is gone
 * @param idleMs longest time, in milliseconds, in which the client reads nothing
 */
export async function sendAnswer(
  answer: Response,
  outgoing: ServerResponse,
  gone: AbortSignal,
  idleMs: number,
): Promise<void> {
  const sender = new Sender(outgoing, gone, idleMs);
  const reader = answer.body?.getReader();
  try {
    if (reader === undefined || gone.aborted) {
      await sender.end(answer);
      return;
    }
    const reading = reader.read();
    // Most answers are complete at once and get a content-length. For others, the headers are sent before the body.
    let chunk = await soon(reading);
    if (chunk === undefined) {
      sender.begin(answer);
      chunk = await sender.unlessGone(reading);
    } else if (!chunk.done) {
      const next = reader.read();
      const following = await soon(next);
      if (following?.done === true) {
        await sender.end(answer, chunk.value);
        return;
      }
      sender.begin(answer);
      await sender.write(chunk.value);
      chunk = following ?? (await sender.unlessGone(next));
    }
    while (chunk !== undefined && !chunk.done && !gone.aborted) {
      await sender.write(chunk.value);
      chunk = await sender.unlessGone(reader.read());
    }
    await sender.end(answer);
  } catch (error) {
    if (outgoing.headersSent || gone.aborted) outgoing.destroy();
    else await sendAnswer(failure(error), outgoing, gone, idleMs);
  } finally {
    // Cancels what is left of the body when the client has disconnected.
    await reader?.cancel().catch(() => undefined);
  }
}

/** What the body yields within this task of the event loop, or undefined. */
async function soon(reading: Promise<Chunk>): Promise<Chunk | undefined> {
  // A later failure is handled by the next reader.
  reading.catch(() => undefined);
  return Promise.race([
    reading,
    new Promise<undefined>((resolve) => {
      setImmediate(() => resolve(undefined));
    }),
  ]);
}

class Sender {
  readonly #outgoing: ServerResponse;
  readonly #gone: AbortSignal;
  readonly #idleMs: number;

  constructor(outgoing: ServerResponse, gone: AbortSignal, idleMs: number) {
    this.#outgoing = outgoing;
    this.#gone = gone;
    this.#idleMs = idleMs;
  }

  /** Sends the headers, of a body with unknown length or with a content-length among them. */
  begin(answer: Response): void {
    if (this.#gone.aborted || this.#outgoing.headersSent) return;
    this.#outgoing.writeHead(answer.status, Object.fromEntries(answer.headers));
    this.#outgoing.flushHeaders();
  }

  /** Sends bytes, and waits until the socket's buffer has drained. */
  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.byteLength && !this.#gone.aborted; at += SLICE_BYTES)
      if (!this.#outgoing.write(bytes.subarray(at, at + SLICE_BYTES))) await this.#taken('drain');
  }

  /** Sends the rest (`only` is a complete body), and waits until it was written. */
  async end(answer: Response, only?: Uint8Array): Promise<void> {
    if (this.#gone.aborted) return;
    if (!this.#outgoing.headersSent) {
      const headers = Object.fromEntries(answer.headers);
      const length = only?.byteLength ?? (answer.body === null ? undefined : 0);
      this.#outgoing.writeHead(
        answer.status,
        length === undefined ? headers : { ...headers, 'content-length': String(length) },
      );
      if (only !== undefined) await this.write(only);
    }
    if (this.#gone.aborted) return;
    this.#outgoing.end();
    await this.#taken('close');
  }

  /** The next chunk, unless the connection ends first. */
  async unlessGone(reading: Promise<Chunk>): Promise<Chunk | undefined> {
    reading.catch(() => undefined);
    let stop = (): void => undefined;
    const left = new Promise<undefined>((resolve) => {
      stop = () => resolve(undefined);
    });
    this.#gone.addEventListener('abort', stop, { once: true });
    try {
      return this.#gone.aborted ? undefined : await Promise.race([reading, left]);
    } finally {
      this.#gone.removeEventListener('abort', stop);
    }
  }

  /** Waits for the client. A client that reads nothing for too long is disconnected. */
  #taken(event: 'drain' | 'close'): Promise<void> {
    const outgoing = this.#outgoing;
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        outgoing.off(event, done);
        this.#gone.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(() => outgoing.destroy(), this.#idleMs);
      outgoing.on(event, done);
      this.#gone.addEventListener('abort', done);
      if (this.#gone.aborted || outgoing.closed) done();
    });
  }
}
