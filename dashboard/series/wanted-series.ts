/**
 * The metrics of a run that is longer than a page can hold, read as they are shown: the curves that are on the screen in one request,
 * downsampled by the service, then all of their samples. Samples that have not been shown for longest make room for others.
 */
import type { DamageReport, Store } from 'quark-sdk';
import { nextTurn, TurnBreak, urgently } from '../parts/turns.ts';
import { overviewSeries, readCurvesOf } from './overview.ts';
import type { PageSeriesRead, ReadSeries } from './series-reader.ts';
import { SeriesSet, type SampleSeries } from './series.ts';

/** Metrics of one overview: the first rows of charts do not wait for those below them. */
const OVERVIEW_KEYS = 8;
/** Metrics whose samples are read at a time: what comes onto the screen waits for no more. */
const WHOLE_KEYS = 4;
/** Delay after the last metric became visible until the samples of the visible metrics are read, in milliseconds. */
const SETTLED_MS = 400;
/** How long other requests wait for charts to come onto the screen, in milliseconds. */
const FIRST_MS = 3_000;
/** How long nothing is read after a failure, in milliseconds. */
const RETRY_MS = 1_000;
/** Samples that are in memory, at 32 bytes each and about as much again in their charts. */
const MOST_HELD = 2_500_000;

/** What is known of a metric. */
type Wanted = {
  readonly key: string;
  askedAtMs: number;
  /** Those that came onto the screen together: what came last is read first, from the first chart on. */
  burst: number;
  /** Undefined: not read yet. */
  overview: SampleSeries | undefined;
  /** Whether nothing could be read: it is not asked for again. */
  isMissing: boolean;
  /** Sequence number from which on its samples are to be read; 0 where only the overview is there. */
  next: number;
};

/** What is read from, and what is told. */
export type WantedSource = {
  readonly store: Store;
  readonly runId: string;
  /** Every metric of the run. */
  readonly names: readonly string[];
  /** What is shown. */
  readonly series: SeriesSet;
  readonly readSeries: ReadSeries;
  /** Called when points have arrived. */
  readonly onPoints: () => void;
  readonly onDamage: (report: DamageReport) => void;
  /** Called with why something could not be read; it is tried again. */
  readonly onFailure: (error: unknown) => void;
  /** Tests hold fewer. */
  readonly mostHeld?: number;
};

/** See the top of this file. */
export class WantedSeries {
  readonly #from: WantedSource;
  readonly #known = new Map<string, Wanted>();
  /** Without an overview. */
  readonly #waiting = new Set<Wanted>();
  #burst = 0;
  #isReading = false;
  /** Called when the first screen has its overviews. */
  #onScreenRead: () => void = () => undefined;
  #isClosed = false;
  /** When points arrived last: what is on the screen has been asked for since. */
  #shownAtMs = 0;

