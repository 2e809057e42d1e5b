/** What can be done to a run: as buttons on its page, and as a menu in the list. */
import type { JSX } from 'preact';
import { Button } from '../parts/controls.tsx';
import { Icon } from '../parts/icons.tsx';
import { MenuButton, type MenuItem } from '../parts/menu.tsx';
import { t } from '../parts/t.ts';
import { changingIds } from './page-changes.ts';
import { actOnRun, deleteOrAsk, type ChangeTarget } from './run-acts.ts';
import './style.css';

/** A run that is there, and how it stands. */
export type ActionProps = {
  readonly target: ChangeTarget;
  /** Whether it goes on: somebody is asked before it is deleted. */
  readonly isLive: boolean;
  readonly isArchived: boolean;
};

function actionsOf({ target, isLive, isArchived }: ActionProps): readonly MenuItem[] {
  return [
    isArchived
      ? {
          label: t('Restore'),
          icon: 'undo',
          act: () => void actOnRun('restore', target, 'archive'),
        }
      : { label: t('Archive'), icon: 'archive', act: () => void actOnRun('archive', target) },
    { label: t('Delete'), icon: 'trash', act: () => deleteOrAsk([target], isLive ? 1 : 0) },
  ];
}

/** Buttons, for the head of the run's page. */
export function RunActions(props: ActionProps): JSX.Element {
  const isBusy = changingIds.value.has(props.target.runId);
  return (
    <span
      class="run-actions inline wrap gap-8"
      role="group"
      aria-label={t('What to do with this run')}
    >
      {actionsOf(props).map(({ label, icon, act }) => (
        <Button key={label} isSmall disabled={isBusy} onClick={act}>
          <Icon name={icon} /> {label}
        </Button>
      ))}
    </span>
  );
}

/** A way back for a deleted run. */
export function RestoreButton({ target }: { readonly target: ChangeTarget }): JSX.Element {
  return (
    <Button
      isSmall
      disabled={changingIds.value.has(target.runId)}
      aria-label={t('Restore {name}', { name: target.name })}
      onClick={() => void actOnRun('restore', target, 'delete')}
    >
      <Icon name="undo" /> {t('Restore')}
    </Button>
  );
}

/** A button with a menu, for the row of a run. `more` comes before archive and delete. */
export function RunMenu(
  props: ActionProps & { readonly more?: () => readonly MenuItem[]; readonly mayDelete?: boolean },
): JSX.Element {
  const { target, mayDelete = true } = props;
  return (
    <MenuButton
      label={t('Actions for {name}', { name: target.name })}
      title={t('What can be done with this run')}
      disabled={changingIds.value.has(target.runId)}
      items={() => [...(props.more?.() ?? []), ...(mayDelete ? actionsOf(props) : [])]}
    />
  );
}
