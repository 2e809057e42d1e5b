/** Run documents to the service and back, by compare-and-set on both sides. */
import { isStoreError, RunNotFoundError, SessionStoreError } from '../base/errors.ts';
import { createId } from '../base/ids.ts';
import { checkTakenRun } from '../store/run-content.ts';
import { withArchived } from '../store/run-rules.ts';
import { kindOfFailure } from './failures.ts';
import { generationOf } from '../records/shapes/run.ts';
import type { Store, StoredProject, StoredRun, UpdateResult } from '../store/store.ts';
import {
  areSameRuns,
  formOf,
  mergeRuns,
  toLocalForm,
  toRemoteForm,
  withGeneration,
  type Liveness,
  type RunForm,
} from './merge-run.ts';
import {
  remoteGenerationOf,
  UNKNOWN_REVISION,
  type BaseRun,
  type SupersededRows,
  type SyncNotes,
} from './sync-notes.ts';

/** Somebody changes the run at the service again and again: it is tried in the next round. */
const MAX_ATTEMPTS = 8;

/** Keeps the runs of a local store and those of a service alike. */
export class RunMirror {
  readonly #local: Store;
  readonly #notes: SyncNotes;
  /** Ids that projects have at the service, by name. */
  readonly #projectIds = new Map<string, string>();
  /** Runs that the service has said to have, before both sides are alike. */
  readonly #there = new Set<string>();
  readonly #onProgress: () => void;
  readonly #onTakenOver: (runId: string) => void;

  /**
   * @param onProgress told when something got through that need not be asked again
   * @param onTakenOver told of runs that a session elsewhere has taken over
   */
  constructor(
    local: Store,
    notes: SyncNotes,
    onProgress: () => void = () => undefined,
    onTakenOver: (runId: string) => void = () => undefined,
  ) {
    this.#local = local;
    this.#notes = notes;
    this.#onProgress = onProgress;
    this.#onTakenOver = onTakenOver;
  }

