/** One listener on a signal for all calls that share it: Node warns of a leak at eleven. */
export class SignalFanout {
  readonly #waiting = new Map<AbortSignal, Set<(reason: unknown) => void>>();

  /** Calls back once when `signal` is aborted, unless undone before; returns the undo. */
  add(signal: AbortSignal | undefined, callback: (reason: unknown) => void): () => void {
    if (signal === undefined) return () => undefined;
    const callbacks = this.#waiting.get(signal) ?? this.#listen(signal);
    callbacks.add(callback);
    return () => {
      callbacks.delete(callback);
      if (callbacks.size > 0 || this.#waiting.get(signal) !== callbacks) return;
      this.#waiting.delete(signal);
      signal.removeEventListener('abort', this.#onAbort);
    };
  }

  #listen(signal: AbortSignal): Set<(reason: unknown) => void> {
    const callbacks = new Set<(reason: unknown) => void>();
    this.#waiting.set(signal, callbacks);
    signal.addEventListener('abort', this.#onAbort);
    return callbacks;
  }

  readonly #onAbort = (event: Event): void => {
    const signal = event.target;
    if (!(signal instanceof AbortSignal)) return;
    const callbacks = this.#waiting.get(signal) ?? [];
    this.#waiting.delete(signal);
    signal.removeEventListener('abort', this.#onAbort);
    for (const callback of callbacks) callback(signal.reason);
  };
}
