/** The writers of a session that are open. */
import type { OpenWriter } from './run-handle.ts';

export class OpenWriters {
  readonly #writers = new Set<OpenWriter>();

  /** Adds a writer; returns the undo. */
  add(writer: OpenWriter): () => void {
    this.#writers.add(writer);
    return () => this.#writers.delete(writer);
  }

  /** Asks all of them at once, those that read what the others write after the others. */
  async ask(
    request: (writer: OpenWriter) => Promise<void>,
  ): Promise<readonly PromiseSettledResult<void>[]> {
    const writers = [...this.#writers];
    const some = (isLast: boolean): Promise<PromiseSettledResult<void>[]> =>
      Promise.allSettled(
        writers.filter((writer) => (writer.isLast ?? false) === isLast).map(request),
      );
    return [...(await some(false)), ...(await some(true))];
  }

  /** Makes durable what they have buffered, without waiting. */
  drainNow(): void {
    for (const writer of this.#writers) writer.drainNow();
  }
}
