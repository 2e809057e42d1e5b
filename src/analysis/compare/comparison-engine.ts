/** Two runs side by side, and many. */
import { checkFlag, checkOptionNames } from '../../base/assert.ts';
import { invalidInput } from '../../base/errors.ts';
import type { AnalyzableRun } from '../columns/load-run-columns.ts';
import { analysisKernel } from '../signals/analysis-kernel.ts';
import {
  checkComparisonConfig,
  type ComparisonEngineConfig,
  type ComparisonSettings,
} from './compare-config.ts';
import { comparisonOf, type CompareOptions, type RunComparisonResult } from './compare-runs.ts';
import { groupsOf, type GroupComparison } from './seed-groups.ts';
import {
  loadMetrics,
  loadRunData,
  runToCompare,
  openTarget,
  type ComparisonTarget,
} from './run-data.ts';

/** Compares a run with others. Nothing is stored. */
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
    options: CompareOptions = {},
  ): Promise<RunComparisonResult> {
    checkOptionNames('options', options, ['baseline']);
    const isBaseline = checkFlag('options.baseline', options.baseline ?? false);
    const primary = await openTarget('session', this.#primary, undefined);
    const reference = await openTarget('other', other, primary.store);
    return comparisonOf(
      await loadRunData(runToCompare(primary), this.#settings),
      await loadRunData(runToCompare(reference), this.#settings),
      this.#settings,
      await analysisKernel(),
      isBaseline,
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
  async compareGroups(others: readonly ComparisonTarget[]): Promise<GroupComparison> {
    const primary = await openTarget('session', this.#primary, undefined);
    const runs = [await loadMetrics(runToCompare(primary))];
    const known = new Set([primary.run.id]);
    for (const [i, other] of others.entries()) {
      const reader = await openTarget(`others[${i}]`, other, primary.store);
      const { id } = reader.run;
      if (known.has(id)) throw invalidInput(`others[${i}]`, id, 'a run that is not given twice');
      known.add(id);
      runs.push(await loadMetrics(runToCompare(reader)));
    }
    return groupsOf(runs, this.#settings, await analysisKernel());
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
    options: CompareOptions & { readonly config?: ComparisonEngineConfig } = {},
  ): Promise<RunComparisonResult> {
    checkOptionNames('options', options, ['baseline', 'config']);
    const { config = {}, ...rest } = options;
    return new ComparisonEngine(primary, config).compare(reference, rest);
  }
}
