/** One run as the page holds it: everything read so far, and how to read what has come since. */
import { openRun, type EventRecord, type RunReader, type Store } from 'quark-sdk';
import { SeriesSet } from './series.ts';

/** What a poll brought. */
export type FeedChange = {
  readonly metrics: boolean;
  readonly events: boolean;
  readonly run: boolean;
};

/** Reads a run incrementally: each poll asks for rows after the last sequence number it has. */
export class RunFeed {
  readonly series: SeriesSet = new SeriesSet();
  readonly events: EventRecord[] = [];
  readonly #reader: RunReader;
  #nextMetric = 0;
  #nextEvent = 0;
  /** What came in and no poll has told of yet: one that failed half-way tells nothing. */
  #untold = { metrics: false, events: false };

  private constructor(reader: RunReader) {
    this.#reader = reader;
  }

  /** Opens the run and reads all of it. @throws {RunNotFoundError} */
  static async open(store: Store, runId: string): Promise<RunFeed> {
    const feed = new RunFeed(await openRun(store, runId));
    await feed.#read();
    return feed;
  }

  /** The run, for readers of its other tables. */
  get reader(): RunReader {
    return this.#reader;
  }
  get run(): RunReader['run'] {
    return this.#reader.run;
  }
  get status(): RunReader['effectiveStatus'] {
    return this.#reader.effectiveStatus;
  }
  get isLive(): boolean {
    return this.#reader.isLive;
  }
  /** Why the run record could not be read, or null. */
  get problem(): RunReader['problem'] {
    return this.#reader.problem;
  }

  /** Segments that could not be read. */
  get damage(): RunReader['damage'] {
    return this.#reader.damage;
  }

  /** Reads what has come since. */
  async poll(): Promise<FeedChange> {
    const before = fingerprint(this.#reader);
    // All at once: a server that also trains answers one round of requests between two batches.
    const parts = await Promise.allSettled([this.#read(), this.#reader.reload()]);
    const failed = parts.find((part) => part.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    const isChanged = fingerprint(this.#reader) !== before;
    // The end of a run is its last flush: what the first read came too early for is there now.
    if (isChanged) await this.#read();
    const change = { ...this.#untold, run: isChanged };
    this.#untold = { metrics: false, events: false };
    return change;
  }

  async #read(): Promise<void> {
    const [columns, events] = await Promise.all([
      this.#reader.readMetricColumns({ sequenceMin: this.#nextMetric }),
      this.#reader.readEvents({ sequenceMin: this.#nextEvent }),
    ]);
    if (columns.rowCount > 0) this.series.append(columns);
    if (columns.lastSequence >= this.#nextMetric) this.#nextMetric = columns.lastSequence + 1;
    for (const event of events) {
      this.events.push(event);
      if (event.sequence !== null && event.sequence >= this.#nextEvent) {
        this.#nextEvent = event.sequence + 1;
      }
    }
    if (columns.rowCount > 0) this.#untold.metrics = true;
    if (events.length > 0) this.#untold.events = true;
  }

  /** The furthest step and epoch of any metric; NaN where there is none. */
  get position(): { readonly step: number; readonly epoch: number } {
    let step = Number.NaN;
    let epoch = Number.NaN;
    for (const { last } of this.series.all()) {
      // A comparison with NaN is false: a metric without a step says nothing.
      if (last !== undefined && (last.step > step || Number.isNaN(step))) step = last.step;
      if (last !== undefined && (last.epoch > epoch || Number.isNaN(epoch))) epoch = last.epoch;
    }
    return { step, epoch };
  }

  /** When the last thing happened in this run, in epoch milliseconds. */
  get lastActivityMs(): number {
    let latest = Date.parse(this.run.startedAt);
    for (const series of this.series.all()) latest = Math.max(latest, series.last?.timeMs ?? 0);
    const lastEvent = this.events.at(-1);
    if (lastEvent !== undefined) latest = Math.max(latest, Date.parse(lastEvent.timestamp));
    return latest;
  }
}

function fingerprint(reader: RunReader): string {
  const { run } = reader;
  return [
    reader.effectiveStatus,
    reader.isLive,
    run.updatedAt,
    run.tags.join(),
    reader.damage.length,
  ].join();
}
