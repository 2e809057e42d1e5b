/** What can be done to a run: as buttons on its page, and as a menu in the list. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { Button, IconButton } from '../parts/controls.tsx';
import { Icon, type IconName } from '../parts/icons.tsx';
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

type Action = { readonly label: string; readonly icon: IconName; readonly act: () => void };

function actionsOf({ target, isLive, isArchived }: ActionProps): readonly Action[] {
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

/** Keys that go up and down the menu. */
const SHIFTS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };
const GAP_PX = 4;

/** A button with a menu, for the row of a run. The menu is drawn when it is opened. */
export function RunMenu(props: ActionProps): JSX.Element {
  const id = useId();
  const isOpen = useSignal(false);
  const menu = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLSpanElement>(null);
  // Before the menu is painted: the first key after it must meet an item, not the row behind it.
  useLayoutEffect(() => {
    const { current } = menu;
    if (!isOpen.value || current === null) return undefined;
    if (button.current !== null) putBeside(current, button.current.getBoundingClientRect());
    current.querySelector('button')?.focus({ preventScroll: true });
    // It stays where it is while its row goes elsewhere.
    const close = (): void => current.hidePopover();
    addEventListener('scroll', close, { capture: true, once: true });
    return () => removeEventListener('scroll', close, { capture: true });
  }, [isOpen.value]);
  return (
    <span ref={button} class="run-menu-button" onKeyDown={(event) => moveIn(menu.current, event)}>
      <IconButton
        icon="more"
        label={t('Actions for {name}', { name: props.target.name })}
        title={t('Archive or delete')}
        aria-haspopup="menu"
        aria-expanded={isOpen.value}
        disabled={changingIds.value.has(props.target.runId)}
        popovertarget={id}
      />
      <div
        ref={menu}
        id={id}
        class="run-menu floating"
        popover="auto"
        role="menu"
        aria-label={t('Actions for {name}', { name: props.target.name })}
        onToggle={(event) => {
          isOpen.value = event.newState === 'open';
        }}
      >
        {isOpen.value &&
          actionsOf(props).map(({ label, icon, act }) => (
            <button
              key={label}
              type="button"
              role="menuitem"
              onClick={() => {
                menu.current?.hidePopover();
                act();
              }}
            >
              <Icon name={icon} /> {label}
            </button>
          ))}
      </div>
    </span>
  );
}

/** Below the button and to its left; above it where there is no room below. */
function putBeside(menu: HTMLElement, { top, bottom, right }: DOMRect): void {
  const below = bottom + GAP_PX;
  const isLow = below + menu.offsetHeight > innerHeight;
  menu.style.top = `${isLow ? Math.max(0, top - GAP_PX - menu.offsetHeight) : below}px`;
  menu.style.left = `${Math.max(GAP_PX, right - menu.offsetWidth)}px`;
}

function moveIn(menu: HTMLElement | null, event: KeyboardEvent): void {
  const shift = SHIFTS[event.key];
  if (menu === null || !menu.matches(':popover-open')) return;
  // The arrows of the table go from row to row.
  event.stopPropagation();
  if (shift === undefined) return;
  event.preventDefault();
  const items = [...menu.querySelectorAll('button')];
  const at = items.findIndex((item) => item === document.activeElement);
  items[(at + shift + items.length) % items.length]?.focus();
}
