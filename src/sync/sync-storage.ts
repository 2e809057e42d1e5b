/** Sending and comparing what a store holds, for programs and the command line. */
import { invalidInput } from '../base/errors.ts';
import { asGiven, flag, readOptions } from '../base/options.ts';
import { PERSISTENCE_RULES, persistenceOf, type PersistenceOptions } from '../store/persistence.ts';
import type { Store } from '../store/store.ts';
import type { SyncStatus } from '../store/sync-control.ts';
import type { HolderTag } from './leadership.ts';
import { openOutbox } from './open-outbox.ts';
import type { OutboxStore } from './outbox-store.ts';
import { spaceOf } from './space-name.ts';
import { listSyncTargets, notesOf, type SyncTarget } from './sync-notes.ts';
import { verifyRun, type RunVerification } from './verify.ts';

/** Options of {@link openSync}. */
export type OpenSyncOptions = PersistenceOptions & {
  /** Where the store was recorded into: names the space at a service that no run was recorded for yet. */
  readonly storageDir?: string | undefined;
  /** Sends runs too that were recorded without a service. Default false. */
  readonly includesAll?: boolean;
  /**
   * Opens the service that is named also where no run is meant for it yet: for programs that stay, such as pages, and send what
   * others record meanwhile. Default false.
   */
  readonly includesNew?: boolean;
  /** Forgets what was acknowledged and sends everything again; nothing arrives twice. Default false. */
  readonly startsOver?: boolean;
  /** Who this process is, where leases decide who sends. */
  readonly holderTag?: HolderTag | undefined;
};

/** What a store has for one service. */
export type SyncTask = {
  readonly target: SyncTarget;
  /** The sending side; close it when you are done. */
  readonly outbox: Store;
  status(): Promise<SyncStatus>;
  /**
   * Compares what was acknowledged with what the service has: a database that was restored from a backup lacks some of it. What is
   * missing there and stored here is sent again. Sending begins with it in any case; this waits for it.
   * @throws {SessionStoreError} when the service cannot be asked
   */
  compare(): Promise<void>;
};

const SYNC_RULES = {
  ...PERSISTENCE_RULES,
  storageDir: asGiven<string | undefined>,
  includesAll: flag(false),
  includesNew: flag(false),
  startsOver: flag(false),
  holderTag: asGiven<HolderTag | undefined>,
};

/**
 * Opens the sending side of a local store for each service that its runs are to be sent to; for the one that is named,
 * if one is. Sending begins at once. The local store stays open when a task is closed.
 *
 * @throws {QuarkError} `invalid_input` naming the option
 * @throws {SessionStoreError} `rejected` when the store cannot be the local side
 * @example
 * ```js
 * import { openStorage, TrainingSession } from 'quark-sdk';
 * import { openSync } from 'quark-sdk/node';
 * import { serveService } from 'quark-sdk/service';
 *
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, () => {}); // recorded without a service
 * const service = await serveService({ storage: 'service-data' });
 * const local = await openStorage('quark-runs');
 * const [task] = await openSync(local, { persistenceUrl: service.url, includesAll: true });
 * while ((await task.status()).pendingRuns > 0) await new Promise((resolve) => setTimeout(resolve, 50));
 * console.log((await task.status()).pendingRows); // 0
 * await task.outbox.close();
 * await local.close();
 * await service.close();
 * ```
 */
export async function openSync(
  local: Store,
  options: OpenSyncOptions = {},
): Promise<readonly SyncTask[]> {
  const { holderTag, includesAll, includesNew, startsOver } = readOptions(
    'options',
    options,
    SYNC_RULES,
    '',
  );
  const notes = notesOf(local);
  const targets = await targetsOf(local, options, undefined, includesAll || includesNew);
  const tasks: SyncTask[] = [];
  for (const target of targets) {
    const { outbox, task } = openTask(local, target, options, holderTag);
    tasks.push(task);
    const members = await outbox.syncNotes.listMembers();
    if (includesAll)
      for (const { id } of (await notes.survey()).runs)
        if (!members.has(id)) await outbox.syncNotes.addMember(id, false);
    if (startsOver) for (const runId of members.keys()) await outbox.syncNotes.forgetSent(runId);
    outbox.urge();
  }
  return tasks;
}

