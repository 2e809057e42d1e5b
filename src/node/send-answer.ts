/** Writing an answer to its connection: as fast as the client takes it, and no longer than it does. */
import type { ServerResponse } from 'node:http';
import { failure } from '../service/answers.ts';

/** Written at a time. A client has to take so much within the idle limit, so that its rate has a floor, too. */
const SLICE_BYTES = 64 * 1024;

type Chunk = ReadableStreamReadResult<Uint8Array>;

/**
 * Sends an answer. Resolves when it was sent, or when the connection is gone; the body is read to its end or cancelled by
 * then. What fails before the first byte is an answer of its own; later it breaks the connection, which clients notice.
 *
 * @param gone aborted when the connection is gone
 * @param idleMs longest time in which the client takes nothing
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
    // Most answers are whole at once, and say how long they are. Of others, the headers do not wait for the body.
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
    // Nothing is left to be read after the end; what the client did not wait for is not made.
    await reader?.cancel().catch(() => undefined);
  }
}

/** What there is within this turn of the event loop, or undefined. */
async function soon(reading: Promise<Chunk>): Promise<Chunk | undefined> {
  // A failure that comes later is heard by who waits for it then.
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

  /** Sends the headers of a body whose length is not known, or is among them. */
  begin(answer: Response): void {
    if (this.#gone.aborted || this.#outgoing.headersSent) return;
    this.#outgoing.writeHead(answer.status, Object.fromEntries(answer.headers));
    this.#outgoing.flushHeaders();
  }

  /** Sends bytes, and waits until the client has taken most of them. */
  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.byteLength && !this.#gone.aborted; at += SLICE_BYTES)
      if (!this.#outgoing.write(bytes.subarray(at, at + SLICE_BYTES))) await this.#taken('drain');
  }

  /** Sends what is left, `only` being a whole body, and waits until the client has taken it. */
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

  /** What is read, unless the connection goes before. */
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

  /** Waits for the client. One that takes nothing for too long is left. */
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
