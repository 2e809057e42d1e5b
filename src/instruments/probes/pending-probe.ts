/** The probe whose numbers are being computed: at most one, discarded when it takes too long. */
import type { Clock } from '../../base/clock.ts';
import { nextTask } from '../../base/next-task.ts';
import type { ProbeWork } from './probe-work.ts';
import type { Troubles } from './troubles.ts';

/** A page that is to stay fluent gives the event loop a turn every 16 ms; twice that is a loop that gives none. */
const STARVED_MS = 32;

export class PendingProbe {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #troubles: Troubles;
  #running:
    | {
        readonly work: ProbeWork;
        readonly settled: Promise<void>;
        readonly write: () => void;
        /** When a turn of the event loop was asked for that has not come. */
        askedMs: number | undefined;
      }
    | undefined;

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
    const cancelTimeout = this.#clock.after(this.#timeoutMs, giveUp);
    const end = (report: () => void): void => {
      cancelTimeout();
      if (this.#running?.work !== work) return;
      this.#running = undefined;
      report();
    };
    const settled = Promise.race([rest, timedOut]).then(
      (outcome) =>
        end(() => {
          if (outcome !== 'timed out') {
            this.#write(write);
            return;
          }
          work.discard();
          this.#troubles.report({
            reason: 'timed_out',
            message: `A probe was given up: its numbers had not come after ${this.#timeoutMs} ms.`,
          });
        }),
      (error: unknown) => end(() => this.#failed(work, error)),
    );
    rest.catch(() => undefined);
    this.#running = { work, settled, write, askedMs: undefined };
  }

  /**
   * Called once a step. Goes on with the probe on this thread, a millisecond at a time, where the event loop has had no turn
   * for long: a loop that awaits nothing but tensors in host memory gives it none, and no answer of a worker comes through.
   */
  advance(): void {
    const running = this.#running;
    if (running === undefined) return;
    const now = this.#clock.now();
    if (running.askedMs === undefined) {
      running.askedMs = now;
      void nextTask().then(() => {
        running.askedMs = undefined;
      });
      return;
    }
    if (now - running.askedMs < STARVED_MS) return;
    try {
      running.work.advance();
    } catch (error) {
      this.#running = undefined;
      this.#failed(running.work, error);
      return;
    }
    if (!running.work.isComplete) return;
    this.#running = undefined;
    this.#write(running.write);
  }

  /** Waits for the probe that is under way, if there is one. Never rejects. */
  async settle(): Promise<void> {
    await this.#running?.settled;
  }

  #failed(work: ProbeWork, error: unknown): void {
    work.discard();
    this.#troubles.failed('Reading a probe back', error);
  }

  #write(write: () => void): void {
    try {
      write();
    } catch (error) {
      this.#troubles.failed('Writing a probe', error);
    }
  }
}
