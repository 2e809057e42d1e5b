import { contextRecord } from '../records/context.ts';
import { projectRecord, type ProjectRecord } from '../records/project.ts';
import type { RunStatus } from '../records/literals.ts';
import type { RunRecord } from '../records/run.ts';
import { attachDefinition, type Dict, type RecordMethods } from '../schema/record.ts';
import type { Store, StoredProject } from '../store/store.ts';
import { setHandle, type RunHandle } from './run-handle.ts';

/**
 * The run as loggers and probes are given it: its location, its project, its record at one moment. Immutable; `session.context` is the
 * present one, and `session.reload()` reads it again.
 *
 * @example
 * ```js
 * import { MetricsLogger, startRun } from 'quark-sdk';
 *
 * const session = await startRun({ project: 'digits', storageDir: 'quark-runs', tags: ['baseline'] });
 * const { projectName, runPath, status, tags } = session.context;
 * console.log(projectName, status, tags); // digits running [ 'baseline' ]
 * console.log(runPath);
 * const metrics = new MetricsLogger(session.context); // a logger takes a session or a context
 * metrics.log('train/loss', 0.5, { step: 0 });
 * const ended = await session.endRun();
 * console.log(session.context.status, ended.status); // completed completed
 * ```
 */
export class RunContext {
  /** Directory or URI the store was opened with. */
  readonly storageDir: string;
  /** `<storageDir>/.quark` */
  readonly storeRoot: string;
  /** `<storageDir>/.quark/quark.db` */
  readonly dbPath: string;
  readonly project: ProjectRecord;
  readonly run: RunRecord;

  static {
    attachDefinition(this.prototype, contextRecord);
  }

  /** @internal Contexts come from sessions. */
  constructor(handle: RunHandle, project: StoredProject, run: RunRecord) {
    const { storageDir, storeRoot, dbPath } = handle.store.location;
    this.storageDir = storageDir;
    this.storeRoot = storeRoot;
    this.dbPath = dbPath;
    this.project = toProjectRecord(handle.store, project);
    this.run = run;
    Object.freeze(this);
    setHandle(this, handle);
  }

  get projectId(): string {
    return this.project.id;
  }

  get projectName(): string {
    return this.project.name;
  }

  get runId(): string {
    return this.run.id;
  }

  get runPath(): string {
    return this.run.runPath;
  }

  get status(): RunStatus {
    return this.run.status;
  }

  get strictMode(): boolean {
    return this.run.strictMode;
  }

  get tags(): readonly string[] {
    return this.run.tags;
  }
}

/** The methods of a {@link RunContext} that it shares with all records. */
export interface RunContext extends RecordMethods {
  toDict(): Dict;
}

/** A stored project as a record. */
export function toProjectRecord(store: Store, project: StoredProject): ProjectRecord {
  const at = new Date(project.createdAtMs).toISOString();
  return projectRecord.wrap({
    id: project.id,
    name: project.name,
    rootPath: store.location.storeRoot,
    createdAt: at,
    updatedAt: at,
  });
}
