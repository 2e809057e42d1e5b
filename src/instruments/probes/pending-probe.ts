/** The probes whose numbers are being computed, in the order of their steps. */
import type { Clock } from '../../base/clock.ts';
import { nextTask } from '../../base/next-task.ts';
import type { ProbeWork } from './probe-work.ts';
import type { Troubles } from './troubles.ts';

/** A page that is to stay fluent gives the event loop a turn every 16 ms; twice that is a loop that gives none. */
const STARVED_MS = 32;
/** Probes of which all is with a worker; one more, and the first of them is finished on the training thread. */
const MAX_HANDED = 8;
/** Longest time a worker has for them while steps go on. */
const LATE_MS = 250;
/** Elements of probes that wait for the kernels to load, before another is left out: a first row of a small model is not to cost others. */
const MOST_UNLOADED = 1 << 18;
/** When to poll for what a worker has found, where no step comes that would. */
const POLL_MS = 20;

type Running = {
  readonly work: ProbeWork;
  readonly write: () => void;
  /** Where there is more than what was handed over in the step: settles with the last of it. */
  readonly rest: Promise<void> | undefined;
  readonly finishedMs: number;
};

export class PendingProbe {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #troubles: Troubles;
  readonly #running: Running[] = [];
  #cancelPoll: (() => void) | undefined;
  /** When a turn of the event loop was asked for that has not come. */
  #askedMs: number | undefined;

  constructor(clock: Clock, timeoutMs: number, troubles: Troubles) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#troubles = troubles;
  }

  /** Whether the next probe has to be left out. */
  get isRunning(): boolean {
    let unloaded = 0;
    for (const { rest, work } of this.#running)
      if (rest !== undefined) unloaded += work.unloadedLength ?? Infinity;
    return unloaded > MOST_UNLOADED;
  }

  /** Finishes the work and then writes; at once where everything is known already. Never throws. */
  finish(work: ProbeWork, write: () => void): void {
    const rest = work.finish();
    if (rest === undefined && work.isComplete && this.#running.length === 0) {
      this.#write(write);
      return;
    }
    const running: Running = {
      work,
      write,
      rest: rest === undefined ? undefined : this.#ends(rest, work),
      finishedMs: this.#clock.now(),
    };
    this.#running.push(running);
    if (rest === undefined) this.#pollLater();
  }

  /**
   * Called once a step. Takes what workers have found. Goes on with the rest of a probe on this thread, a millisecond at a time, where
   * the event loop has had no turn for long: a loop that awaits nothing but tensors in host memory gives it none, and no message of a
   * worker comes through.
   */
  advance(): void {
    this.#poll();
    const [running] = this.#running;
    if (running === undefined) return;
    const now = this.#clock.now();
    if (running.rest === undefined) {
      if (this.#running.length <= MAX_HANDED && now - running.finishedMs < LATE_MS) return;
      this.#try(running, () => running.work.finishHere());
      this.#poll();
      return;
    }
    if (this.#askedMs === undefined) {
      this.#askedMs = now;
      void nextTask().then(() => {
        this.#askedMs = undefined;
      });
      return;
    }
    if (now - this.#askedMs < STARVED_MS) return;
    this.#try(running, () => {
      running.work.advance();
      running.work.finishHere();
    });
    this.#poll();
  }

  /** Ends those that only wait for a worker, at once: the process is about to end. */
  finishNow(): void {
    for (const running of this.#running.filter(({ rest }) => rest === undefined))
      this.#try(running, () => running.work.finishHere(true));
    this.#poll();
  }

  /** Waits for the probes that are under way. Never rejects. */
  async settle(): Promise<void> {
    this.#poll();
    for (let [running] = this.#running; running !== undefined; [running] = this.#running) {
      const { rest, work } = running;
      try {
        await (rest ?? work.settle()); // oxlint-disable-line no-await-in-loop -- in the order of their steps
      } catch (error) {
        this.#failed(running, error);
      }
      this.#poll();
      // What has ended without being complete has been given up.
      if (this.#running[0] === running) this.#running.shift();
    }
  }

  /** Ends with the rest of a probe, or when that takes too long. */
  async #ends(rest: Promise<void>, work: ProbeWork): Promise<void> {
    let giveUp: () => void = () => undefined;
    const timedOut = new Promise<'timed out'>((resolve) => {
      giveUp = () => resolve('timed out');
    });
    const cancel = this.#clock.after(this.#timeoutMs, giveUp);
    rest.catch(() => undefined);
    try {
      const outcome = await Promise.race([rest, timedOut]);
      const running = this.#running.find((one) => one.work === work);
      if (outcome !== 'timed out' || running === undefined) return;
      work.discard();
      this.#remove(running);
      this.#troubles.report({
        reason: 'timed_out',
        message: `A probe was given up: its numbers had not come after ${this.#timeoutMs} ms.`,
      });
    } catch (error) {
      const running = this.#running.find((one) => one.work === work);
      if (running !== undefined) this.#failed(running, error);
    } finally {
      cancel();
      this.#poll();
    }
  }

  /** Writes the probes that are complete, in the order of their steps. */
  #poll(): void {
    for (let [running] = this.#running; running !== undefined; [running] = this.#running) {
      const { work } = running;
      if (!this.#try(running, () => work.poll())) continue;
      if (!work.isComplete) return;
      this.#running.shift();
      this.#write(running.write);
    }
    this.#cancelPoll?.();
    this.#cancelPoll = undefined;
  }

  /** Rows are not to wait for the next step, which may be long in coming. */
  #pollLater(): void {
    this.#cancelPoll ??= this.#clock.after(POLL_MS, () => {
      this.#cancelPoll = undefined;
      this.#poll();
      if (this.#running.some(({ rest }) => rest === undefined)) this.#pollLater();
    });
  }

  /** Whether it worked; the probe is given up otherwise. */
  #try(running: Running, work: () => void): boolean {
    try {
      work();
      return true;
    } catch (error) {
      this.#failed(running, error);
      return false;
    }
  }

  #failed(running: Running, error: unknown): void {
    running.work.discard();
    this.#remove(running);
    this.#troubles.failed('Reading a probe back', error);
  }

  #remove(running: Running): void {
    const at = this.#running.indexOf(running);
    if (at >= 0) this.#running.splice(at, 1);
  }

  #write(write: () => void): void {
    try {
      write();
    } catch (error) {
      this.#troubles.failed('Writing a probe', error);
    }
  }
}
