/** The store of commands that delete: what they do in a folder or a database is in its audit log. */
import { userInfo } from 'node:os';
import { resolve } from 'node:path';
import { openMachineLog, type MachineLog } from '../../service.ts';
import { isQuarkError, type Store } from '../../index.ts';
import { defaultDir, withStore, type CommandContext } from './command.ts';

/** Adds a line to the audit log of the store; does nothing where a service writes it, and where there is none. */
export type RecordAct = MachineLog['record'];

/** Records an act, and carries it out; one that fails has a second line, which says why. */
export async function recorded<T>(
  record: RecordAct,
  act: Parameters<RecordAct>[0],
  call: () => Promise<T>,
): Promise<T> {
  await record(act);
  try {
    return await call();
  } catch (error) {
    const failed = isQuarkError(error) ? (error.details['reason'] ?? error.code) : 'failed';
    await record({ ...act, detail: { ...act.detail, failed } });
    throw error;
  }
}

/** As `withStore`, with an audit log where the store has one of its own. */
export async function withAuditedStore<T>(
  context: Pick<CommandContext, 'io' | 'args'>,
  work: (store: Store, record: RecordAct) => Promise<T>,
): Promise<T> {
  return withStore(context, async (store) => {
    const storage = auditedStorage(context);
    if (storage === undefined) return work(store, async () => undefined);
    const log = await openMachineLog(storage, userName());
    try {
      return await work(log.audit(store), (act) => log.record(act));
    } finally {
      await log.close();
    }
  });
}

/** The storage that the options name, if it is a folder or a database. */
function auditedStorage({ args, io }: Pick<CommandContext, 'io' | 'args'>): string | undefined {
  const uri = args.text('storage');
  if (uri === undefined) {
    const dir = args.text('storage-dir');
    return dir === undefined ? defaultDir(io) : resolve(io.cwd, dir);
  }
  const isOther =
    /^[a-z][a-z0-9+.-]+:/i.test(uri) && !/^(file|postgres|postgresql|cockroach):/i.test(uri);
  return isOther ? undefined : uri;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // Containers run under numbers that nobody has given a name.
    return String(process.getuid?.() ?? 'unknown');
  }
}
