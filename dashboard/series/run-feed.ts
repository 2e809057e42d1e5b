/** One run as the page has it: everything read so far, and how to read what has come since. */
import {
  openRun,
  type DamageReport,
  type EventRecord,
  type RunCurves,
  type RunReader,
  type Store,
} from 'quark-sdk';
import { overviewSeries, readMetricNames, readOverview } from './overview.ts';
import { SegmentWindow } from './segment-window.ts';
import { seriesReader, type ReadSeries } from './series-reader.ts';
import { SeriesSet } from './series.ts';
import { nextTurn, TurnBreak } from '../parts/turns.ts';
import { WantedSeries } from './wanted-series.ts';

/** What a poll brought. */
export type RunFeedChange = {
  readonly metrics: boolean;
  readonly events: boolean;
  readonly run: boolean;
};

/** Of more metrics no overview is asked for: the service has no sketch of them, and would read the whole run before its first answer. */
const OVERVIEW_METRICS = 64;
/** With so many metrics and rows, each metric is read when it is shown. */
const WANTED_FROM_ROWS = 500_000;
/** How often a run that goes on is asked for the names of new metrics, in milliseconds. */
const NAMES_EVERY_MS = 10_000;

/** How often the state of a run is polled while a long one is read. */
const RELOAD_EVERY_MS = 1_000;

type FeedReaders = {
  readonly reader: RunReader;
  readonly window: SegmentWindow;
  readonly windowReader: RunReader;
  readonly readSamples: ReadSeries | undefined;
};

/**
 * Reads a run incrementally: each poll asks for rows after the last sequence number it has. A long run comes in several polls; between
 * two of them `hasMore` is true. Where the store downsamples curves, a long run is shown as an overview first. All of its samples
 * replace the overview once they have been read. Of a run of many metrics, each is read when it is shown.
 */
export class RunFeed {
  /** What is to be shown. The same object for as long as the feed is there. */
  readonly series: SeriesSet = new SeriesSet();
  /** What has been read of the samples, while an overview is shown instead. */
  #behind: SeriesSet | undefined;
  #expectedRows = 0;
  #reloadedAtMs = Number.NEGATIVE_INFINITY;
  readonly events: EventRecord[] = [];
  readonly #reader: RunReader;
  readonly #window: SegmentWindow;
  readonly #windowReader: RunReader;
  readonly #readSeries: ReadSeries;
  /** Reads what nobody waits for. */
  readonly #readBehind: ReadSeries;
  /** Set where metrics are read when they are shown. */
  #wanted: WantedSeries | undefined;
  #namedAtMs = 0;
  #onPoints: () => void = () => undefined;
  /** Why a metric that is shown could not be read. */
  #failure: unknown;
  readonly #damage = new Map<string, DamageReport>();
  #hasMoreMetrics = false;
  #nextMetric = 0;
  #nextEvent = 0;
  /** What was read and no poll has reported yet: a poll that fails half-way reports nothing. */
  #untold = { metrics: false, events: false };

  private constructor(readers: FeedReaders) {
    this.#reader = readers.reader;
    this.#window = readers.window;
    this.#windowReader = readers.windowReader;
    this.#readSeries = seriesReader(readers.reader.store);
    this.#readBehind = readers.readSamples ?? this.#readSeries;
  }

  /**
   * Opens the run and reads its beginning.
   *
   * @param readSamples reads what nobody waits for: in a worker, where the page has one
   * @throws {RunNotFoundError}
   */
  static async open(store: Store, runId: string, readSamples?: ReadSeries): Promise<RunFeed> {
    const window = new SegmentWindow(store);
    const [reader, windowReader] = await Promise.all([
      openRun(store, runId),
      openRun(window.store, runId),
    ]);
    const feed = new RunFeed({ reader, window, windowReader, readSamples });
    const isOne = Object.keys(reader.run.metricSummaries).length <= OVERVIEW_METRICS;
    const found = isOne ? undefined : await readMetricNames(store, runId);
    const overview = isOne ? await readOverview(store, runId) : undefined;
    if (found?.names !== undefined && found.rowCount >= WANTED_FROM_ROWS) feed.#want(found.names);
    else if (overview !== undefined) await feed.#show(overview);
    else await feed.#read();
    return feed;
  }

