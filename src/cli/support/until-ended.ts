/** Commands that go on while a run does. */
import type { RunReader } from '../../index.ts';
import type { CliIo } from './io.ts';

const POLL_MS = 2000;

/**
 * Does something again and again until the run has ended, or nobody records it any more, or Ctrl-C. What was recorded up to the end
 * is there at the last time.
 */
export async function untilEnded(
  io: CliIo,
  reader: RunReader,
  step: () => Promise<void>,
): Promise<void> {
  const over = new AbortController();
  let wake = (): void => undefined;
  const undo = io.onInterrupt(() => {
    over.abort();
    wake();
  });
  try {
    for (let wasLive = reader.isLive; !over.signal.aborted; wasLive = reader.isLive) {
      await step();
      if (!wasLive) return;
      await reader.reload();
      if (!reader.isLive || over.signal.aborted) continue;
      await new Promise<void>((resolve) => {
        wake = resolve;
        setTimeout(resolve, POLL_MS);
      });
    }
  } finally {
    undo();
  }
}
