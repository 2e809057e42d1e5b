/**
 * A metric in bounded memory. Values are gathered into blocks of equal count, of which there are at most {@link MAX_LIVE_BLOCKS};
 * when there are as many, neighbours are joined and blocks hold twice as many values. Short series are kept as they are.
 */
import { gather, placeColumns } from '../columns/place-rows.ts';
import type { MetricSeries } from '../columns/run-columns.ts';
import { medianInPlace } from '../signals/quickselect.ts';

/** Blocks of a {@link LiveSeries}, at most. */
export const MAX_LIVE_BLOCKS = 400;
/** Non-finite values that are remembered, of the first and of the last. */
const MAX_NON_FINITE = 4;
/** Values of the window that a spike stands out of, and how often its level is worked out anew. */
const WINDOW = 101;
const REFRESH = 32;
const MIN_WINDOW = 24;
/** From a median distance to a standard deviation. */
const MEDIAN_SCALE = 1.482_602_218_505_602;
/** Height in spreads at which a spike is over, and the values it may last. */
const RECOVERY = 3;
const MAX_SPIKE = 20;

type Row = {
  /** Place of the value before; -Infinity for the first. */
  readonly after: number;
  readonly step: number;
  readonly epoch: number;
  readonly timeMs: number;
  readonly value: number;
};

/** A spike that has passed. */
export type LiveSpike = {
  readonly peak: Row;
  readonly end: Row;
  readonly level: number;
  readonly heightInSpreads: number;
};

export class LiveSeries {
  readonly key: string;
  /** Values so far. */
  count = 0;
  /** Values that came for places that had been passed: late rows, and what a resumed run repeats. They are left out. */
  passedOver = 0;
  readonly #threshold: number;
  readonly #ratio: number;
  #blockSize = 1;
  #blocks: Row[] = [];
  #open = new Float64Array(16);
  #openCount = 0;
  #endPiece: MetricSeries | undefined;
  #endAt = 0;
  #firstNonFinite: Row[] = [];
  #lastNonFinite: Row[] = [];
  #last = Number.NEGATIVE_INFINITY;
  #after = Number.NEGATIVE_INFINITY;
  readonly #window = new Float64Array(WINDOW);
  readonly #scratch = new Float64Array(WINDOW);
  #windowCount = 0;
  #sinceRefresh = REFRESH;
  #level = 0;
  #spread = 0;
  #isPositive = true;
  #spike: { peak: Row; height: number; length: number; level: number; spread: number } | undefined;
  #spikes: LiveSpike[] = [];

  /**
   * @param threshold height of a spike in local spreads
   * @param ratio least height as a multiple of the level, where all values are positive
   */
  constructor(key: string, threshold: number, ratio: number) {
    this.key = key;
    this.#threshold = threshold;
    this.#ratio = ratio;
  }

  /** Whether the newest value is NaN or infinite. */
  get isBroken(): boolean {
    const last = this.#lastNonFinite.at(-1) ?? this.#firstNonFinite.at(-1);
    return last !== undefined && placeOf(last) === this.#last;
  }

  /** Adds what came since the last time, in order. */
  add(piece: MetricSeries): void {
    const { epochs, steps, values, x } = piece;
    const places = x === 'step' ? steps : epochs;
    for (let i = 0; i < values.length; i++) {
      const place = places[i] ?? Number.NaN;
      if (place <= this.#last) {
        this.passedOver++;
        continue;
      }
      this.#after = this.#last;
      this.#last = place;
      this.count++;
      this.#push(piece, i);
    }
  }

  /** The spikes that have passed since the last call. */
  takeSpikes(): readonly LiveSpike[] {
    return this.#spikes.splice(0);
  }

  /** The series so far, reduced. */
  snapshot(): MetricSeries {
    const rows = [
      ...this.#blocks,
      ...this.#openBlock(),
      ...this.#firstNonFinite,
      ...this.#lastNonFinite,
    ];
    const column = (read: (row: Row) => number): Float64Array => Float64Array.from(rows, read);
    const { placed, order } = placeColumns(
      column(({ step }) => step),
      column(({ epoch }) => epoch),
      column(({ timeMs }) => timeMs),
    );
    return {
      key: this.key,
      ...placed,
      values: gather(
        column(({ value }) => value),
        order,
      ),
    };
  }

