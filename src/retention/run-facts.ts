/** What rules ask of a run: its age, its size, and the best value of a metric. */
import { readMetricColumns } from '../read/metric-columns.ts';
import { tableBatches } from '../read/table-batches.ts';
import { summarize } from '../read/runs.ts';
import { artifactTable } from '../records/artifact.ts';
import type { RunStatus } from '../records/literals.ts';
import { TABLES } from '../records/tables.ts';
import type { SegmentManifest, Store, StoredRun } from '../store/store.ts';
import { countSamples, rowsLeft, type RowsLeft } from './thin.ts';
import type { BestRuns } from './rules.ts';

/** What the rules know of a run before anything of it is read. */
export type JudgedRun = {
  readonly stored: StoredRun;
  readonly status: RunStatus;
  /** When it ended, or changed last; UTC epoch milliseconds. */
  readonly endedAtMs: number;
  /** Why no rule may touch it; undefined where one may. */
  readonly isExempt: Exemption | undefined;
};

/** Why no rule touches a run. */
export type Exemption =
  /** It has a live session. */
  | 'running'
  /** It says that it is running, and its machine may only be offline. */
  | 'lately running'
  /** It has one of the tags that keep runs. */
  | 'tagged'
  /** Its record cannot be read, so that its age is not known. */
  | 'unreadable';

/** A run that says that it is running, without a live lease, counts as interrupted after this time without a change. */
const OFFLINE_MS = 7 * 24 * 60 * 60 * 1000;

/** The facts of a run. */
export function factsOf(
  stored: StoredRun,
  hasLease: boolean,
  keepTags: ReadonlySet<string>,
  nowMs: number,
): JudgedRun {
  const { effectiveStatus: status, problem, run } = summarize(stored, hasLease);
  const endedAtMs = Date.parse(run.endedAt ?? run.updatedAt);
  const isOffline = run.status === 'running' && nowMs - endedAtMs < OFFLINE_MS;
  return {
    stored,
    status,
    endedAtMs,
    isExempt:
      problem !== null || Number.isNaN(endedAtMs)
        ? 'unreadable'
        : hasLease
          ? 'running'
          : isOffline
            ? 'lately running'
            : stored.tags.some((tag) => keepTags.has(tag))
              ? 'tagged'
              : undefined,
  };
}

/** Reads sizes and values of runs, each once. */
export class RunMeasures {
  readonly #store: Store;
  readonly #signal: AbortSignal | undefined;
  readonly #bytes = new Map<string, Promise<number>>();
  readonly #best = new Map<string, Promise<number | undefined>>();

  constructor(store: Store, signal?: AbortSignal) {
    this.#store = store;
    this.#signal = signal;
  }

  /** Bytes of the segments of a run, and of the payloads that its artifacts name: those that other runs name, too, are counted in each. */
  bytes(runId: string): Promise<number> {
    return once(this.#bytes, runId, () => this.#readBytes(runId));
  }

  /** The lowest or greatest finite value of a metric; undefined where there is none. */
  best(runId: string, { goal, metric }: BestRuns): Promise<number | undefined> {
    return once(this.#best, `${runId} ${goal} ${metric}`, () =>
      this.#readBest(runId, metric, goal === 'max'),
    );
  }

  /** Rows of its metrics now and once no metric has more than `points`; undefined where none has. */
  async downsampled(runId: string, points: number): Promise<RowsLeft | undefined> {
    return rowsLeft(await countSamples(this.#store, runId, points, this.#signal), points);
  }

  async #readBytes(runId: string): Promise<number> {
    const all = await Promise.all(
      [...TABLES.keys()].map((table) =>
        this.#store.listSegments({ runId, table, superseded: true }),
      ),
    );
    const manifests: readonly SegmentManifest[] = all.flat();
    let bytes = manifests.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    if (!manifests.some(({ table }) => table === artifactTable.table)) return bytes;
    for await (const { columns, rowCount } of tableBatches(this.#store, artifactTable, runId, {
      signal: this.#signal,
    })) {
      const sizes = columns.get('size_bytes');
      if (sizes?.kind !== 'number') continue;
      for (let row = 0; row < rowCount; row++) bytes += sizes.values[row] ?? 0;
    }
    return bytes;
  }

  async #readBest(runId: string, metric: string, isMax: boolean): Promise<number | undefined> {
    const { values } = await readMetricColumns(
      { store: this.#store, runId },
      { metricKeys: [metric] },
    );
    let best: number | undefined;
    for (const value of values)
      if (Number.isFinite(value) && (best === undefined || (isMax ? value > best : value < best)))
        best = value;
    return best;
  }
}

function once<T>(known: Map<string, Promise<T>>, name: string, read: () => Promise<T>): Promise<T> {
  const found = known.get(name) ?? read();
  known.set(name, found);
  return found;
}