  constructor(source: WantedSource) {
    this.#from = source;
    source.series.announce(source.names, (key) => this.#ask(key));
    void urgently(
      Promise.race([new Promise<void>((done) => (this.#onScreenRead = done)), pause(FIRST_MS)]),
    );
  }

  /** Names metrics that have come since. */
  announce(names: readonly string[]): void {
    this.#from.series.announce(names, (key) => this.#ask(key));
  }

  /** Reads what has come since of the metrics that are on the screen. */
  async poll(): Promise<void> {
    const shown = this.#onScreen().filter(({ next }) => next > 0);
    for (const next of new Set(shown.map((one) => one.next)))
      await this.#readNews(
        shown.filter((one) => one.next === next),
        next,
      );
  }

  /** Nothing is read any more. */
  close(): void {
    this.#isClosed = true;
    this.#waiting.clear();
  }

  #ask(key: string): void {
    if (this.#isClosed) return;
    const known = this.#known.get(key);
    const one = known ?? {
      key,
      askedAtMs: 0,
      burst: 0,
      overview: undefined,
      isMissing: false,
      next: 0,
    };
    if (known === undefined) this.#known.set(key, one);
    one.askedAtMs = performance.now();
    if (one.isMissing || one.next > 0) return;
    if (one.overview === undefined) {
      one.burst = this.#burst;
      this.#waiting.add(one);
    }
    if (!this.#isReading) void this.#read();
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    for (let isMore = true; isMore && !this.#isClosed;)
      try {
        await urgently(this.#readScreen());
        isMore = await this.#readOn();
      } catch (error) {
        this.#from.onFailure(error);
        await pause(RETRY_MS);
      }
    this.#isReading = false;
  }

  /** The overviews of what is on the screen. */
  async #readScreen(): Promise<void> {
    // Charts that come onto the screen together ask in the same turn.
    await nextTurn();
    while (this.#waiting.size > 0 && !this.#isClosed) await this.#readOverview(this.#nextWaiting());
    this.#onScreenRead();
  }

  #nextWaiting(): readonly Wanted[] {
    this.#burst += 1;
    return [...this.#waiting].toSorted((a, b) => b.burst - a.burst).slice(0, OVERVIEW_KEYS);
  }

  /** All samples of some metrics that have been on the screen for a while; false where there are none. */
  async #readOn(): Promise<boolean> {
    await pause(SETTLED_MS);
    if (this.#waiting.size > 0) return true;
    const left = this.#onScreen().filter(({ isMissing, next }) => next === 0 && !isMissing);
    if (left.length > 0) await this.#readSamples(left.slice(-WHOLE_KEYS));
    return left.length > 0;
  }

  /** What is on the screen, in the order in which it was asked for. */
  #onScreen(): Wanted[] {
    return [...this.#known.values()]
      .filter(({ askedAtMs }) => askedAtMs >= this.#shownAtMs)
      .toSorted((a, b) => a.askedAtMs - b.askedAtMs);
  }

  async #readOverview(wanted: readonly Wanted[]): Promise<void> {
    const { runId, series, store } = this.#from;
    const found = await readCurvesOf(
      store,
      runId,
      wanted.map(({ key }) => key),
    );
    if (this.#isClosed) return;
    const fresh = new SeriesSet();
    if (found !== undefined) {
      const { read, standing } = overviewSeries(found);
      const turn = new TurnBreak();
      for (const step of fresh.taking(read)) await turn.pause(step);
      for (const one of fresh.all()) one.standsFor = standing.get(one.key);
    }
    for (const one of wanted) {
      one.overview = fresh.get(one.key);
      one.isMissing = one.overview === undefined;
      this.#waiting.delete(one);
    }
    series.adopt(fresh);
    this.#tell();
  }

  async #readSamples(wanted: readonly Wanted[]): Promise<void> {
    const { series } = this.#from;
    const fresh = new SeriesSet();
    const turn = new TurnBreak();
    let next = 0;
    for await (const found of this.#reads(wanted, 0)) {
      for (const step of fresh.taking(found)) await turn.pause(step);
      next = found.lastSequence + 1;
    }
    if (this.#isClosed) return;
    series.adopt(fresh);
    for (const one of wanted) {
      one.next = Math.max(1, next);
    }
    this.#makeRoom();
    this.#tell();
  }

  async #readNews(wanted: readonly Wanted[], since: number): Promise<void> {
    for await (const found of this.#reads(wanted, since)) {
      // Meanwhile some may have made room.
      const left = wanted.filter(({ next }) => next >= since);
      const keys = new Set(left.map(({ key }) => key));
      this.#from.series.take({
        rowCount: found.rowCount,
        series: found.series.filter(({ key }) => keys.has(key)),
      });
      for (const one of left) one.next = found.lastSequence + 1;
      if (found.rowCount > 0) this.#tell();
    }
  }

  /** Samples of some metrics from a sequence number on, a window at a time. */
  async *#reads(wanted: readonly Wanted[], since: number): AsyncGenerator<PageSeriesRead> {
    const { onDamage, readSeries, runId } = this.#from;
    const metricKeys = wanted.map(({ key }) => key);
    for (let next = since, hasMore = true; hasMore && !this.#isClosed;) {
      const found = await readSeries({ runId, metricKeys, sequenceMin: next });
      for (const report of found.damage) onDamage(report);
      next = found.lastSequence + 1;
      ({ hasMore } = found);
      yield found;
    }
  }

  /** The overviews again of what has not been shown for longest. */
  #makeRoom(): void {
    const { mostHeld = MOST_HELD, series } = this.#from;
    const whole = [...this.#known.values()]
      .filter(({ next }) => next > 0)
      .toSorted((a, b) => a.askedAtMs - b.askedAtMs);
    let stored = whole.reduce((sum, { key }) => sum + series.lengthOf(key), 0);
    for (const one of whole) {
      if (stored <= mostHeld || one.askedAtMs >= this.#shownAtMs) return;
      stored -= series.lengthOf(one.key);
      if (one.overview !== undefined) series.put(one.overview);
      one.next = 0;
    }
  }

  #tell(): void {
    this.#shownAtMs = performance.now();
    this.#from.onPoints();
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
