/** A provider that is a sink: records wait in memory, and go to it in the background. */
import type { Clock } from '../base/clock.ts';
import { errorOf, QuarkError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import { contextKey } from '../base/series-key.ts';
import type { TerminalRunStatus } from '../records/literals.ts';
import { Delivery, within } from '../sinks/delivery.ts';
import {
  recordsIn,
  type Sink,
  type SinkBatch,
  type SinkDistribution,
  type SinkRun,
  type SinkText,
} from '../sinks/sink.ts';
import type { TrackedBins, TrackedEntry, TrackerStatus, TrackerTarget } from './tracker.ts';

/** Records that may wait while the sink fails. */
const MAX_WAITING = 1_000_000;
const INTERVAL_MS = 1000;
/** How long the end of a run waits for a sink that does not answer, in milliseconds. */
const CLOSE_MS = 10_000;

class Waiting {
  readonly #keys = new Map<string, number>();
  readonly #keyIndex: number[] = [];
  readonly #values: number[] = [];
  readonly #steps: number[] = [];
  readonly #timesMs: number[] = [];
  readonly #texts: SinkText[] = [];
  readonly #distributions: SinkDistribution[] = [];
  parameters: JsonObject | null = null;

  scalar(key: string, value: number, step: number, timeMs: number): void {
    let index = this.#keys.get(key);
    if (index === undefined) this.#keys.set(key, (index = this.#keys.size));
    this.#keyIndex.push(index);
    this.#values.push(value);
    this.#steps.push(step);
    this.#timesMs.push(timeMs);
  }

  text(text: SinkText): void {
    this.#texts.push(text);
  }

  distribution(distribution: SinkDistribution): void {
    this.#distributions.push(distribution);
  }

  batch(run: SinkRun): SinkBatch {
    const epochs = new Float64Array(this.#values.length).fill(Number.NaN);
    return {
      run,
      scalars: {
        rowCount: this.#values.length,
        keys: [...this.#keys.keys()],
        keyIndex: this.#keyIndex,
        values: this.#values,
        steps: this.#steps,
        epochs,
        timesMs: this.#timesMs,
      },
      texts: this.#texts,
      distributions: this.#distributions,
      images: [],
      sounds: [],
      parameters: this.parameters,
      isRepeated: false,
    };
  }
}

/** See the top of this file. */
export class SinkTarget implements TrackerTarget {
  readonly runId: string;
  readonly #sink: Sink;
  readonly #run: SinkRun;
  readonly #clock: Clock;
  readonly #delivery: Delivery;
  readonly #at: JsonObject;
  #memory: JsonObject | null;
  #isOpen = false;
  #waiting = new Waiting();
  #count = 0;
  #dropped = 0;
  /** Why the end of the run did not arrive. */
  #ended: Error | null = null;
  /** What is on its way; the same again after a failure. */
  #sending: SinkBatch | undefined;

  /**
   * @param options `memory`: what the sink returned last for this run; `at`: where the sink is, which a state repeats
   */
  constructor(
    sink: Sink,
    run: SinkRun,
    clock: Clock,
    { at, memory }: { readonly at: JsonObject; readonly memory: JsonObject | null },
  ) {
    this.runId = run.id;
    this.#sink = sink;
    this.#run = run;
    this.#clock = clock;
    this.#memory = memory;
    this.#at = at;
    this.#delivery = new Delivery({
      clock,
      intervalMs: INTERVAL_MS,
      work: () => this.#deliver(),
      onChange: () => undefined,
    });
    this.#delivery.poke();
  }

  get status(): TrackerStatus {
    const { error, isFailing } = this.#delivery;
    const sending = this.#sending === undefined ? 0 : recordsIn(this.#sending);
    return {
      state: isFailing || this.#ended !== null ? 'failing' : 'working',
      error: this.#ended ?? error,
      waiting: this.#count + sending,
      dropped: this.#dropped,
    };
  }

  scalar({ context, name, step }: TrackedEntry, value: number): void {
    if (this.#admit())
      this.#waiting.scalar(contextKey(name, context), value, step, this.#clock.now());
  }

  distribution({ context, name, step }: TrackedEntry, { bins, counts }: TrackedBins): void {
    const key = contextKey(name, context);
    if (this.#admit())
      this.#waiting.distribution({ key, bins, counts, step, timeMs: this.#clock.now() });
  }

  text({ context, name, step }: TrackedEntry, text: string): void {
    const key = contextKey(name, context);
    if (this.#admit()) this.#waiting.text({ key, text, step, timeMs: this.#clock.now() });
  }

  parameters(values: JsonObject): void {
    if (this.#waiting.parameters === null) this.#count++;
    this.#waiting.parameters = { ...this.#waiting.parameters, ...values };
    this.#delivery.poke();
  }

  flush(): Promise<void> {
    return this.#delivery.settle();
  }

  async remember(): Promise<JsonObject> {
    await this.flush();
    const { config, description, name, project, startedAtMs, tags } = this.#run;
    // The sink knows where it is and what the run is called once it was reached: until then only the state does.
    const run = { project, name, description, config, tags };
    return { id: this.runId, startedAtMs, run, at: this.#at, sink: this.#memory };
  }

  async close(status: TerminalRunStatus): Promise<void> {
    const ending = async (): Promise<void> => {
      await this.flush();
      await this.#delivery.stop();
      if (this.#isOpen && !this.#delivery.isFailing)
        await this.#sink.end?.(status, this.#clock.now());
      await this.#sink.close?.();
    };
    try {
      if (!(await within(this.#clock, CLOSE_MS, ending())))
        this.#ended = new QuarkError(
          'aborted',
          `The sink ${this.#sink.name} did not take the last records within ${CLOSE_MS / 1000} s.`,
        );
    } catch (error) {
      this.#ended = errorOf(error);
    }
  }

  #admit(): boolean {
    if (this.#count >= MAX_WAITING) {
      this.#dropped++;
      return false;
    }
    this.#count++;
    this.#delivery.poke();
    return true;
  }

  async #deliver(): Promise<boolean> {
    if (!this.#isOpen) {
      const opened = await this.#sink.open?.(this.#run, this.#memory);
      this.#memory = opened?.memory ?? this.#memory;
      this.#isOpen = true;
    }
    if (this.#sending === undefined) {
      if (this.#count === 0) return false;
      this.#sending = this.#waiting.batch(this.#run);
      this.#waiting = new Waiting();
      this.#count = 0;
    }
    const batch = this.#sending;
    try {
      this.#memory = (await this.#sink.write(batch)) ?? this.#memory;
    } catch (error) {
      this.#sending = { ...batch, isRepeated: true };
      throw error;
    }
    this.#sending = undefined;
    return this.#count > 0;
  }
}
