/** One stream of server-sent events: what is waiting for one client, the latest of each kind. */

/** An event on its way to a client. */
export type FeedEvent = {
  /** Events of one subject replace each other while they wait. */
  readonly subject: string;
  readonly name: string;
  readonly data: object;
};

const encoder = new TextEncoder();

/** How long a client waits before it connects again, in milliseconds. */
const RETRY_MS = 2_000;

/** A client that listens. Holds at most one event of each subject, however slowly the client reads. */
export class FeedListener {
  /** What the client reads. */
  readonly body: ReadableStream<Uint8Array>;
  readonly #cursor: () => string | undefined;
  readonly #waiting = new Map<string, FeedEvent>();
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #isReading = false;
  #isOpen = true;

  /**
   * @param cursor how far the client has come once it has all that is waiting; undefined where there is no going on
   * @param onEnd told once when the client is gone, or the stream was ended
   */
  constructor(cursor: () => string | undefined, onEnd: () => void) {
    this.#cursor = cursor;
    this.#onEnd = onEnd;
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
          // Sent at once: a client knows that it is connected, and proxies pass the headers on.
          controller.enqueue(encoder.encode(`retry: ${RETRY_MS}\n\n`));
        },
        pull: () => {
          this.#isReading = true;
          this.#flush();
        },
        cancel: () => this.#finish(),
      },
      { highWaterMark: 1 },
    );
  }

  readonly #onEnd: () => void;

  /** Tells the client, when it reads next. */
  push(events: readonly FeedEvent[]): void {
    if (!this.#isOpen) return;
    for (const event of events) {
      // Behind what came before: a map does not move a key that is set again.
      this.#waiting.delete(event.subject);
      this.#waiting.set(event.subject, event);
    }
    this.#flush();
  }

  /** Shows the client, and what is between, that the stream is alive; also how a client that is gone is noticed. */
  keepAlive(): void {
    if (this.#isOpen && this.#isReading) this.#send(': alive\n\n');
  }

  /** Ends the stream. */
  end(): void {
    if (!this.#isOpen) return;
    this.#finish();
    this.#controller?.close();
  }

  #flush(): void {
    if (!this.#isReading || this.#waiting.size === 0) return;
    const events = [...this.#waiting.values()];
    this.#waiting.clear();
    const cursor = this.#cursor();
    this.#send(
      events
        .map(({ name, data }, i) => {
          // The cursor is that after all of them, so it belongs to the last.
          const id = cursor !== undefined && i === events.length - 1 ? `id: ${cursor}\n` : '';
          return `${id}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
        })
        .join(''),
    );
  }

  #send(text: string): void {
    this.#controller?.enqueue(encoder.encode(text));
    this.#isReading = (this.#controller?.desiredSize ?? 0) > 0;
  }

  #finish(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#waiting.clear();
    this.#onEnd();
  }
}
