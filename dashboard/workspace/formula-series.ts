/** Formulas as series: a chart draws them as it draws metrics. */
import { evaluateFormula, parseFormula, type Formula } from 'quark-sdk/workspace';
import { SampleSeries } from '../series/series.ts';
import { FORMULA_MARK } from './layout.ts';

/** Where series come from. */
export type SeriesSource = {
  readonly get: (key: string) => SampleSeries | undefined;
  /** Called with the metrics that are on the screen; undefined where that changes nothing. */
  readonly lookAt: ((keys: readonly string[]) => void) | undefined;
};

type Made = { readonly inputs: string; readonly series: SampleSeries | undefined };

/** The metrics of a source and, under keys that begin with {@link FORMULA_MARK}, the formulas over them. */
export class FormulaSource implements SeriesSource {
  readonly #source: SeriesSource;
  readonly #formulas = new Map<string, Formula | undefined>();
  readonly #made = new Map<string, Made>();

  constructor(source: SeriesSource) {
    this.#source = source;
  }

  /** These metrics and formulas are shown. */
  lookAt(keys: readonly string[]): void {
    this.#source.lookAt?.(this.metricsOf(keys));
  }

  get(key: string): SampleSeries | undefined {
    if (!key.startsWith(FORMULA_MARK)) return this.#source.get(key);
    const formula = this.#formulaOf(key);
    if (formula === undefined) return undefined;
    const inputs = formula.metrics
      .map((metric) => `${this.#source.get(metric)?.length ?? 'none'}`)
      .join();
    const known = this.#made.get(key);
    if (known?.inputs === inputs) return known.series;
    const series = this.#make(key, formula);
    this.#made.set(key, { inputs, series });
    return series;
  }

  /** The metrics behind some keys: those of formulas instead of the formulas. */
  metricsOf(keys: readonly string[]): readonly string[] {
    return keys.flatMap((key) =>
      key.startsWith(FORMULA_MARK) ? (this.#formulaOf(key)?.metrics ?? []) : [key],
    );
  }

  #formulaOf(key: string): Formula | undefined {
    if (!this.#formulas.has(key)) this.#formulas.set(key, readFormula(key));
    return this.#formulas.get(key);
  }

  #make(key: string, formula: Formula): SampleSeries | undefined {
    const found = evaluateFormula(formula, (metric) => this.#source.get(metric));
    if (found === undefined || found.values.length === 0) return undefined;
    const series = new SampleSeries(key);
    for (let at = 0; at < found.values.length; at += 1)
      series.push(
        found.values[at] ?? Number.NaN,
        found.steps[at] ?? Number.NaN,
        found.epochs[at] ?? Number.NaN,
        found.timesMs[at] ?? Number.NaN,
      );
    return series;
  }
}

/** A view of another release may have formulas that are none here. */
function readFormula(key: string): Formula | undefined {
  try {
    return parseFormula(key.slice(FORMULA_MARK.length));
  } catch {
    return undefined;
  }
}
