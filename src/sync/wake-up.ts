/** Tells the one who sends that something was written: in this page or process at once, in other tabs of the origin too. */

import { ifAllowed } from '../base/if-allowed.ts';

const inProcess = new Map<string, Set<() => void>>();

/** Tabs are told at most so often: the uploader looks by itself too. */
const TELL_TABS_EVERY_MS = 200;

/** See the top of this file. */
export class WakeUp {
  readonly #name: string;
  readonly #listener: () => void;
  readonly #channel: BroadcastChannel | undefined;
  #toldAtMs = Number.NEGATIVE_INFINITY;

  constructor(name: string, listener: () => void) {
    this.#name = name;
    this.#listener = listener;
    const listeners = inProcess.get(name) ?? new Set();
    inProcess.set(name, listeners.add(listener));
    // Node's reaches the threads of this process only, which all have a map of their own.
    if (typeof BroadcastChannel === 'undefined') return;
    // Some browsers refuse it to pages in a sandbox: there are no tabs to tell then.
    this.#channel = ifAllowed(() => new BroadcastChannel(`quark-sync ${name}`));
    if (this.#channel === undefined) return;
    this.#channel.addEventListener('message', listener);
    const { unref } = this.#channel as { unref?: () => void };
    unref?.call(this.#channel);
  }

  wake(): void {
    for (const listener of inProcess.get(this.#name) ?? []) listener();
    const nowMs = performance.now();
    if (this.#channel === undefined || nowMs - this.#toldAtMs < TELL_TABS_EVERY_MS) return;
    this.#toldAtMs = nowMs;
    this.#channel.postMessage(null);
  }

  close(): void {
    const listeners = inProcess.get(this.#name);
    listeners?.delete(this.#listener);
    if (listeners?.size === 0) inProcess.delete(this.#name);
    this.#channel?.close();
  }
}
