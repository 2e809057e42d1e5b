/** Which runs the list shows, and in which order. */
import type { RunSummary } from 'quark-sdk';
import { runSpanMs, shownStatus, type ShownStatus } from '../parts/run-status.tsx';

/** What the person asked for. Empty sets and an empty text ask for nothing. */
export type RunQuery = {
  readonly text: string;
  readonly statuses: ReadonlySet<ShownStatus>;
  readonly tags: ReadonlySet<string>;
};

/** Columns the list can be sorted by. */
export const SORT_COLUMNS = ['project', 'status', 'started', 'duration', 'loss'] as const;

/** One of {@link SORT_COLUMNS}. */
export type SortColumn = (typeof SORT_COLUMNS)[number];

/** The sorting of the list. */
export type RunSort = { readonly column: SortColumn; readonly descending: boolean };

/** The runs that match: one of the statuses, all of the tags, and every word of the text somewhere. */
export function filterRuns(runs: readonly RunSummary[], query: RunQuery): readonly RunSummary[] {
  const words = query.text.toLowerCase().split(/\s+/).filter(Boolean);
  return runs.filter((summary) => {
    const { run } = summary;
    if (query.statuses.size > 0 && !query.statuses.has(shownStatus(summary))) return false;
    for (const tag of query.tags) if (!run.tags.includes(tag)) return false;
    if (words.length === 0) return true;
    const text = [run.id, run.projectName, shownStatus(summary), run.gitCommit ?? '', ...run.tags]
      .join(' ')
      .toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** The runs in order; ties and runs without a value come newest first, the latter at the end. */
export function sortRuns(
  runs: readonly RunSummary[],
  sort: RunSort,
  nowMs: number,
  lossOf: (runId: string) => number | undefined,
): readonly RunSummary[] {
  const sign = sort.descending ? -1 : 1;
  return runs.toSorted((a, b) => {
    const left = sortValue(a, sort.column, nowMs, lossOf);
    const right = sortValue(b, sort.column, nowMs, lossOf);
    if (left === undefined || right === undefined) {
      if (left !== undefined) return -1;
      if (right !== undefined) return 1;
    } else if (left !== right) {
      return left < right ? -sign : sign;
    }
    return Date.parse(b.run.startedAt) - Date.parse(a.run.startedAt);
  });
}

function sortValue(
  summary: RunSummary,
  column: SortColumn,
  nowMs: number,
  lossOf: (runId: string) => number | undefined,
): number | string | undefined {
  switch (column) {
    case 'project':
      return summary.run.projectName.toLowerCase();
    case 'status':
      return shownStatus(summary);
    case 'started':
      return Date.parse(summary.run.startedAt);
    case 'duration':
      return runSpanMs(summary, nowMs);
    case 'loss': {
      const loss = lossOf(summary.run.id);
      return loss === undefined || Number.isNaN(loss) ? undefined : loss;
    }
  }
}
