/** Whether alerts of the run that is shown can be silenced from this page, and why not. */
import type { Store } from 'quark-sdk';
import { account, needsKey } from '../../sources/server-access.ts';
import { source } from '../../sources/sources.ts';

/** Why nothing can be said of alerts, as a sentence; undefined where it can. */
export function silenceRefusal(store: Pick<Store, 'isWritable'>): string | undefined {
  const { id, uri } = source.value ?? {};
  if (id === 'files') return 'Runs of dropped files are only read: nothing of them is stored.';
  if (needsKey(uri)) {
    const scope = account.value?.scope;
    if (scope === undefined) return 'It is not known yet what your key allows.';
    if (scope !== 'write' && scope !== 'admin')
      return `Your key has the scope "${scope}". To silence alerts, use one of scope "write" or "admin".`;
    return undefined;
  }
  if (store.isWritable) return undefined;
  return 'This server only shows runs. On the command line, "quark silence" silences alerts.';
}
