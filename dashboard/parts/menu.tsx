/** A button that opens a menu. */
import { useSignal, type ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { IconButton } from './controls.tsx';
import { Icon, type IconName } from './icons.tsx';

/** What can be chosen in a menu. */
export type MenuItem = {
  readonly label: string;
  readonly icon: IconName;
  readonly act: () => void;
  readonly isDisabled?: boolean;
};

/** Keys that go up and down a menu. */
const SHIFTS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };
const GAP_PX = 4;

/** The menu is drawn when it is opened. `items` is asked then. */
export function MenuButton(props: {
  /** What the button and the menu are called for a screen reader. */
  readonly label: string;
  readonly title?: string;
  readonly icon?: IconName;
  readonly class?: string;
  readonly disabled?: boolean;
  readonly items: () => readonly MenuItem[];
}): JSX.Element {
  const id = useId();
  const isOpen = useSignal(false);
  const menu = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLSpanElement>(null);
  useOpening(isOpen, menu, button);
  return (
    <span
      ref={button}
      class={`menu-button ${props.class ?? ''}`}
      onKeyDown={(event) => moveIn(menu.current, event)}
    >
      <IconButton
        icon={props.icon ?? 'more'}
        label={props.label}
        title={props.title}
        aria-haspopup="menu"
        aria-expanded={isOpen.value}
        disabled={props.disabled}
        popovertarget={id}
      />
      <div
        ref={menu}
        id={id}
        class="menu floating"
        popover="auto"
        role="menu"
        aria-label={props.label}
        onToggle={(event) => {
          isOpen.value = event.newState === 'open';
        }}
      >
        {isOpen.value &&
          props
            .items()
            .map((item) => (
              <Item key={item.label} item={item} close={() => menu.current?.hidePopover()} />
            ))}
      </div>
    </span>
  );
}

function Item(props: { readonly item: MenuItem; readonly close: () => void }): JSX.Element {
  const { label, icon, act, isDisabled = false } = props.item;
  return (
    <button
      type="button"
      role="menuitem"
      disabled={isDisabled}
      onClick={() => {
        props.close();
        act();
      }}
    >
      <Icon name={icon} /> {label}
    </button>
  );
}

/** Puts an open menu beside its button, with the focus on its first item, and closes it when the page is scrolled. */
function useOpening(
  isOpen: ReadonlySignal<boolean>,
  menu: { readonly current: HTMLElement | null },
  button: { readonly current: HTMLElement | null },
): void {
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
  const items = [...menu.querySelectorAll<HTMLButtonElement>('button:not(:disabled)')];
  const at = items.findIndex((item) => item === document.activeElement);
  items[(at + shift + items.length) % items.length]?.focus();
}
