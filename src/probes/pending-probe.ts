/** The probe whose numbers are still under way: at most one, given up when it takes too long. */
import type { Clock } from '../base/clock.ts';
import type { ProbeWork } from './probe-work.ts';
import type { Troubles } from './troubles.ts';

export class PendingProbe {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #troubles: Troubles;
  #running: { readonly work: ProbeWork; readonly settled: Promise<void> } | undefined;
  #cancelTimeout: (() => void) | undefined;

  constructor(clock: Clock, timeoutMs: number, troubles: Troubles) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#troubles = troubles;
  }

  /** Whether the next probe has to be left out. */
  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** Finishes the work and then writes; at once where everything is known already. Never throws. */
  finish(work: ProbeWork, write: () => void): void {
    const rest = work.finish();
    if (rest === undefined) {
      this.#write(write);
      return;
    }
    let giveUp: () => void = () => undefined;
    const timedOut = new Promise<'timed out'>((resolve) => {
      giveUp = () => resolve('timed out');
    });
    this.#cancelTimeout = this.#clock.after(this.#timeoutMs, giveUp);
    const settled = Promise.race([rest, timedOut])
      .then((outcome) => {
        if (outcome !== 'timed out') {
          this.#write(write);
          return;
        }
        work.discard();
        this.#troubles.report({
          reason: 'timed_out',
          message: `A probe was given up: its numbers had not come after ${this.#timeoutMs} ms.`,
        });
      })
      .catch((error: unknown) => {
        work.discard();
        this.#troubles.failed('Reading a probe back', error);
      })
      .finally(() => {
        this.#cancelTimeout?.();
        this.#running = undefined;
      });
    rest.catch(() => undefined);
    this.#running = { work, settled };
  }

  /** Waits for the probe that is under way, if there is one. Never rejects. */
  async settle(): Promise<void> {
    await this.#running?.settled;
  }

  #write(write: () => void): void {
    try {
      write();
    } catch (error) {
      this.#troubles.failed('Writing a probe', error);
    }
  }
}
