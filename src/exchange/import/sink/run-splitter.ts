/** Files that programs append to hold one run after another: where the counters begin again, the next run begins. */
import { Counters } from './counters.ts';
import type { InputFile } from '../../../codecs/input.ts';
import type { ImportContext, ImportedRun, RunSink } from './importer.ts';

/** The counters of a row, NaN for one that is not there. */
export type RowCounters = {
  readonly step: number;
  readonly epoch: number;
  /** As `Counters.isBack` takes them. */
  readonly epochSteps?: number;
};

export class RunSplitter {
  readonly #context: ImportContext;
  readonly #file: InputFile;
  readonly #described: ImportedRun;
  readonly #counters = new Counters();
  /** What had a value while the counters stood at their first. */
  readonly #first = new Set<string>();
  /** What has had a value in the run. */
  readonly #names = new Set<string>();
  #sink: RunSink | undefined;
  #runCount = 0;
  /** Places that rows without a step were at, and the last of them. */
  #placeCount = 0;
  #lap = Number.NaN;
  #isMarked = false;

  constructor(context: ImportContext, file: InputFile, described: ImportedRun) {
    this.#context = context;
    this.#file = file;
    this.#described = described;
  }

  /** Runs that were begun. */
  get runCount(): number {
    return this.#runCount;
  }

  /** The run that rows go to; undefined before the first. */
  get sink(): RunSink | undefined {
    return this.#sink;
  }

  /**
   * The step of a row within this run, over all epochs; NaN for none. Rows that say a fraction of an epoch and no step, as lines of Hugging Face's
   * Trainer do, are counted: several of them lie in one epoch, where the later would stand in the place of the earlier.
   */
  stepOf({ epoch, step }: { readonly epoch: number; readonly step: number }): number {
    if (step === step) return step + this.#counters.offset;
    const isCounted = this.#placeCount > 0 ? epoch === epoch : epoch % 1 > 0;
    if (!isCounted) return Number.NaN;
    if (epoch !== this.#lap) this.#placeCount++;
    this.#lap = epoch;
    return this.#placeCount;
  }

  /**
   * What follows is of another call. Where it goes back to where the run began, it is another run, whatever it measures; so it is where it goes
   * back at all and measures nothing that the run has. Where the run has a single position, it is another one when it measures the same.
   */
  mark(): void {
    this.#isMarked = true;
  }

  /** The run of a row with these counters and metrics; undefined when it is to be begun with {@link begin}. */
  find(
    { step, epoch, epochSteps }: RowCounters,
    names: readonly string[],
    place: string,
  ): RunSink | undefined {
    const isMarked = this.#isMarked;
    if (step === step || epoch === epoch) this.#isMarked = false;
    const isFirst = isMarked && this.#counters.isAtFirst(step, epoch);
    const isOther =
      isMarked &&
      this.#counters.isBefore(step, epoch) &&
      !names.some((name) => this.#names.has(name));
    const isBack = this.#counters.isBack(step, epoch, epochSteps);
    const isSame = names.some((name) => this.#first.has(name));
    if ((isBack && (isSame || isMarked)) || (isFirst && isSame) || isOther) {
      const { maxRestarts } = this.#context.limits;
      if (this.#runCount < maxRestarts) {
        this.#counters.begin(step, epoch);
        this.#first.clear();
        this.#names.clear();
        this.#sink = undefined;
      } else if (this.#runCount === maxRestarts) {
        this.#runCount++;
        this.#context.problem({
          file: this.#file.path,
          place,
          reason: `The counters begin again more than ${maxRestarts} times (limits.maxRestarts): the rest is added to the last run.`,
        });
      }
    }
    if (this.#names.size < this.#context.limits.maxKeys)
      for (const name of names) this.#names.add(name);
    if (this.#counters.isAtStart && this.#first.size < this.#context.limits.maxKeys)
      for (const name of names) this.#first.add(name);
    return this.#sink;
  }

  async begin(): Promise<RunSink> {
    this.#runCount++;
    this.#placeCount = 0;
    this.#lap = Number.NaN;
    const suffix = this.#runCount === 1 ? '' : `#${this.#runCount}`;
    const { identity, name } = this.#described;
    this.#sink = await this.#context.run({
      ...this.#described,
      identity: `${identity}${suffix}`,
      name: `${name}${suffix}`,
    });
    return this.#sink;
  }
}
