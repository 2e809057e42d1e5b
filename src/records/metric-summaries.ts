/**
 * What runs are found by: the last, the smallest, the largest and the best value of each series, as the record of the run has them in
 * `metric_summaries`. Two summaries of the same series are joined by one rule, whose result is the same in any order and any number of
 * times: so several sessions, retries and stores that are merged lose nothing and count nothing twice.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import { betterWhen } from './metric-direction.ts';

/** What a run remembers of a series. */
export type MetricSummary = {
  /** The sample that was made last; of several at one time, that of the greatest step. `NaN`, `Infinity` and `-Infinity` are texts. */
  readonly last: number | string;
  /** When it was made, in UTC epoch milliseconds. */
  readonly last_at_ms: number;
  /** Its step; absent where it has none. */
  readonly last_step?: number;
  /** Smallest and largest finite value; absent where there is none. */
  readonly min?: number;
  readonly max?: number;
  /** The best finite value, where the name of the metric says which way it is better: a loss is better when lower, an accuracy when higher. */
  readonly best?: number;
  /** The first step that had it. */
  readonly best_step?: number;
};

/** A run remembers so many series, those that were logged first: its record comes with every list of runs. */
export const MAX_SUMMARIZED_SERIES = 256;

/** Rows of metrics as columns: the number of a series, its value, its step (NaN for none), its time. */
export type SummarizedRows = {
  readonly rowCount: number;
  readonly series: Int32Array;
  readonly values: Float64Array;
  readonly steps: Float64Array;
  readonly timesMs: Float64Array;
};

/** Fields of one series in the columns below. */
const LAST = 0;
const LAST_AT = 1;
const LAST_STEP = 2;
const MIN = 3;
const MAX = 4;
const BEST = 5;
const BEST_STEP = 6;
const WIDTH = 7;
const BLANK = [Number.NaN, -Infinity, Number.NaN, Infinity, -Infinity, Number.NaN, Number.NaN];

/** The summaries of the series of one writer. */
export class MetricSummaries {
  readonly #keys: string[] = [];
  /** 1: better when higher, -1: when lower, 0: not known. */
  readonly #signs: number[] = [];
  #fields = new Float64Array(WIDTH * 16);
  #rowCount = 0;

  /** How many rows were added: it says whether there is anything new. */
  get rowCount(): number {
    return this.#rowCount;
  }

