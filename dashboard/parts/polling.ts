/** Asking again and again, while somebody reads: not faster than answers come, and not in a hidden tab. */

/** Pause after a failed round, at most, in milliseconds. */
const RETRY_MAX_MS = 15_000;

/** Those who poll at this moment, by how they are told to do so at once. */
const pollers = new Set<() => void>();

/** Has everything that is polled read again at once: this page has changed something. */
export function pollAllNow(): void {
  for (const pollNow of pollers) pollNow();
}

/**
 * Calls `round` now, then `pauseMs()` after each round that ended. After a failed round the pause grows. A hidden tab
 * pauses and goes on at once when it is shown again. Returns the stop.
 */
export function keepPolling(
  round: () => Promise<void>,
  pauseMs: () => number,
  onError: (error: unknown) => void,
): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isStopped = false;
  let isRunning = false;
  let isAskedAgain = false;
  let failures = 0;
  const next = async (): Promise<void> => {
    if (isStopped || isRunning || document.hidden) return;
    isRunning = true;
    isAskedAgain = false;
    clearTimeout(timer);
    try {
      await round();
      failures = 0;
    } catch (error) {
      failures += 1;
      if (!isStopped) onError(error);
    }
    isRunning = false;
    if (isStopped) return;
    if (isAskedAgain) {
      void next();
      return;
    }
    const pause = failures === 0 ? pauseMs() : Math.min(RETRY_MAX_MS, pauseMs() * 2 ** failures);
    timer = setTimeout(() => void next(), pause);
  };
  const onVisible = (): void => {
    if (!document.hidden) void next();
  };
  // A round that has begun may have read what was before the change.
  const pollNow = (): void => {
    isAskedAgain = isRunning;
    void next();
  };
  document.addEventListener('visibilitychange', onVisible);
  pollers.add(pollNow);
  void next();
  return () => {
    isStopped = true;
    clearTimeout(timer);
    pollers.delete(pollNow);
    document.removeEventListener('visibilitychange', onVisible);
  };
}
