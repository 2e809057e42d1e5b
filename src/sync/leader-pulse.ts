/**
 * Whether the tab that sends is there. A tab that the browser has frozen, or that computes without a pause, goes on having its Web Lock
 * and does nothing. Tabs that wait ask it; messages reach a hidden tab at once, other than its timers. One that does not answer
 * several questions in a row has lapsed.
 */
import type { Clock } from '../base/clock.ts';
import { ifAllowed } from '../base/if-allowed.ts';

const ASK_EVERY_MS = 2_000;
/** So many questions without an answer. Counted by the timer of the one that asks: while it is frozen itself, it counts nothing. */
const MAX_UNANSWERED = 3;

/** The part of a `BroadcastChannel` that is used. */
export type PulseChannel = {
  postMessage(message: string): void;
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void;
  close(): void;
};

/** See the top of this file. */
export class LeaderPulse {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #channel: PulseChannel | undefined;
  #isLeading = false;
  #unanswered = 0;

  /** @param channel reaches all tabs that use the local store for the service; undefined where there is none */
  constructor(channel: PulseChannel | undefined, clock: Pick<Clock, 'after'>) {
    this.#clock = clock;
    this.#channel = channel;
    channel?.addEventListener('message', ({ data }) => {
      if (data === 'answer') this.#unanswered = 0;
      else if (data === 'question' && this.#isLeading) channel.postMessage('answer');
    });
  }

  /** Whether the one that sends has not answered for a while. */
  get isSilent(): boolean {
    return !this.#isLeading && this.#unanswered > 1;
  }

  /** This one sends and answers; returns the undo. */
  lead(): () => void {
    this.#isLeading = true;
    this.#unanswered = 0;
    return () => {
      this.#isLeading = false;
    };
  }

  /** Resolves to true when the one that sends has lapsed, and to false when the signal is aborted. */
  async lapsed(signal: AbortSignal): Promise<boolean> {
    this.#unanswered = 0;
    while (!signal.aborted) {
      if (this.#channel === undefined) return false;
      this.#channel.postMessage('question');
      this.#unanswered += 1;
      await new Promise<void>((resolve) => {
        const done = (): void => {
          cancel();
          signal.removeEventListener('abort', done);
          resolve();
        };
        const cancel = this.#clock.after(ASK_EVERY_MS, done);
        signal.addEventListener('abort', done, { once: true });
      });
      if (!signal.aborted && this.#unanswered >= MAX_UNANSWERED) return true;
    }
    return false;
  }

  close(): void {
    this.#channel?.close();
  }
}

/** The pulse among all tabs that use a local store for a service. */
export function openPulse(name: string, clock: Pick<Clock, 'after'>): LeaderPulse {
  if (typeof BroadcastChannel === 'undefined') return new LeaderPulse(undefined, clock);
  // Some browsers refuse it to pages in a sandbox.
  const channel = ifAllowed(() => new BroadcastChannel(`quark-sync leader ${name}`));
  return new LeaderPulse(channel, clock);
}
