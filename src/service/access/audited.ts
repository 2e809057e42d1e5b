/** What a service records of requests in the audit log: what they delete, restore and silence. */
import { isQuarkError } from '../../base/errors.ts';
import { wrapStore, type Around } from '../../store/front.ts';
import type { Store } from '../../store/store.ts';
import type { AuditAction } from '../../wire/audit-messages.ts';
import type { Actor, AuditAct, AuditLog } from './audit-log.ts';
import { listDocuments } from '../../workspace/documents.ts';
import { ownerOf } from './principal.ts';

/** Who asks, of which space as the database names it. */
export type AuditedSpace = {
  readonly audit: AuditLog;
  readonly actor: Actor;
  readonly storedName: string;
  /** What else each line says. */
  readonly detail?: AuditAct['detail'];
};

/** Calls of a store that the log has a line for, each with what it is about. */
const AUDITED: ReadonlyMap<string, readonly [action: AuditAction, target: string]> = new Map([
  ['deleteRun', ['run.delete', 'run']],
  ['archiveRun', ['run.archive', 'run']],
  ['restoreRun', ['run.restore', 'run']],
  ['deleteProject', ['project.delete', 'project']],
  ['deleteTable', ['table.delete', 'table']],
  ['deleteArtifact', ['artifact.delete', 'artifact']],
  ['deleteDocument', ['document.delete', 'project']],
  ['silenceAlerts', ['alert.silence', 'run']],
  ['unsilenceAlerts', ['alert.unsilence', 'run']],
  ['purgeDeletedRuns', ['run.purge', 'space']],
]);

/**
 * The same store, where every call that deletes, archives, restores or silences is in the audit log before it is carried out. One that
 * fails has a second line, which says why.
 */
export function auditStore(store: Store, space: AuditedSpace): Store {
  const around: Around = (name, args, call) => {
    const audited = AUDITED.get(name);
    if (audited === undefined) return call();
    const [action, kind] = audited;
    const [first, second, third, , owner] = args;
    const target = { kind, id: typeof first === 'string' ? first : ownerOf(space.storedName).name };
    const detail = { ...space.detail, ...detailOf(audited, second, third, owner) };
    return recorded(store, space, { action, target, detail }, call);
  };
  return wrapStore(store, around);
}

/** What a line says of the second argument of a call, the third and the fifth. */
function detailOf(
  [action]: readonly [AuditAction, string],
  second: unknown,
  third: unknown,
  fifth: unknown,
): AuditAct['detail'] {
  if (action === 'document.delete')
    return {
      kind: String(second),
      id: String(third),
      ...(typeof fifth === 'string' ? { owner: fifth } : {}),
    };
  if (typeof second === 'string') return { name: second };
  return action.startsWith('alert.') && typeof second === 'object' ? { ...second } : {};
}

async function recorded(
  store: Store,
  { audit, actor, storedName }: AuditedSpace,
  act: Pick<AuditAct, 'action' | 'target' | 'detail'>,
  call: () => unknown,
): Promise<unknown> {
  const { ownerId, name } = ownerOf(storedName);
  const line = { ...actor, ...act, ownerId, space: name };
  if (!(await mayBeThere(store, act))) {
    const result = await call();
    // A document that was not there: see below.
    if (result !== false) await audit.record(line);
    return result;
  }
  await audit.record(line);
  try {
    return await call();
  } catch (error) {
    const failed = isQuarkError(error) ? (error.details['reason'] ?? error.code) : 'failed';
    await audit.record({ ...line, detail: { ...act.detail, failed } });
    throw error;
  }
}

/** Requests about what was never there leave no lines, of which anybody could make any number. */
async function mayBeThere(
  store: Store,
  { action, detail, target }: Pick<AuditAct, 'action' | 'target' | 'detail'>,
): Promise<boolean> {
  if (target.kind === 'space' || action === 'run.restore') return true;
  if (target.kind !== 'project') return (await store.findRun(target.id)) !== undefined;
  if (action === 'document.delete') {
    const { kind, id, owner } = { ...detail };
    // By the list: one whose body is gone can be deleted, too.
    const listed = await listDocuments(store, target.id, String(kind));
    return listed.some((one) => one.id === id && one.owner === owner);
  }
  return (await store.listProjects()).some(({ name }) => name === target.id);
}
