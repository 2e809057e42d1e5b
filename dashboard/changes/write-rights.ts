/** Whether something can be said of the run that is shown from this page, and why not. */
import type { Store } from 'quark-sdk';
import { t } from '../parts/t.ts';
import { account, needsKey } from '../sources/server-access.ts';
import { source } from '../sources/sources.ts';
import { shareRefusal } from './rights.ts';

/**
 * Why nothing can be said, as a sentence; undefined where it can.
 *
 * @param what what is wanted, such as `silence alerts`
 * @param project the project of what is shown; without one, a shared space is refused where none of its projects can be written to
 */
export function sayingRefusal(
  store: Pick<Store, 'isWritable'>,
  what: string,
  project?: string,
): string | undefined {
  const { id, uri } = source.value ?? {};
  if (id === 'files') return t('Runs of dropped files are only read: nothing of them is stored.');
  if (id === 'gallery') return t('A gallery is only read: nobody can change a run here.');
  if (needsKey(uri)) {
    const scope = account.value?.scope;
    if (scope === undefined) return t('It is not known yet what your key allows.');
    if (scope !== 'write' && scope !== 'admin')
      return t(
        'Your key has the scope "{scope}". To {what}, use one of scope "write" or "admin".',
        { scope, what },
      );
    return shareRefusal(project);
  }
  if (store.isWritable) return undefined;
  return t(
    'This server only shows runs. To {what}, use the command line: "quark alerts ack", "quark silence", and --loss, --val with "quark analyze --save".',
    { what },
  );
}

/** Why views and notes cannot be written here, as a sentence; undefined where they can. */
export function writingRefusal(
  store: Pick<Store, 'isWritable'>,
  what: string,
  project?: string,
): string | undefined {
  const { id, uri } = source.value ?? {};
  if (id !== 'files' && !needsKey(uri) && !store.isWritable)
    return t('This server only shows runs. Views can be exported and imported as files.');
  return sayingRefusal(store, what, project);
}
