/** Two runs side by side, and many. */
import { checkOptionNames } from '../../base/assert.ts';
import { invalidInput } from '../../base/errors.ts';
import { flag, orDefault, readOptions } from '../../base/options.ts';
import type { AnalyzableRun } from '../columns/load-run-columns.ts';
import {
  checkComparisonConfig,
  type ComparisonEngineConfig,
  type ComparisonSettings,
} from '../compare/compare-config.ts';
import type { CompareOptions, RunComparisonResult } from '../compare/compare-runs.ts';
import type { GroupComparison } from '../compare/seed-groups.ts';
import { jobRunOfReader } from '../worker/job-runs.ts';
import { runAnalysis } from '../worker/run-analysis.ts';
import { runAnalysisRules, type RunAnalysisOptions } from '../evaluate/run-options.ts';
import { openTarget, type ComparisonTarget } from '../compare/run-data.ts';

/** Options of {@link ComparisonEngine.compare}. */
export type CompareRunsOptions = Pick<CompareOptions, 'baseline'> & RunAnalysisOptions;

const compareRules = { baseline: orDefault(flag(), false), ...runAnalysisRules };

/**
 * Compares a run with others. Nothing is stored. Runs of more than 20,000 rows are read and compared in a worker; see
 * {@link RunAnalysisOptions}.
 *
 * @example
 * ```js
 * import { createMemoryStore, MetricsLogger, openRun, TrainingSession } from 'quark-sdk';
 * import { ComparisonEngine } from 'quark-sdk/analysis';
 *
 * const store = createMemoryStore();
 * const train = (lr) =>
 *   TrainingSession.run({ project: 'digits', storage: store, config: { lr } }, (session) => {
 *     const metrics = new MetricsLogger(session);
 *     for (let step = 0; step < 100; step++) metrics.log('train/loss', Math.exp(-lr * step), { step });
 *     return session.runId;
 *   });
 * const [slow, fast] = [await train(0.01), await train(0.05)];
 * const { configDiffs, metricDiffs } = await new ComparisonEngine(await openRun(store, fast)).compareToBaseline(slow);
 * console.log(configDiffs[0].path, configDiffs[0].primaryValue, configDiffs[0].referenceValue); // lr 0.05 0.01
 * console.log(metricDiffs[0].metricKey, metricDiffs[0].lastDelta < 0); // train/loss true
 * ```
 */
export class ComparisonEngine {
  readonly #primary: AnalyzableRun;
  readonly #settings: ComparisonSettings;

  /**
   * @param session the primary: a session, a context made by one, or a run opened with `openRun`
   * @throws {QuarkError} `invalid_input` naming the setting
   */
  constructor(session: AnalyzableRun, config: ComparisonEngineConfig = {}) {
    this.#primary = session;
    this.#settings = checkComparisonConfig(config);
  }

  /**
   * Compares the primary with another run.
   *
   * @param other a session, a context, an opened run, or the id of a run in the primary's store
   * @throws {QuarkError} `invalid_input`
   * @throws {RunNotFoundError}
   */
  async compare(
    other: ComparisonTarget,
    options: CompareRunsOptions = {},
  ): Promise<RunComparisonResult> {
    const { baseline: isBaseline, ...where } = readOptions('options', options, compareRules);
    const primary = await openTarget('session', this.#primary, undefined);
    const reference = await openTarget('other', other, primary.store);
    const both = [jobRunOfReader(primary), jobRunOfReader(reference)];
    const runs = both.map(({ run }) => run);
    const job = { kind: 'compare', runs, settings: this.#settings, isBaseline } as const;
    return runAnalysis(
      job,
      both.map(({ store }) => store),
      where,
    );
  }

  /** {@link ComparisonEngine.compare} with the other run as the baseline. */
  compareToBaseline(baselineRun: ComparisonTarget): Promise<RunComparisonResult> {
    return this.compare(baselineRun, { baseline: true });
  }

  /**
   * The primary and many other runs at once, in groups of the same configuration but for seeds.
   *
   * @throws {QuarkError} `invalid_input`, also for a run that is given twice: it would count as another seed
   * @throws {RunNotFoundError}
   */
  async compareGroups(
    others: readonly ComparisonTarget[],
    options: RunAnalysisOptions = {},
  ): Promise<GroupComparison> {
    const where = readOptions('options', options, runAnalysisRules);
    const primary = await openTarget('session', this.#primary, undefined);
    const opened = [jobRunOfReader(primary)];
    const known = new Set([primary.run.id]);
    for (const [i, other] of others.entries()) {
      const reader = await openTarget(`others[${i}]`, other, primary.store);
      const { id } = reader.run;
      if (known.has(id)) throw invalidInput(`others[${i}]`, id, 'a run that is not given twice');
      known.add(id);
      opened.push(jobRunOfReader(reader));
    }
    const runs = opened.map(({ run }) => run);
    return runAnalysis(
      { kind: 'groups', runs, settings: this.#settings },
      opened.map(({ store }) => store),
      where,
    );
  }

  /**
   * Compares two runs in one call.
   *
   * @throws {QuarkError} `invalid_input`
   * @throws {RunNotFoundError}
   */
  static compareRuns(
    primary: AnalyzableRun,
    reference: ComparisonTarget,
    options: CompareRunsOptions & { readonly config?: ComparisonEngineConfig } = {},
  ): Promise<RunComparisonResult> {
    checkOptionNames('options', options, [...Object.keys(compareRules), 'config']);
    const { config = {}, ...rest } = options;
    return new ComparisonEngine(primary, config).compare(reference, rest);
  }
}
