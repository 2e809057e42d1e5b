/** Whether runs of the source that is shown can be deleted, archived and restored from this page, and why not. */
import type { Store } from 'quark-sdk';
import { account, needsKey, space, type Account } from '../sources/server-access.ts';
import { source, type SourceId } from '../sources/sources.ts';

/** What the right to delete depends on. */
export type DeletionRights = {
  readonly sourceId: SourceId;
  /** Whether the store of the source can be written to. */
  readonly isWritable: boolean;
  /** Whether the server asks for a key: the key then decides. */
  readonly needsKey: boolean;
  /** Whose key it is; undefined until the server has said so. */
  readonly account: Account | undefined;
  /** The space that is shown. */
  readonly space: string;
};

/** Why nothing can be deleted, archived or restored, as a sentence; undefined where it can. */
export function refusalFor(rights: DeletionRights): string | undefined {
  const { sourceId } = rights;
  if (sourceId === 'files')
    return 'Runs of dropped files are only read: nothing of them is stored.';
  if (sourceId === 'server' && rights.needsKey) return refusalOfKey(rights);
  if (rights.isWritable) return undefined;
  return sourceId === 'server'
    ? 'This server only shows runs. On the command line, "quark rm" deletes and archives them, and "quark undelete" restores them.'
    : 'This storage can only be read.';
}

function refusalOfKey({ account: who, space: shown }: DeletionRights): string | undefined {
  if (who === undefined) return 'It is not known yet what your key allows.';
  const owner = who.spaces.find((one) => one.space === shown)?.owner ?? who.user;
  if (owner !== who.user)
    return `Only its owner, ${owner}, may delete, archive or restore runs of this space.`;
  return who.scope === 'delete' || who.scope === 'admin'
    ? undefined
    : `Your key has the scope "${who.scope}". To delete, archive or restore runs, use one of scope "delete" or "admin".`;
}

/** {@link refusalFor} for the store of the source that is shown. */
export function deletionRefusal(store: Pick<Store, 'isWritable'>): string | undefined {
  const { id = 'browser', uri } = source.value ?? {};
  return refusalFor({
    sourceId: id,
    isWritable: store.isWritable,
    needsKey: needsKey(uri),
    account: account.value,
    space: space.value,
  });
}