/** The sending side of a store for one service. Sending begins at once. */
export function openTask(
  local: Store,
  target: SyncTarget,
  options: PersistenceOptions,
  holderTag?: HolderTag,
): { readonly outbox: OutboxStore; readonly task: SyncTask } {
  const outbox = open(local, target, options, true, holderTag);
  const task = {
    target,
    outbox,
    status: () => outbox.sync.status(),
    compare: () => outbox.compareSent(),
  };
  return { outbox, task };
}

/** A run compared with one service. */
export type ServiceVerification = RunVerification & {
  readonly target: SyncTarget;
  /** The run was taken over from the service: what is here is a part of it, and only that part is looked for there. */
  readonly isPartial: boolean;
};

/**
 * Compares a run here with the same run on each service it is sent to: rows and checksums of every table.
 *
 * @throws {RunNotFoundError} when either side does not have the run
 * @throws {SessionStoreError} when a service cannot be read
 * @example
 * ```js
 * import { openStorage, startRun } from 'quark-sdk';
 * import { verifySync } from 'quark-sdk/node';
 * import { serveService } from 'quark-sdk/service';
 *
 * const service = await serveService({ storage: 'service-data' });
 * const session = await startRun({ project: 'digits', storageDir: 'quark-runs', persistenceUrl: service.url });
 * await session.synced();
 * await session.endRun();
 * const local = await openStorage('quark-runs');
 * for (const { isEqual } of await verifySync(local, session.runId)) console.log(isEqual); // true
 * await local.close();
 * await service.close();
 * ```
 */
export async function verifySync(
  local: Store,
  runId: string,
  options: PersistenceOptions & {
    readonly storageDir?: string | undefined;
    readonly signal?: AbortSignal;
  } = {},
): Promise<readonly ServiceVerification[]> {
  const { signal, ...rest } = options;
  readOptions('options', rest, SYNC_RULES, '');
  const results: ServiceVerification[] = [];
  for (const target of await targetsOf(local, rest, runId, true)) {
    const outbox = open(local, target, rest, false, undefined);
    try {
      const remote = await outbox.openRemote();
      const found = await verifyRun(local, remote, runId, signal === undefined ? {} : { signal });
      const isPartial = await outbox.syncNotes.isPartial(runId);
      const isThere = found.tables.every(
        (table) => table.missingRemote.length === 0 && table.local.damage.length === 0,
      );
      results.push({ ...found, target, isPartial, isEqual: isPartial ? isThere : found.isEqual });
    } finally {
      await outbox.close();
    }
  }
  return results;
}

function open(
  local: Store,
  { space, uri }: SyncTarget,
  options: PersistenceOptions,
  uploads: boolean,
  holderTag: HolderTag | undefined,
): OutboxStore {
  const persistence = persistenceOf({ ...options, persistenceUrl: uri });
  if (persistence === undefined) throw invalidInput('persistenceUrl', uri, 'a URL');
  return openOutbox(local, {
    ...persistence,
    url: uri,
    space,
    ownsLocal: false,
    uploads,
    holderTag,
  });
}

/** The services to talk to: those that are noted, or the one that is named. */
async function targetsOf(
  local: Store,
  options: PersistenceOptions & { readonly storageDir?: string | undefined },
  runId: string | undefined,
  mayBeNew: boolean,
): Promise<readonly SyncTarget[]> {
  const persistence = persistenceOf(options);
  const noted = await listSyncTargets(notesOf(local), runId);
  if (persistence === undefined) return noted;
  const same = noted.filter(({ uri }) => uri === persistence.url);
  if (same.length > 0 || !mayBeNew) return same;
  return [{ uri: persistence.url, space: spaceOf(options.storageDir) }];
}
