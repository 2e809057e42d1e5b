/** The menu of the ways to save what is shown. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks';
import { IconButton } from '../../parts/controls.tsx';
import { t } from '../../parts/t.ts';

/** One way to save something. */
export type SaveWay = {
  /** As on a button: `PNG`. */
  readonly label: string;
  /** What it gives, in a few words. */
  readonly hint: string;
  readonly save: () => void | Promise<void>;
};

const GAP_PX = 4;
/** How long it is said what was saved. */
const SAID_MS = 2500;

/** A button that opens a menu. What could not be saved is said there. `name` is what is saved, `ways` is asked when the menu opens. */
export function SaveMenu(props: {
  readonly name: string;
  readonly ways: () => readonly SaveWay[];
}): JSX.Element {
  const id = useId();
  const isOpen = useSignal(false);
  const said = useSignal('');
  const frame = useRef<HTMLSpanElement>(null);
  const menu = useRef<HTMLDivElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useLayoutEffect(() => {
    const { current } = menu;
    if (!isOpen.value || current === null || frame.current === null) return;
    putBelow(current, frame.current.getBoundingClientRect());
    current.querySelector('button')?.focus({ preventScroll: true });
  }, [isOpen.value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const run = async ({ label, save }: SaveWay): Promise<void> => {
    menu.current?.hidePopover();
    try {
      await save();
      said.value = t('Done: {what}', { what: label });
    } catch {
      said.value = t('This browser could not do it: {what}', { what: label });
    }
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      said.value = '';
    }, SAID_MS);
  };
  return (
    <span ref={frame} class="save-menu-button" onKeyDown={(event) => moveIn(menu.current, event)}>
      <span class="quiet save-said" role="status">
        {said.value}
      </span>
      <IconButton
        icon="save"
        label={t('Save {name}', { name: props.name })}
        title={t('Save as a picture or a table, or copy the link')}
        aria-haspopup="menu"
        aria-expanded={isOpen.value}
        popovertarget={id}
      />
      <div
        ref={menu}
        id={id}
        class="save-menu floating"
        popover="auto"
        role="menu"
        aria-label={t('Save {name}', { name: props.name })}
        onToggle={(event) => {
          isOpen.value = event.newState === 'open';
        }}
      >
        {isOpen.value && <Items ways={props.ways()} onChoose={(way) => void run(way)} />}
      </div>
    </span>
  );
}

function Items(props: {
  readonly ways: readonly SaveWay[];
  readonly onChoose: (way: SaveWay) => void;
}): JSX.Element {
  return (
    <>
      {props.ways.map((way) => (
        <button key={way.label} type="button" role="menuitem" onClick={() => props.onChoose(way)}>
          <span>{way.label}</span>
          <span class="quiet">{way.hint}</span>
        </button>
      ))}
    </>
  );
}

/** Copies a text, such as an address. */
export async function copyText(text: string): Promise<void> {
  await navigator.clipboard.writeText(text);
}

function putBelow(menu: HTMLElement, { top, bottom, right }: DOMRect): void {
  const below = bottom + GAP_PX;
  const isLow = below + menu.offsetHeight > innerHeight;
  menu.style.top = `${isLow ? Math.max(0, top - GAP_PX - menu.offsetHeight) : below}px`;
  menu.style.left = `${Math.max(GAP_PX, right - menu.offsetWidth)}px`;
}

const SHIFTS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

function moveIn(menu: HTMLElement | null, event: KeyboardEvent): void {
  const shift = SHIFTS[event.key];
  if (menu === null || shift === undefined || !menu.matches(':popover-open')) return;
  event.preventDefault();
  event.stopPropagation();
  const items = [...menu.querySelectorAll('button')];
  const at = items.findIndex((item) => item === document.activeElement);
  items[(at + shift + items.length) % items.length]?.focus();
}
