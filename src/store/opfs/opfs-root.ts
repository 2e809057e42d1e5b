/** Projects, runs, leases, notes, tombstones and what blobs there are, as the frames of the first shard say. */
import type { StoredLease } from '../../records/shapes/lease.ts';
import { documentPrefix } from '../documents.ts';
import { countedRun, projectOfRun } from '../run-rules.ts';
import type { DeletedRun, StoredProject, StoredRun } from '../store.ts';
import type { Part } from './opfs-parts.ts';
import type { ShardState } from './opfs-shard.ts';

/** A tombstone, and the run until it is purged. */
export type StoredTombstone = { readonly tombstone: DeletedRun; readonly run?: StoredRun };

/** What each table has, by key. */
export type RootTables = {
  projects: StoredProject;
  runs: StoredRun;
  /** By `run/holder`. */
  leases: StoredLease;
  notes: string;
  deleted: StoredTombstone;
  blobs: { readonly sizeBytes: number; readonly putAtMs: number };
  /** The last revision of each configuration, by `project/hash`. */
  configs: number;
  /** Folders of runs and files of blobs that are to be removed, by `run/ID` and `blob/SHA256`. */
  leaving: true;
  /** Files of runs that were made and not removed, by `RUN/NAME`: one whose name is lost is missed. */
  files: true;
};

export type RootTable = keyof RootTables;
/** A value of a table, or none any more. */
export type RootChange = {
  [K in RootTable]: readonly [table: K, key: string, value: RootTables[K] | null];
}[RootTable];

type RootBody = {
  readonly changes: readonly RootChange[];
};

/** As many values go into a frame when all are written anew. */
const MAX_VALUES = 500;
/** Ids of changed runs that are remembered. */
const MAX_REMEMBERED = 4096;

/** See the top of this file. */
export class RootState implements ShardState {
  readonly tables: { readonly [K in RootTable]: Map<string, RootTables[K]> } = {
    projects: new Map(),
    runs: new Map(),
    leases: new Map(),
    notes: new Map(),
    deleted: new Map(),
    blobs: new Map(),
    configs: new Map(),
    leaving: new Map(),
    files: new Map(),
  };
  /** Runs that changed since the last reset, and the order of the last change of each: those that changed last are last. */
  readonly #changed = new Map<string, number>();
  /** Changes up to this order are not remembered. */
  #forgottenUntil = 0;

  reset(order: number): void {
    for (const table of Object.values(this.tables)) table.clear();
    this.#changed.clear();
    this.#forgottenUntil = order;
  }

  apply(body: unknown, _parts: readonly Part[], order: number): void {
    // The frame's check has said that these are the bytes that this code wrote.
    const { changes } = body as RootBody;
    for (const [table, key, value] of changes) {
      if (value === null) this.tables[table].delete(key);
      // Each change has the value of its table.
      else (this.tables[table] as Map<string, unknown>).set(key, value);
      if (table === 'runs') this.#noteChange(key, order);
    }
  }

  *bodies(): Iterable<{ readonly body: RootBody; readonly parts: readonly Part[] }> {
    let changes: RootChange[] = [];
    for (const [name, table] of Object.entries(this.tables))
      for (const [key, value] of table) {
        // The names of the tables are those of the values in them.
        changes.push([name, key, value] as unknown as RootChange);
        if (changes.length < MAX_VALUES) continue;
        yield { body: { changes }, parts: [] };
        changes = [];
      }
    yield { body: { changes }, parts: [] };
  }

  /** Runs that changed after an order; undefined where not all are remembered. */
  changedSince(order: number): readonly string[] | undefined {
    if (order < this.#forgottenUntil) return undefined;
    return [...this.#changed].flatMap(([id, at]) => (at > order ? [id] : []));
  }

  /** Where projects of which runs were deleted are: those that can come back. */
  get deletedProjects(): ReadonlySet<string> {
    const names = [...this.tables.deleted.values()].flatMap(({ tombstone }) =>
      tombstone.purgedAtMs === undefined ? [tombstone.projectName] : [],
    );
    return new Set(names);
  }

  /** What removing a project that no run is in writes; nothing where one is. */
  withoutProject(projectId: string, leavingRun?: string): readonly RootChange[] {
    const { deleted, notes, projects, runs } = this.tables;
    const name = projects.get(projectId)?.name;
    if (name === undefined) return [];
    const isHeld = [...deleted].some(
      ([id, { tombstone }]) =>
        id !== leavingRun && tombstone.projectName === name && tombstone.purgedAtMs === undefined,
    );
    if (isHeld) return [];
    for (const run of runs.values())
      if (run.projectId === projectId || run.projectName === name) return [];
    const prefix = documentPrefix(projectId);
    const documents = [...notes.keys()].filter((note) => note.startsWith(prefix));
    return [
      ...documents.map((note): RootChange => ['notes', note, null]),
      ['projects', projectId, null],
    ];
  }

  /** What adding the project of a run again writes, where it was removed after its last run. */
  projectAgain(run: Omit<StoredRun, 'revision'>): readonly RootChange[] {
    const { deleted, projects } = this.tables;
    const tombstones = [...deleted.values()].map(({ tombstone }) => tombstone);
    const again = projectOfRun(run, [...projects.values()], tombstones);
    return again === undefined ? [] : [['projects', again.id, again]];
  }

  /** A run with the revision of its configuration, which is counted where it has none, and what that writes. */
  counted<T extends Omit<StoredRun, 'revision'>>(
    run: T,
  ): { readonly run: T; readonly changes: readonly RootChange[] } {
    if (run.configHash === undefined) return { run, changes: [] };
    const key = `${run.projectId}/${run.configHash}`;
    const before = this.tables.configs.get(key) ?? 0;
    const counted = countedRun(run, before);
    const changes: readonly RootChange[] =
      counted.last === before ? [] : [['configs', key, counted.last]];
    return { run: counted.run, changes };
  }

  #noteChange(runId: string, order: number): void {
    if (order <= this.#forgottenUntil) return;
    this.#changed.delete(runId);
    this.#changed.set(runId, order);
    if (this.#changed.size <= MAX_REMEMBERED) return;
    const [first] = this.#changed;
    if (first === undefined) return;
    this.#changed.delete(first[0]);
    this.#forgottenUntil = Math.max(this.#forgottenUntil, first[1]);
  }
}
