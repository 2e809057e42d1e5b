import type { RunColumns } from '../../columns/run-columns.ts';
import { defineRuleOfKinds } from '../../signals/rule.ts';
import { sayNames } from '../../text/sentences.ts';

export const nothingRecorded = defineRuleOfKinds({
  id: 'nothing_recorded',
  category: 'runtime',
  needs: { anyOf: ['run'] },
  detects: 'A run that has ended without any record, or metrics without one finite value.',
  source: 'ours',
  cause: 'the program ended before it recorded anything, or an empty file was imported',
  advice: 'check what the program or the file has, and record or import it again',
  live: 'whole_run',
  thresholds: {},
  measure({ columns, isAbsolute, signals }): readonly (Empty | Blank)[] {
    const { isLive, status } = columns.run;
    if (isAbsolute || (status === 'running' && isLive)) return [];
    if (isEmpty(columns)) return [{ kind: 'empty' }];
    const all = [...columns.metrics.values()].flatMap(({ key, values }) =>
      values.some((value) => Number.isFinite(value)) ? [] : [key],
    );
    // What a loss is broken by is said by non_finite.
    const { lossPairs, trainLosses } = signals;
    const losses = new Set(
      [...trainLosses, ...lossPairs.map(({ validation }) => validation)].map(({ key }) => key),
    );
    const keys = all.filter((key) => !losses.has(key));
    return keys.length === 0
      ? []
      : [{ kind: 'blank', keys, isAll: all.length === columns.metrics.size }];
  },
  findings: {
    empty: {
      levels: 'warning',
      title: 'Nothing was recorded',
      fact: 'The run has no metric, no batch, no layer and no telemetry.',
      confidence: 1,
      evidence: () => [{ kind: 'event', source: 'run', summary: 'No record.', observed: 0 }],
    },
    blank: {
      levels: { warning: ({ isAll }) => isAll, info: () => true },
      title: ({ isAll, keys }) =>
        isAll ? 'No metric has a finite value' : `${sayNames(keys, 2)} without a finite value`,
      fact: ({ isAll, keys }) =>
        isAll
          ? `All values of ${sayNames(keys, 6)} are NaN or infinite.`
          : `Every value of ${sayNames(keys, 6)} is NaN or infinite, from first to last.`,
      confidence: 1,
      cause: 'the metric is computed of nothing, or a column of the file has no numbers',
      advice: 'check what the program or the file writes there',
      evidence: ({ keys }) =>
        keys.slice(0, 6).map((source) => ({
          kind: 'metric',
          source,
          summary: `${source} has no finite value.`,
          observed: 0,
        })),
    },
  },
});

type Empty = { readonly kind: 'empty' };

type Blank = {
  readonly kind: 'blank';
  readonly keys: readonly string[];
  /** Whether no other metric has a value either. */
  readonly isAll: boolean;
};

function isEmpty({ batches, layers, metrics, parameters, telemetry }: RunColumns): boolean {
  return (
    metrics.size === 0 &&
    layers.length === 0 &&
    parameters.length === 0 &&
    batches.rowCount === 0 &&
    telemetry.rowCount === 0
  );
}