  /**
   * Makes the service know the run as it is here, and takes what was changed there.
   *
   * @throws {RunNotFoundError} when the service knew the run and does not any longer
   */
  async push(remote: Store, runId: string): Promise<void> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const local = await this.#local.findRun(runId);
      if (local === undefined) return;
      const base = await this.#notes.readBase(runId);
      if (base === undefined || base.isForgotten === true) {
        if (await this.#create(remote, local, base)) return;
        continue;
      }
      if (base.remoteRevision === UNKNOWN_REVISION) {
        if (await this.#reconcile(remote, local, await getRun(remote, runId), base)) return;
        continue;
      }
      if (await this.#pushArchived(remote, local, base)) continue;
      if (areSameRuns(base.run, formOf(local))) return;
      const result = await this.#update(remote, local, base);
      if (result.kind === 'updated') {
        await this.#writeBase(runId, agreed(local, result.run, base));
        return;
      }
      if (await this.#reconcile(remote, local, result.run, base)) return;
    }
    throw changing(runId);
  }

  /** Takes what was changed at the service, before somebody here goes on with the run. */
  async pull(remote: Store, runId: string): Promise<void> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const [local, base, found] = [
        await this.#local.findRun(runId),
        await this.#notes.readBase(runId),
        await remote.findRun(runId),
      ];
      if (local === undefined || found === undefined || found.revision === base?.remoteRevision)
        return;
      if (await this.#reconcile(remote, local, found, base)) return;
    }
    throw changing(runId);
  }

  /**
   * Says at the service first that somebody goes on with the run: of two who do, on two machines, one is first there. Who
   * is not gets what the other made of the run into the local store, where the change then fails.
   */
  async claim(remote: Store, run: StoredRun): Promise<void> {
    const base = await this.#notes.readBase(run.id);
    if (base === undefined || base.remoteRevision === UNKNOWN_REVISION) return;
    const result = await this.#update(remote, run, base);
    if (result.kind === 'conflict') await this.pull(remote, run.id);
    else await this.#writeBase(run.id, agreed(run, result.run, base));
  }

  /**
   * Takes a run of the service into the local store, so that it can be written to.
   *
   * @throws {SessionStoreError} `rejected` when the service names things as no store does
   */
  async adopt(found: StoredRun, runId: string): Promise<void> {
    checkTakenRun(found, runId);
    const project = await this.#local.ensureProject({
      id: found.projectId,
      name: found.projectName,
      createdAtMs: found.startedAtMs,
    });
    const { storeRoot } = this.#local.location;
    const run = toLocalForm(found, project.id, `${storeRoot}/runs/${found.id}`);
    this.#projectIds.set(found.projectName, found.projectId);
    await this.#notes.addMember(found.id, true);
    await this.#writeBase(found.id, agreed(run, found, undefined));
    try {
      await this.#local.createRun(run);
    } catch (error) {
      // Another tab was first.
      if (!isStoreError(error, 'rejected')) throw error;
    }
  }

  /** Whether the run was added; else somebody has added it meanwhile, and both are to be looked at again. */
  async #create(remote: Store, local: StoredRun, base: BaseRun | undefined): Promise<boolean> {
    let refusal: unknown;
    if (!this.#there.has(local.id)) {
      const generation = base === undefined ? generationOf(local) : nextGeneration(local, base);
      const form = withGeneration(await this.#remoteForm(remote, local), generation);
      try {
        const created = await remote.createRun(form);
        await this.#writeBase(local.id, agreed(local, created, base));
        return true;
      } catch (error) {
        if (!isStoreError(error, 'rejected')) throw error;
        // Somebody was first, or this is not the first time and the answer was lost.
        this.#there.add(local.id);
        refusal = error;
      }
    }
    const found = await remote.findRun(local.id);
    if (found !== undefined) return this.#reconcile(remote, local, found, base);
    this.#there.delete(local.id);
    if (refusal !== undefined) throw refusal;
    return false;
  }

  /** Brings both sides to the same; false when either was changed meanwhile. */
  async #reconcile(
    remote: Store,
    local: StoredRun,
    found: StoredRun,
    base: BaseRun | undefined,
  ): Promise<boolean> {
    // What a service that was put back says is no change that somebody made there.
    const isPutBack = base !== undefined && found.revision < base.remoteRevision;
    const known = base?.isForgotten === true || isPutBack ? undefined : base;
    if (known !== undefined && (await this.#pullArchived(local, found, known))) return false;
    const common = commonOf(base, local, found);
    const isTakenOver = generationOf(found) > common.remote;
    // Each side counts for itself. What is the same generation here has the same number here.
    const theirs = withGeneration(
      toLocalForm(found, local.projectId, runPathOf(local)),
      isTakenOver ? Math.max(generationOf(local) + 1, generationOf(found)) : common.local,
    );
    if (!areSameRuns(theirs, formOf(local))) checkTakenRun(found, local.id);
    // Where both are the same, nobody has to be asked who is at work.
    const merged = areSameRuns(theirs, formOf(local))
      ? theirs
      : withGeneration(
          mergeRuns(known?.run, local, theirs, {
            ...(await this.#liveness(remote, local.id)),
            isTakenOver,
          }),
          generationOf(isTakenOver ? theirs : local),
        );
    const agreement = isTakenOver
      ? { ...base, superseded: await this.#supersededRows(local.id, generationOf(theirs)) }
      : base;
    let there = found;
    if (!areSameRuns(merged, theirs)) {
      const agreedOn = { ...agreed(theirs, found, agreement), run: theirs };
      const result = await this.#update(remote, merged, agreedOn, base);
      if (result.kind === 'conflict') return false;
      there = result.run;
    }
    if (!areSameRuns(merged, formOf(local))) {
      const result = await this.#local.updateRun({ ...merged, revision: local.revision });
      if (result.kind === 'conflict') {
        // What was pulled is not here yet: were the service's revision noted, the next push would take it back there.
        await this.#writeBase(local.id, {
          ...base,
          run: base?.run ?? withGeneration(formOf(local), common.local),
          remoteGeneration: common.remote,
          remoteRevision: UNKNOWN_REVISION,
        });
        return false;
      }
    }
    await this.#writeBase(local.id, agreed(merged, there, agreement));
    if (isTakenOver) this.#onTakenOver(local.id);
    return true;
  }

  /** Archives the run at the service as it was here, or takes it out of the archive; returns whether there was anything to do. */
  async #pushArchived(remote: Store, local: StoredRun, base: BaseRun): Promise<boolean> {
    if (isArchived(base.run) === isArchived(local)) return false;
    const found = await remote.findRun(local.id);
    // One that was deleted there must not come back by this.
    if (found === undefined) return false;
    let { remoteRevision } = base;
    if (isArchived(found) !== isArchived(local)) {
      try {
        const { revision } = isArchived(local)
          ? await remote.archiveRun(local.id)
          : await remote.restoreRun(local.id);
        // Where somebody else has changed it, too, the next change finds out.
        if (revision === remoteRevision + 1) remoteRevision = revision;
      } catch (error) {
        // A key that may write need not be one that may archive: the rest of the run is sent all the same.
        if (kindOfFailure(error) === 'retry') throw error;
        return false;
      }
    }
    await this.#writeBase(local.id, {
      ...base,
      run: withArchived(base.run, local.archivedAtMs),
      remoteRevision,
    });
    return true;
  }

  /** The same in the other direction, where only the service has changed it. */
  async #pullArchived(local: StoredRun, found: StoredRun, base: BaseRun): Promise<boolean> {
    if (isArchived(found) === isArchived(base.run) || isArchived(local) !== isArchived(base.run))
      return false;
    await (isArchived(found) ? this.#local.archiveRun(local.id) : this.#local.restoreRun(local.id));
    await this.#writeBase(local.id, { ...base, run: withArchived(base.run, found.archivedAtMs) });
    return true;
  }

  /** What is here and not at the service, when a session elsewhere is found to have taken the run over. */
  async #supersededRows(runId: string, below: number): Promise<SupersededRows> {
    const from: Record<string, number> = {};
    const streams = (await this.#local.notes?.survey(runId))?.streams ?? [];
    for (const { table } of streams) {
      const sent = await this.#notes.readSent(runId, table);
      from[table] = sent.value.through;
    }
    return { below, from };
  }

  /**
   * Changes the run at the service from the state `base`; its generation is counted up there by as much as it was here. `noted` is
   * the base that the notes have.
   */
  async #update(
    remote: Store,
    run: RunForm,
    base: BaseRun,
    noted: BaseRun = base,
  ): Promise<UpdateResult> {
    const generation = nextGeneration(run, base);
    const form = withGeneration(await this.#remoteForm(remote, run), generation);
    // Should the answer be lost, the generation there is recognised as this one.
    if (generation > remoteGenerationOf(base))
      await this.#notes.writeBase(run.id, { ...noted, claim: form.document });
    return remote.updateRun({ ...form, revision: base.remoteRevision });
  }

  async #writeBase(runId: string, base: BaseRun): Promise<void> {
    await this.#notes.writeBase(runId, base);
    this.#there.delete(runId);
    this.#onProgress();
  }

  async #liveness(remote: Store, runId: string): Promise<Liveness> {
    const here = await this.#local.listLeases([runId]);
    const there = await remote.listLeases([runId]);
    const own = new Set(here.map((lease) => lease.holder));
    return {
      isLocalLive: here.length > 0,
      isRemoteLive: there.some((lease) => !own.has(lease.holder)),
    };
  }

  async #remoteForm(remote: Store, run: RunForm): Promise<RunForm> {
    let projectId = this.#projectIds.get(run.projectName);
    if (projectId === undefined) {
      const known = (await this.#local.listProjects()).find(({ name }) => name === run.projectName);
      const createdAtMs = known?.createdAtMs ?? run.startedAtMs;
      projectId = await projectAt(remote, {
        id: run.projectId,
        name: run.projectName,
        createdAtMs,
      });
      this.#projectIds.set(run.projectName, projectId);
      this.#onProgress();
    }
    return toRemoteForm(run, projectId);
  }

  /** What is remembered of the service is forgotten: it may have been emptied. */
  forget(): void {
    this.#projectIds.clear();
    this.#there.clear();
  }
}

