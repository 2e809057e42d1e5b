/** The run record of a session: the stored record, pending changes to it, and its creation and re-creation. */
import type { Clock } from '../base/clock.ts';
import { isQuarkError } from '../base/errors.ts';
import { Mutex } from '../base/mutex.ts';
import { runRecord, type RunRecord } from '../records/run.ts';
import { parseRun } from '../read/runs.ts';
import type { Store, StoredProject, StoredRun } from '../store/store.ts';
import type { Fence } from './storing/fence.ts';
import { isRecordingFailure } from './run-handle.ts';
import { addRun, changedForm, changeRun, lineageRootOf, loadRun } from './run-lifecycle.ts';

/** A change of the run record, as `changeRun` takes it. Changes are idempotent. */
export type RunEdit = (run: RunRecord) => Partial<RunRecord> | undefined;

/** See the top of this file. */
export class SessionRun {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #fence: Fence;
  readonly #order = new Mutex();
  #stored: RunRecord;
  #project: StoredProject;
  #changes: RunEdit[] = [];
  /** As the store has it, as far as the session knows. */
  #known: StoredRun | undefined;

  constructor(run: RunRecord, clock: Pick<Clock, 'now'>, fence: Fence, known?: StoredRun) {
    this.#known = known;
    this.#clock = clock;
    this.#fence = fence;
    this.#stored = run;
    this.#project = {
      id: run.projectId,
      name: run.projectName,
      createdAtMs: Date.parse(run.startedAt),
    };
  }

  /** The record as last stored, or as it will first be stored. */
  get stored(): RunRecord {
    return this.#stored;
  }

  /** The record with pending changes. */
  get current(): RunRecord {
    return this.#changed(this.#stored);
  }

  get project(): StoredProject {
    return this.#project;
  }

  set project(project: StoredProject) {
    this.#project = project;
  }

  /** The stored run as its end is to leave it, for a store that it is handed to later; undefined while it is not stored. */
  ended(fields: Pick<RunRecord, 'status' | 'endedAt' | 'statusReason'>): StoredRun | undefined {
    const { current } = this;
    if (this.#known === undefined) return undefined;
    return changedForm(this.#known, { ...current, ...fields }, this.#clock.now());
  }

  /**
   * Stores a change, and those that wait, before it returns; nothing where the store cannot do that, and where the run has ended or
   * another session has it.
   */
  changeNow(store: Pick<Store, 'updateRunNow'>, change: RunEdit): void {
    let stored = this.#known;
    // Another session of the run may have changed it since it was read.
    for (let attempt = 0; attempt < 3 && stored !== undefined; attempt++) {
      this.#fence.check(stored);
      const found = parseRun(stored);
      if (found.status !== 'running') return;
      const run = this.#changed(found);
      const next = changedForm(stored, { ...run, ...change(run) }, this.#clock.now());
      const result = store.updateRunNow?.(next);
      stored = result?.kind === 'conflict' ? result.run : undefined;
    }
  }

  /** Puts the run into a store, at the beginning or after it was removed from there. */
  async create(store: Store): Promise<void> {
    let run = this.#stored;
    const { lineageRootRunId, parentRunId } = run;
    if (parentRunId !== null && lineageRootRunId === parentRunId) {
      // The store could not be read when the run began. A parent that is not there counts as the root.
      const root = await lineageRootOf(store, parentRunId).catch((error: unknown) => {
        if (isQuarkError(error, 'run_not_found')) return parentRunId;
        throw error;
      });
      run = runRecord.create({ ...run, lineageRootRunId: root });
    }
    const added = await addRun(store, run, this.#fence.live[0].generation);
    this.#stored = added.run;
    this.#known = added.stored;
    this.#project = added.project;
  }

  async reload(store: Store): Promise<void> {
    const { run, stored } = await loadRun(store, this.#stored.id);
    this.#stored = run;
    this.#known = stored;
    this.#checkFence(stored);
  }

  /** Finds out whether another session has taken the run over. */
  #checkFence(stored: StoredRun): void {
    try {
      this.#fence.check(stored);
    } catch (error) {
      this.#fence.notice(error);
    }
  }

  /** Stores a change. @throws what `change` throws; {@link SessionStoreError} `fenced` */
  async change(store: Store, change: RunEdit): Promise<RunRecord> {
    const { run, stored: known } = await changeRun(
      store,
      this.#stored.id,
      this.#clock.now(),
      (current, stored) => {
        this.#fence.check(stored);
        return change(current);
      },
    );
    this.#stored = run;
    this.#known = known;
    return run;
  }

  /** Stores a change after the queued ones. If the storage fails, the change is queued too. @throws what `change` throws */
  async changeInOrder(store: Store, change: RunEdit): Promise<void> {
    // Of two that are made side by side, the first stays the first.
    this.#changes.push(change);
    try {
      await this.flush(store);
    } catch (error) {
      if (this.#fence.notice(error) || !isRecordingFailure(error)) this.#drop(change);
      throw error;
    }
  }

  /** Stores the queued changes, in order. */
  flush(store: Store): Promise<void> {
    return this.#order.run(async () => {
      // Another session has the run: what was to be changed stays as that one says.
      if (this.#fence.error !== undefined) this.#changes = [];
      for (let [change] = this.#changes; change !== undefined; [change] = this.#changes) {
        await this.change(store, change);
        this.#drop(change);
      }
    });
  }

  #changed(stored: RunRecord): RunRecord {
    let run = stored;
    for (const change of this.#changes) run = runRecord.create({ ...run, ...change(run) });
    return run;
  }

  #drop(change: RunEdit): void {
    this.#changes = this.#changes.filter((other) => other !== change);
  }
}
