/** The tracker itself: step, context and checks, alike for every provider. */
import { checkCount, checkLiteral, checkOptionNames } from '../base/assert.ts';
import { ASYNC_DISPOSE } from '../base/dispose.ts';
import { invalidInput, QuarkError } from '../base/errors.ts';
import { copyJsonObject, type JsonObject } from '../base/json.ts';
import { parseKey } from '../base/names.ts';
import { TERMINAL_RUN_STATUSES, type TerminalRunStatus } from '../records/literals.ts';
import { checkContext } from './config.ts';
import { countBins } from './distribution.ts';
import type {
  Distribution,
  TrackedEntry,
  Tracker,
  TrackerContext,
  TrackerProvider,
  TrackerState,
  TrackerStatus,
  TrackerTarget,
  TrackOptions,
} from './tracker.ts';

const NO_OPTIONS: TrackOptions = Object.freeze({});

/** See the top of this file. */
export class ContextTracker implements Tracker {
  readonly provider: TrackerProvider;
  readonly #target: TrackerTarget;
  readonly #names = new Map<string, string>();
  #step: number;
  #context: TrackerContext;
  #closing: Promise<void> | undefined;

  constructor(provider: TrackerProvider, target: TrackerTarget, from: TrackerState | undefined) {
    this.provider = provider;
    this.#target = target;
    this.#step = from?.step ?? 0;
    this.#context = from?.context ?? {};
  }

  get runId(): string | null {
    return this.#target.runId;
  }

  get step(): number {
    return this.#step;
  }

  get context(): TrackerContext {
    return this.#context;
  }

  setStep(step: number): void {
    this.#step = checkCount('step', step);
  }

  setContext(context: TrackerContext): void {
    this.#context = checkContext('context', context);
  }

  scalar(name: string, value: number, options: TrackOptions = NO_OPTIONS): void {
    const entry = this.#entry(name, options);
    if (typeof value !== 'number') throw invalidInput(`value of ${entry.name}`, value, 'a number');
    this.#target.scalar(entry, value);
  }

  distribution(name: string, values: Distribution, options: TrackOptions = NO_OPTIONS): void {
    const entry = this.#entry(name, options);
    this.#target.distribution(entry, countBins(values));
  }

  text(name: string, text: string, options: TrackOptions = NO_OPTIONS): void {
    const entry = this.#entry(name, options);
    if (typeof text !== 'string') throw invalidInput(`text of ${entry.name}`, text, 'text');
    this.#target.text(entry, text);
  }

  parameters(values: JsonObject): void {
    this.#checkOpen();
    this.#target.parameters(copyJsonObject('parameters', values));
  }

  status(): TrackerStatus {
    return this.#target.status;
  }

  flush(): Promise<void> {
    return this.#target.flush();
  }

  async state(): Promise<TrackerState> {
    this.#checkOpen();
    const [step, context] = [this.#step, this.#context];
    const memory = await this.#target.remember(step);
    return { version: 1, provider: this.provider, step, context, memory };
  }

  async close(status: TerminalRunStatus = 'completed'): Promise<void> {
    checkLiteral('status', status, TERMINAL_RUN_STATUSES);
    this.#closing ??= this.#target.close(status);
    await this.#closing;
  }

  [ASYNC_DISPOSE](): Promise<void> {
    return this.close();
  }

  #entry(name: string, options: TrackOptions): TrackedEntry {
    this.#checkOpen();
    const { context, step } = options;
    if (options !== NO_OPTIONS) checkOptionNames('options', options, ['step', 'context']);
    return {
      name: this.#names.get(name) ?? this.#addName(name),
      step: step === undefined ? this.#step : checkCount('step', step),
      context:
        context === undefined
          ? this.#context
          : Object.freeze({ ...this.#context, ...checkContext('context', context) }),
    };
  }

  #addName(name: string): string {
    const { key } = parseKey('name', name);
    this.#names.set(name, key);
    return key;
  }

  #checkOpen(): void {
    if (this.#closing !== undefined)
      throw new QuarkError('writer_closed', 'This tracker is closed. Open another one.');
  }
}