  /** Introduces a series under the next number, from 0. */
  addSeries(id: number, key: string): void {
    if (id >= MAX_SUMMARIZED_SERIES) return;
    this.#keys[id] = key;
    const direction = betterWhen(key);
    this.#signs[id] = direction === null ? 0 : direction === 'higher' ? 1 : -1;
    if (this.#fields.length < (id + 1) * WIDTH) {
      const grown = new Float64Array(Math.max((id + 1) * WIDTH, 2 * this.#fields.length));
      grown.set(this.#fields);
      this.#fields = grown;
    }
    this.#fields.set(BLANK, id * WIDTH);
  }

  addRows({ rowCount, series, steps, timesMs, values }: SummarizedRows): void {
    this.#rowCount += rowCount;
    const fields = this.#fields;
    for (let row = 0; row < rowCount; row++) {
      const id = series[row] ?? 0;
      if (id >= MAX_SUMMARIZED_SERIES) continue;
      const at = id * WIDTH;
      const value = values[row] ?? Number.NaN;
      const step = steps[row] ?? Number.NaN;
      const time = timesMs[row] ?? 0;
      const before = fields[at + LAST_AT] ?? 0;
      // A row that comes later at the same time is later, unless its step is smaller.
      if (time > before || (time === before && !(step < (fields[at + LAST_STEP] ?? 0)))) {
        fields[at + LAST] = value;
        fields[at + LAST_AT] = time;
        fields[at + LAST_STEP] = step;
      }
      if (value - value !== 0) continue;
      if (value < (fields[at + MIN] ?? 0)) fields[at + MIN] = value;
      if (value > (fields[at + MAX] ?? 0)) fields[at + MAX] = value;
      const sign = this.#signs[id] ?? 0;
      if (sign === 0) continue;
      const best = fields[at + BEST] ?? Number.NaN;
      if (best !== best || sign * value > sign * best) {
        fields[at + BEST] = value;
        fields[at + BEST_STEP] = step;
      } else if (value === best && step < (fields[at + BEST_STEP] ?? 0))
        fields[at + BEST_STEP] = step;
    }
  }

  /** The summaries so far, by the keys of the series; those without a row are left out. */
  toJson(): JsonObject {
    return Object.fromEntries(
      this.#keys.flatMap((key, id) => {
        const at = id * WIDTH;
        const field = (offset: number): number => this.#fields[at + offset] ?? Number.NaN;
        if (field(LAST_AT) === -Infinity) return [];
        const last = field(LAST);
        const summary = {
          last: Number.isFinite(last) ? last : String(last),
          last_at_ms: field(LAST_AT),
          ...finite('last_step', field(LAST_STEP)),
          ...finite('min', field(MIN)),
          ...finite('max', field(MAX)),
          ...finite('best', field(BEST)),
          ...finite('best_step', field(BEST_STEP)),
        };
        return [[key, summary]];
      }),
    );
  }
}

/** The summaries of a run as they are stored; what is no summary is left out. */
export function metricSummariesOf(stored: JsonObject): ReadonlyMap<string, MetricSummary> {
  return new Map(
    Object.entries(stored).flatMap(([key, one]) => (isSummary(one) ? [[key, one] as const] : [])),
  );
}

/** Two sets of summaries as one: see the top of this file. */
export function joinSummaries(a: JsonObject, b: JsonObject): JsonObject {
  const joined = new Map<string, JsonValue>(metricSummariesOf(a));
  for (const [key, summary] of metricSummariesOf(b)) {
    const known = joined.get(key);
    if (isSummary(known)) joined.set(key, join(key, known, summary));
    else if (joined.size < MAX_SUMMARIZED_SERIES) joined.set(key, summary);
  }
  return Object.fromEntries(joined);
}

function join(key: string, a: MetricSummary, b: MetricSummary): MetricSummary {
  const later = isLater(b, a) ? b : a;
  const best = bestOf(key, a, b);
  return {
    last: later.last,
    last_at_ms: later.last_at_ms,
    ...given('last_step', later.last_step),
    ...finite('min', Math.min(a.min ?? Infinity, b.min ?? Infinity)),
    ...finite('max', Math.max(a.max ?? -Infinity, b.max ?? -Infinity)),
    ...given('best', best?.best),
    ...given('best_step', best?.best_step),
  };
}

/** Whether `a` was made after `b`; of two at one time and step, the greater value counts, NaN before all. */
function isLater(a: MetricSummary, b: MetricSummary): boolean {
  const order =
    a.last_at_ms - b.last_at_ms ||
    (a.last_step ?? -1) - (b.last_step ?? -1) ||
    rankOf(a.last) - rankOf(b.last);
  return order > 0;
}

function rankOf(value: number | string): number {
  const number = Number(value);
  return Number.isNaN(number) ? -Number.MAX_VALUE : number;
}

function bestOf(key: string, a: MetricSummary, b: MetricSummary): MetricSummary | undefined {
  if (a.best === undefined || b.best === undefined) return a.best === undefined ? b : a;
  if (a.best === b.best) return (b.best_step ?? Infinity) < (a.best_step ?? Infinity) ? b : a;
  return (betterWhen(key) === 'lower') === b.best < a.best ? b : a;
}

function isSummary(value: unknown): value is MetricSummary & JsonObject {
  if (typeof value !== 'object' || value === null) return false;
  const last: unknown = Reflect.get(value, 'last');
  const numbers = ['last_step', 'min', 'max', 'best', 'best_step'];
  return (
    (typeof last === 'number' || typeof last === 'string') &&
    typeof Reflect.get(value, 'last_at_ms') === 'number' &&
    numbers.every((name) => ['number', 'undefined'].includes(typeof Reflect.get(value, name)))
  );
}

function finite<N extends string>(name: N, value: number): { readonly [K in N]?: number } {
  return Number.isFinite(value) ? given(name, value) : given(name, undefined);
}

function given<N extends string>(
  name: N,
  value: number | undefined,
): { readonly [K in N]?: number } {
  return (value === undefined ? {} : { [name]: value }) as { readonly [K in N]?: number };
}
