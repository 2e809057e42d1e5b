/** The runs that a run was started from, and those that were started from it; where each is drawn. */
import { findRuns, isQuarkError, openRun, type RunReader, type Store } from 'quark-sdk';

/** Parents that are followed upwards. */
const MAX_ABOVE = 8;
/** Runs below: children, their children, and once more. */
const MAX_DEPTH = 3;
const MAX_NODES = 40;

/** A run of a line. */
export type LineageRun = {
  readonly id: string;
  /** The run it was started from; null for the first one that is shown. */
  readonly parentId: string | null;
  readonly name: string | null;
  /** Null for a run that is not in the store any more, or not in this one. */
  readonly status: RunReader['effectiveStatus'] | null;
  readonly resumeCount: number;
};

/** The line of a run. */
export type Lineage = {
  readonly runs: readonly LineageRun[];
  /** Whether there are more runs than are shown. */
  readonly hasMore: boolean;
};

/** Reads the line of a run; only the run itself where it has neither a parent nor children. */
export async function readLineage(store: Store, reader: RunReader): Promise<Lineage> {
  const above = await readAbove(store, reader);
  const runs = [...above, nodeOf(reader.run, reader.effectiveStatus)];
  let hasMore = (above[0]?.parentId ?? null) !== null;
  let parents: readonly string[] = [reader.run.id];
  for (let depth = 0; depth < MAX_DEPTH && parents.length > 0; depth += 1) {
    const left = MAX_NODES - runs.length;
    const found = await findRuns(
      store,
      { parentRunId: { in: parents } },
      { archived: 'any', limit: left + 1 },
    );
    hasMore ||= found.length > left;
    const shown = found.slice(0, left).toReversed();
    for (const { effectiveStatus, run } of shown) runs.push(nodeOf(run, effectiveStatus));
    parents = shown.map(({ run }) => run.id);
  }
  return { runs: runs.map((run, at) => (at === 0 ? { ...run, parentId: null } : run)), hasMore };
}

/** The parents, the first of the line at the front. */
async function readAbove(store: Store, reader: RunReader): Promise<LineageRun[]> {
  const above: LineageRun[] = [];
  const known = new Set([reader.run.id]);
  let next: string | null = reader.run.parentRunId;
  // A record may say anything: a line that comes back to itself ends there.
  while (next !== null && above.length < MAX_ABOVE && !known.has(next)) {
    const id = next;
    known.add(id);
    try {
      const parent = await openRun(store, id);
      above.unshift(nodeOf(parent.run, parent.effectiveStatus));
      next = parent.run.parentRunId;
    } catch (error) {
      if (!isQuarkError(error, 'run_not_found')) throw error;
      above.unshift({ id, parentId: null, name: null, status: null, resumeCount: 0 });
      next = null;
    }
  }
  return above;
}

function nodeOf(run: RunReader['run'], status: RunReader['effectiveStatus']): LineageRun {
  const { id, name, parentRunId, resumeCount } = run;
  return { id, parentId: parentRunId, name, status, resumeCount };
}

/** A run in the drawing: a row each, and a column further to the right where a line forks. */
export type LineageNode = {
  readonly run: LineageRun;
  readonly row: number;
  readonly column: number;
};

/**
 * Gives each run a row and a column. The line that the shown run is in goes straight down; what forks off it comes between a run and its
 * successor, a column further to the right, so that no line crosses another or passes through a run.
 */
export function layoutLineage(
  runs: readonly LineageRun[],
  shownId: string,
): readonly LineageNode[] {
  const byId = new Map(runs.map((run) => [run.id, run]));
  const line = new Set<string>();
  for (
    let at = byId.get(shownId);
    at !== undefined && !line.has(at.id);
    at = byId.get(at.parentId ?? '')
  )
    line.add(at.id);
  const nodes: LineageNode[] = [];
  const done = new Set<string>();
  const put = (run: LineageRun, column: number): void => {
    if (done.has(run.id)) return;
    done.add(run.id);
    nodes.push({ run, row: nodes.length, column });
    const children = runs.filter(({ parentId }) => parentId === run.id);
    const main = children.find(({ id }) => line.has(id)) ?? children.at(-1);
    for (const child of children) if (child !== main) put(child, column + 1);
    if (main !== undefined) put(main, column);
  };
  for (const run of runs) if (run.parentId === null || !byId.has(run.parentId)) put(run, 0);
  return nodes;
}
