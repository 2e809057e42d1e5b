/** Whether runs of the source that is shown can be changed from this page, and why not. */
import type { Store } from 'quark-sdk';
import { t } from '../parts/t.ts';
import { account, needsKey, space, type Account } from '../sources/server-access.ts';
import { source, type SourceId } from '../sources/sources.ts';

/** What the rights depend on. */
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
    return t('Runs of dropped files are only read: nothing of them is stored.');
  if (sourceId === 'gallery') return t('A gallery is only read: nobody can change a run here.');
  if (sourceId === 'server' && rights.needsKey) return refusalOfKey(rights);
  if (rights.isWritable) return undefined;
  return sourceId === 'server'
    ? t(
        'This server only shows runs. On the command line, "quark rm" deletes and archives them, and "quark undelete" restores them.',
      )
    : t('This storage can only be read.');
}

function refusalOfKey({ account: who, space: shown }: DeletionRights): string | undefined {
  if (who === undefined) return t('It is not known yet what your key allows.');
  const owner = who.spaces.find((one) => one.space === shown)?.owner ?? who.user;
  if (owner !== who.user)
    return t('Only its owner, {owner}, may delete, archive or restore runs of this space.', {
      owner,
    });
  return who.scope === 'delete' || who.scope === 'admin'
    ? undefined
    : t(
        'Your key has the scope "{scope}". To delete, archive or restore runs, use one of scope "delete" or "admin".',
        { scope: who.scope },
      );
}

/**
 * Why a space or a project of somebody else cannot be written to, as a sentence; undefined where it can.
 *
 * @param project the project of what is changed; without one, a space is refused where none of its projects can be written to
 */
export function shareRefusalFor(
  { account: who, space: shown }: Pick<DeletionRights, 'account' | 'space'>,
  project?: string,
): string | undefined {
  const open = who?.spaces.find((one) => one.space === shown);
  if (open?.projects === undefined) return undefined;
  const { owner, projects } = open;
  if (project !== undefined)
    return projects.get(project) === 'write'
      ? undefined
      : t('{owner} shares the project "{project}" with you for reading only.', { owner, project });
  return [...projects.values()].includes('write')
    ? undefined
    : t('{owner} shares this space with you for reading only.', { owner });
}

/** {@link shareRefusalFor} for the space that is shown. */
export function shareRefusal(project?: string): string | undefined {
  return shareRefusalFor({ account: account.value, space: space.value }, project);
}

/**
 * Why names, notes and tags cannot be changed, as a sentence; undefined where they can.
 *
 * @param project the project of what is changed; see {@link shareRefusalFor}
 */
export function editRefusalFor(rights: DeletionRights, project?: string): string | undefined {
  const { sourceId, account: who } = rights;
  if (sourceId === 'files')
    return t('Runs of dropped files are only read: nothing of them is stored.');
  if (sourceId === 'gallery') return t('A gallery is only read: nobody can change a run here.');
  if (sourceId === 'server' && rights.needsKey) {
    if (who === undefined) return t('It is not known yet what your key allows.');
    return who.scope === 'write' || who.scope === 'admin'
      ? shareRefusalFor(rights, project)
      : t(
          'Your key has the scope "{scope}". To change names, notes and tags, use one of scope "write" or "admin".',
          { scope: who.scope },
        );
  }
  if (rights.isWritable) return undefined;
  return sourceId === 'server'
    ? t(
        'This server only shows runs. On the command line, "quark rename", "quark note" and "quark tag" change them.',
      )
    : t('This storage can only be read.');
}

/** {@link refusalFor} for the store of the source that is shown. */
export function deletionRefusal(store: Pick<Store, 'isWritable'>): string | undefined {
  return refusalFor(rightsOf(store));
}

/** {@link editRefusalFor} for the store of the source that is shown. */
export function editRefusal(
  store: Pick<Store, 'isWritable'>,
  project?: string,
): string | undefined {
  return editRefusalFor(rightsOf(store), project);
}

function rightsOf({ isWritable }: Pick<Store, 'isWritable'>): DeletionRights {
  const { id = 'browser', uri } = source.value ?? {};
  return {
    sourceId: id,
    isWritable,
    needsKey: needsKey(uri),
    account: account.value,
    space: space.value,
  };
}