  /** Reads each metric when it is shown. */
  #want(names: readonly string[]): void {
    this.#wanted = new WantedSeries({
      store: this.#reader.store,
      runId: this.run.id,
      names,
      series: this.series,
      readSeries: this.#readBehind,
      onPoints: () => this.#onPoints(),
      onDamage: (report) => this.#damage.set(JSON.stringify(report.identity), report),
      onFailure: (error) => {
        this.#failure = error;
      },
    });
    this.#namedAtMs = performance.now();
    // The events come with the first poll.
    this.#hasMoreMetrics = true;
    this.#untold.metrics = true;
  }

  /** From now on `onPoints` is called when points have come that no poll brought. */
  follow(onPoints: () => void): void {
    this.#onPoints = onPoints;
  }

  /** Nothing is read any more. */
  close(): void {
    this.#wanted?.close();
  }

  async #show(overview: RunCurves): Promise<void> {
    const { read, standing } = overviewSeries(overview);
    // The answer has just been decoded: that was a turn of its own.
    await nextTurn();
    const turn = new TurnBreak();
    for (const step of this.series.taking(read)) await turn.pause(step);
    for (const series of this.series.all()) series.standsFor = standing.get(series.key);
    this.#behind = new SeriesSet();
    this.#expectedRows = overview.rowCount;
    this.#hasMoreMetrics = true;
    this.#untold.metrics = true;
  }

  /** While an overview is shown: how much of the run has been read, 0 to 1. Undefined when all of it is there. */
  get readShare(): number | undefined {
    if (this.#behind === undefined) return undefined;
    return Math.min(1, this.#behind.pointCount / Math.max(1, this.#expectedRows));
  }

  /** Whether there is more to read at once. */
  get hasMore(): boolean {
    return this.#hasMoreMetrics || this.#window.endOf(this.run.id, 'events') !== undefined;
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

  /** Since when the run is archived, in UTC epoch milliseconds; undefined for a run that is not. */
  get archivedAtMs(): RunReader['archivedAtMs'] {
    return this.#reader.archivedAtMs;
  }

  /** Segments that could not be read. */
  get damage(): RunReader['damage'] {
    return [...this.#damage.values(), ...this.#windowReader.damage];
  }

  /** Reads what has come since, or the next part of it. */
  async poll(): Promise<RunFeedChange> {
    const before = fingerprint(this.#reader, this.damage.length);
    // All at once: a server that also trains answers one round of requests between two batches.
    const parts = await Promise.allSettled([this.#read(), this.#reload()]);
    const failed = parts.find((part) => part.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    const isChanged = fingerprint(this.#reader, this.damage.length) !== before;
    // The end of a run is its last flush: what the first read came too early for is there now. A live run is polled again.
    if (isChanged && !this.#reader.isLive) await this.#read();
    const change = { ...this.#untold, run: isChanged };
    this.#untold = { metrics: false, events: false };
    return change;
  }

  async #reload(): Promise<void> {
    const nowMs = performance.now();
    if (this.#hasMoreMetrics && nowMs - this.#reloadedAtMs < RELOAD_EVERY_MS) return;
    this.#reloadedAtMs = nowMs;
    await this.#reader.reload();
  }

  async #read(): Promise<void> {
    const [, events] = await Promise.all([
      this.#wanted === undefined ? this.#readMetrics() : this.#readWanted(this.#wanted),
      this.#windowReader.readEvents({ sequenceMin: this.#nextEvent }),
    ]);
    for (const event of events) {
      this.events.push(event);
      if (event.sequence !== null && event.sequence >= this.#nextEvent) {
        this.#nextEvent = event.sequence + 1;
      }
    }
    const eventEnd = this.#window.endOf(this.run.id, 'events') ?? -1;
    if (eventEnd >= this.#nextEvent) this.#nextEvent = eventEnd + 1;
    if (events.length > 0) this.#untold.events = true;
  }

  async #readMetrics(): Promise<void> {
    const readSeries = this.#behind === undefined ? this.#readSeries : this.#readBehind;
    const read = await readSeries({ runId: this.run.id, sequenceMin: this.#nextMetric });
    this.#hasMoreMetrics = read.hasMore;
    this.#nextMetric = read.lastSequence + 1;
    for (const report of read.damage) this.#damage.set(JSON.stringify(report.identity), report);
    const breather = new TurnBreak();
    const target = this.#behind ?? this.series;
    for (const step of target.taking(read)) await breather.pause(step);
    if (this.#behind !== undefined) {
      if (read.hasMore) this.series.borrow(this.#behind);
      else {
        this.series.become(this.#behind);
        this.#behind = undefined;
      }
    }
    if (read.rowCount > 0 || target !== this.series) this.#untold.metrics = true;
  }

  async #readWanted(wanted: WantedSeries): Promise<void> {
    this.#hasMoreMetrics = false;
    if (this.#failure !== undefined) {
      const failure = this.#failure;
      this.#failure = undefined;
      throw failure;
    }
    if (!this.isLive) return;
    const nowMs = performance.now();
    if (nowMs - this.#namedAtMs >= NAMES_EVERY_MS) {
      this.#namedAtMs = nowMs;
      const found = await readMetricNames(this.#reader.store, this.run.id);
      if (found?.names !== undefined) wanted.announce(found.names);
    }
    await wanted.poll();
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

function fingerprint(reader: RunReader, damageCount: number): string {
  const { run } = reader;
  return [
    reader.effectiveStatus,
    reader.isLive,
    run.updatedAt,
    run.tags.join(),
    damageCount,
  ].join();
}