function isArchived({ archivedAtMs }: RunForm): boolean {
  return archivedAtMs !== undefined;
}

/** What is noted once both sides have the same. */
function agreed(run: RunForm, there: StoredRun, base: Partial<BaseRun> | undefined): BaseRun {
  const superseded = base?.superseded;
  return {
    run: formOf(run),
    remoteRevision: there.revision,
    remoteGeneration: generationOf(there),
    ...(superseded === undefined ? {} : { superseded }),
  };
}

/** The generation that the service is to have, counted up since `base` by as much as it was here. */
function nextGeneration(run: RunForm, base: BaseRun): number {
  return remoteGenerationOf(base) + generationOf(run) - generationOf(base.run);
}

/**
 * The generations, here and there, that were the same last. One that the service has by a change of this store, whose answer was lost,
 * is that of this store. Without a base, the run was sent from here: what both have counted.
 */
function commonOf(
  base: BaseRun | undefined,
  local: StoredRun,
  found: StoredRun,
): { readonly local: number; readonly remote: number } {
  const [here, there] = [generationOf(local), generationOf(found)];
  if (base === undefined) return { local: Math.min(here, there), remote: Math.min(here, there) };
  const [localBase, remoteBase] = [generationOf(base.run), remoteGenerationOf(base)];
  // It was put back to before the run was last taken over or resumed.
  if (base.isForgotten === true && there < remoteBase)
    return { local: Math.max(1, localBase - (remoteBase - there)), remote: there };
  const isOwn = there > remoteBase && base.claim !== undefined && base.claim === found.document;
  return isOwn ? { local: here, remote: there } : { local: localBase, remote: remoteBase };
}

/** The id that a project has at the service; one of its own where another project has ours. */
async function projectAt(remote: Store, project: StoredProject): Promise<string> {
  try {
    return (await remote.ensureProject(project)).id;
  } catch (error) {
    if (!isStoreError(error, 'rejected')) throw error;
    const id = createId('prj', project.createdAtMs);
    return (await remote.ensureProject({ ...project, id })).id;
  }
}

async function getRun(remote: Store, runId: string): Promise<StoredRun> {
  const found = await remote.findRun(runId);
  if (found === undefined) throw new RunNotFoundError(runId, remote.uri);
  return found;
}

function runPathOf(run: RunForm): string {
  const document: unknown = JSON.parse(run.document);
  const path: unknown =
    typeof document === 'object' && document !== null ? Reflect.get(document, 'run_path') : '';
  return typeof path === 'string' ? path : '';
}

function changing(runId: string): SessionStoreError {
  return new SessionStoreError(
    'busy',
    `Run ${runId} was changed at the service ${MAX_ATTEMPTS} times in a row. It is tried again.`,
    { details: { runId } },
  );
}
