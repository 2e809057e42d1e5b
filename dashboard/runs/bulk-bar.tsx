/** What to do with the runs that are picked. */
import type { Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { Button, ButtonLink } from '../parts/controls.tsx';
import { Icon } from '../parts/icons.tsx';
import { MenuButton, type MenuItem } from '../parts/menu.tsx';
import { setting } from '../parts/signals.ts';
import { t } from '../parts/t.ts';
import {
  archive,
  compareHref,
  deletePicked,
  MAX_COMPARED_PICKS,
  type ListDialog,
} from './list-actions.ts';
import { listName, selection } from './list-state.ts';
import { pickedText } from './list-tools.tsx';
import { isNarrow } from './narrow.ts';
import { NO_SELECTION } from './model/selection.ts';
import type { ListContext } from './use-line-context.ts';

type BarProps = {
  readonly context: ListContext;
  readonly dialog: Signal<ListDialog | undefined>;
  /** Runs of the filter. */
  readonly total: number | undefined;
};

/** Nothing while no run is picked. */
export function BulkBar(props: BarProps): JSX.Element | null {
  const { context } = props;
  const { ids } = selection.value;
  if (ids.size === 0) return null;
  const items = itemsOf(props, ids);
  return (
    <div class="compare-bar floating" role="region" aria-label={t('Picked runs')}>
      <span role="status">{pickedText(ids.size)}</span>
      {props.total !== undefined && props.total > ids.size && (
        <Button isSmall onClick={context.pickAll}>
          {t('All of the filter')}
        </Button>
      )}
      <ButtonLink
        isSmall
        isPrimary
        href={compareHref(ids)}
        title={
          ids.size > MAX_COMPARED_PICKS
            ? t('The first {count} are compared', { count: MAX_COMPARED_PICKS })
            : undefined
        }
      >
        {t('Compare')}
      </ButtonLink>
      {isNarrow.value ? (
        <MenuButton label={t('What to do with the picked runs')} items={() => items} />
      ) : (
        items.map(({ label, icon, act }) => (
          <Button key={label} isSmall onClick={act}>
            <Icon name={icon} /> {label}
          </Button>
        ))
      )}
      <Button isSmall onClick={setting(selection, NO_SELECTION)}>
        {t('Clear')}
      </Button>
    </div>
  );
}

/** What can be done with picked runs, besides comparing them. */
function itemsOf(props: BarProps, ids: ReadonlySet<string>): readonly MenuItem[] {
  const { context, dialog } = props;
  const targets = (): ReturnType<ListContext['targetsOf']> => context.targetsOf(ids);
  const opening = (kind: ListDialog['kind']) => () => {
    dialog.value = { kind, targets: targets() };
  };
  const isArchive = listName.value === 'archived';
  return [
    ...(context.mayEdit
      ? [
          { label: t('Rename'), icon: 'pencil' as const, act: opening('rename') },
          { label: t('Group'), icon: 'rows' as const, act: opening('group') },
          { label: t('Tag'), icon: 'tag' as const, act: opening('tag') },
          { label: t('Untag'), icon: 'close' as const, act: opening('untag') },
          { label: t('Note'), icon: 'note' as const, act: opening('note') },
        ]
      : []),
    { label: t('Export'), icon: 'save', act: opening('export') },
    ...(context.mayDelete
      ? [
          {
            label: isArchive ? t('Restore') : t('Archive'),
            icon: 'archive' as const,
            act: () => archive(targets()),
          },
          {
            label: t('Delete'),
            icon: 'trash' as const,
            act: () => void deletePicked(context.store, targets()),
          },
        ]
      : []),
  ];
}
