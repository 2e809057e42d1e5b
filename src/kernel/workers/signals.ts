/** One listener on a signal for all calls that share it: Node warns of a leak at eleven. */
export class SignalFanout {
  readonly #entries = new Map<AbortSignal, Entry>();

  /** Calls back once when `signal` is aborted, unless undone before; returns the undo. */
  add(signal: AbortSignal, callback: (reason: unknown) => void): () => void {
    const entry = this.#entries.get(signal) ?? this.#listen(signal);
    entry.callbacks.add(callback);
    return () => {
      entry.callbacks.delete(callback);
      if (entry.callbacks.size === 0) this.#forget(signal, entry);
    };
  }

  #listen(signal: AbortSignal): Entry {
    const entry: Entry = {
      callbacks: new Set(),
      onAbort: () => {
        this.#forget(signal, entry);
        for (const callback of entry.callbacks) callback(signal.reason);
      },
    };
    this.#entries.set(signal, entry);
    signal.addEventListener('abort', entry.onAbort);
    return entry;
  }

  #forget(signal: AbortSignal, entry: Entry): void {
    if (this.#entries.get(signal) !== entry) return;
    this.#entries.delete(signal);
    signal.removeEventListener('abort', entry.onAbort);
  }
}

type Entry = {
  readonly callbacks: Set<(reason: unknown) => void>;
  readonly onAbort: () => void;
};
