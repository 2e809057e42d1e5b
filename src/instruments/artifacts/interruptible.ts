/** Streams that stop coming must not keep a program from ending. */
import type { Clock } from '../../base/clock.ts';
import { QuarkError } from '../../base/errors.ts';

/** After an interruption, the longest wait for the next chunk of a stream. A checkpoint on its way is worth waiting for. */
export const MAX_PAUSE_MS = 5000;

/**
 * The chunks as they come. Once `signal` is aborted, one that takes longer than {@link MAX_PAUSE_MS} ends the stream with the error
 * `aborted`.
 */
export async function* interruptible(
  chunks: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
  clock: Clock,
): AsyncGenerator<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]();
  let isOver = false;
  try {
    for (;;) {
      const next = await inTime(iterator.next(), signal, clock);
      isOver = next.done === true;
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    // Not awaited: a stream that hangs also hangs here. What it says of its end is of no interest any more.
    if (!isOver) iterator.return?.().catch(() => undefined);
  }
}

function inTime<T>(work: Promise<T>, signal: AbortSignal, clock: Clock): Promise<T> {
  return new Promise((resolve, reject) => {
    let cancel: (() => void) | undefined;
    const onAbort = (): void => {
      cancel = clock.after(MAX_PAUSE_MS, () => {
        const message = `The payload of an artifact stopped coming: nothing for ${MAX_PAUSE_MS} ms after the run was interrupted.`;
        reject(new QuarkError('aborted', message, { cause: signal.reason }));
      });
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    void work.then(resolve, reject).finally(() => {
      cancel?.();
      signal.removeEventListener('abort', onAbort);
    });
  });
}
