/** Whose runs are shown, in the header of a page whose server asked for a key. */
import type { JSX } from 'preact';
import { IconButton } from '../parts/controls.tsx';
import { account, chooseSpace, signOut, space } from '../sources/server-access.ts';
import { t } from '../parts/t.ts';

/** Nothing without a key. */
export function AccountMenu(): JSX.Element | null {
  const who = account.value;
  if (who === undefined) return null;
  const { spaces, user } = who;
  return (
    <span class="account inline gap-8">
      {spaces.length > 1 && (
        <select
          class="space-select input"
          aria-label={t('Space')}
          title={t('Space: a set of runs of your own, or one that somebody shares with you')}
          value={space.value}
          onChange={(event) => chooseSpace(event.currentTarget.value)}
        >
          {spaces.map((one) => (
            <option key={one.space} value={one.space}>
              {one.owner === user ? one.space : one.space.replace(':', ' / ')}
            </option>
          ))}
        </select>
      )}
      <IconButton
        icon="leave"
        title={t('Signed in as {user}. Sign out', { user })}
        label={t('Signed in as {user}. Sign out', { user })}
        onClick={() => signOut()}
      />
    </span>
  );
}