  /** A row as an object: for the few that are kept. */
  #rowOf({ epochs, steps, timesMs, values }: MetricSeries, i: number): Row {
    return {
      after: this.#after,
      step: steps[i] ?? Number.NaN,
      epoch: epochs[i] ?? Number.NaN,
      timeMs: timesMs[i] ?? Number.NaN,
      value: values[i] ?? Number.NaN,
    };
  }

  #push(piece: MetricSeries, i: number): void {
    const value = piece.values[i] ?? Number.NaN;
    if (value - value !== 0) {
      const row = this.#rowOf(piece, i);
      if (this.#firstNonFinite.length < MAX_NON_FINITE) this.#firstNonFinite.push(row);
      else this.#lastNonFinite = [...this.#lastNonFinite.slice(1 - MAX_NON_FINITE), row];
      return;
    }
    this.#watchSpike(piece, i, value);
    if (this.#openCount === this.#open.length) {
      const grown = new Float64Array(2 * this.#open.length);
      grown.set(this.#open);
      this.#open = grown;
    }
    this.#open[this.#openCount++] = value;
    // The end of a block is where its row lies; of an open one the newest value.
    this.#endPiece = piece;
    this.#endAt = i;
    if (this.#openCount < this.#blockSize) return;
    this.#blocks.push(...this.#openBlock());
    this.#openCount = 0;
    if (this.#blocks.length >= MAX_LIVE_BLOCKS) this.#join();
  }

  #openBlock(): readonly Row[] {
    if (this.#openCount === 0 || this.#endPiece === undefined) return [];
    const end = this.#rowOf(this.#endPiece, this.#endAt);
    if (this.#openCount === 1) return [end];
    return [{ ...end, value: medianInPlace(this.#open.slice(0, this.#openCount)) }];
  }

  #join(): void {
    const joined: Row[] = [];
    for (let i = 0; i + 1 < this.#blocks.length; i += 2) {
      const [a, b] = [this.#blocks[i], this.#blocks[i + 1]];
      if (a !== undefined && b !== undefined)
        joined.push({ ...b, value: a.value / 2 + b.value / 2 });
    }
    this.#blocks = joined;
    this.#blockSize *= 2;
  }

  #watchSpike(piece: MetricSeries, i: number, value: number): void {
    if (this.#isPositive && value <= 0) this.#forgetWindow();
    const shown = this.#isPositive ? Math.log(value) : value;
    if (this.#spike !== undefined) {
      const { level, peak, spread } = this.#spike;
      this.#spike.length++;
      if (value > peak.value) this.#spike.peak = this.#rowOf(piece, i);
      if (shown - level <= RECOVERY * spread) {
        const top = this.#spike.peak;
        const height = (this.#isPositive ? Math.log(top.value) : top.value) - level;
        const shownLevel = this.#isPositive ? Math.exp(level) : level;
        this.#spikes.push({
          peak: top,
          end: this.#rowOf(piece, i),
          level: shownLevel,
          heightInSpreads: height / spread,
        });
        this.#spike = undefined;
      } else if (this.#spike.length > MAX_SPIKE) {
        // A new level, and no spike: it begins to count for the window.
        this.#spike = undefined;
        this.#windowCount = 0;
      } else return;
    } else if (this.#windowCount >= MIN_WINDOW) {
      if (this.#sinceRefresh >= REFRESH) this.#refresh();
      const height = shown - this.#level;
      const least = this.#isPositive ? Math.log(this.#ratio) : 0;
      if (
        height > 0 &&
        height >= least &&
        height >= this.#threshold * this.#spread &&
        this.#spread > 0
      ) {
        this.#spike = {
          peak: this.#rowOf(piece, i),
          height,
          length: 1,
          level: this.#level,
          spread: this.#spread,
        };
        return;
      }
    }
    this.#window[this.#windowCount++ % WINDOW] = shown;
    this.#sinceRefresh++;
  }

  #refresh(): void {
    this.#sinceRefresh = 0;
    const count = Math.min(WINDOW, this.#windowCount);
    this.#scratch.set(this.#window);
    this.#level = medianInPlace(this.#scratch, 0, count);
    for (let i = 0; i < count; i++)
      this.#scratch[i] = Math.abs((this.#window[i] ?? 0) - this.#level);
    this.#spread = MEDIAN_SCALE * medianInPlace(this.#scratch, 0, count);
  }

  /** From now on values are compared as they are: one of them has no logarithm. */
  #forgetWindow(): void {
    this.#isPositive = false;
    this.#windowCount = 0;
    this.#sinceRefresh = REFRESH;
    this.#spike = undefined;
  }
}

function placeOf({ epoch, step }: Row): number {
  return Number.isNaN(step) ? epoch : step;
}
