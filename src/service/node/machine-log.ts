/** The audit log of a database, for what is deleted at its machine and not through a service. */
import { systemClock } from '../../base/clock.ts';
import { openSpaces } from '../../store/sql/node/open-spaces.ts';
import type { Store } from '../../store/store.ts';
import { AuditLog, type AuditAct } from '../access/audit-log.ts';
import { auditStore } from '../access/audited.ts';
import { ownerOf } from '../access/principal.ts';

/** Where lines of the command line say that they come from. */
const FROM = 'command line';
/** The space that a folder is opened with. */
const OWN_SPACE = '';

/** Records what somebody at the machine does. */
export type MachineLog = {
  /** The same store, where each call that deletes, archives, restores or purges has its line first. It is closed with its own. */
  audit(store: Store): Store;
  /** Adds a line for an act that is no call of a store. */
  record(act: Pick<AuditAct, 'action' | 'target' | 'detail'>): Promise<void>;
  close(): Promise<void>;
};

/**
 * Opens the audit log of a storage, which a service may have open at the same time.
 *
 * @param by who acts: the name of the user of the operating system
 * @throws {SessionStoreError} `unknown_scheme`, and what the storage reports
 * @example
 * ```js
 * import { deleteRun, openStorage, TrainingSession } from 'quark-sdk';
 * import { openAccess, openMachineLog } from 'quark-sdk/service';
 *
 * const runId = await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, (session) => session.runId);
 * const log = await openMachineLog('quark-runs', 'ada');
 * const store = log.audit(await openStorage('quark-runs'));
 * await deleteRun(store, runId);
 * await store.close();
 * await log.close();
 * const { access, close } = await openAccess('quark-runs');
 * for (const { action, targetId } of await access.listAudit()) console.log(action, targetId === runId); // run.delete true
 * await close();
 * ```
 */
export async function openMachineLog(storage: string, by: string): Promise<MachineLog> {
  const spaces = await openSpaces(storage, { create: false });
  const audit = new AuditLog(spaces.database, systemClock);
  const actor = { keyId: null, userId: null, from: FROM };
  const { name, ownerId } = ownerOf(OWN_SPACE);
  return {
    audit: (store) => auditStore(store, { audit, actor, storedName: OWN_SPACE, detail: { by } }),
    record: ({ detail = {}, ...act }) =>
      audit.record({ ...actor, ...act, ownerId, space: name, detail: { ...detail, by } }),
    close: () => spaces.close(),
  };
}
