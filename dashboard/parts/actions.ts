/** What a reader can do on the page that is shown: the list behind the command palette, the keys and the help on keys. */
import { computed, signal, type ReadonlySignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

/** One action. */
export type PageAction = {
  /** Unique on the page: `runs.archive`. */
  readonly id: string;
  /** What it does, as on a button, in the reader's language. */
  readonly title: string;
  /** The group in the palette: the view it belongs to. */
  readonly section: string;
  /** `ctrl+k` (on a Mac also the command key), `shift+a`, `/`, `?`, `j`; undefined where the palette alone runs it. */
  readonly keys?: string;
  readonly run: () => void;
};

const groups = signal<readonly (() => readonly PageAction[])[]>([]);

/** All actions of the components that are shown, the latest component first. */
export const pageActions: ReadonlySignal<readonly PageAction[]> = computed(() =>
  groups.value.toReversed().flatMap((group) => group()),
);

/**
 * Offers actions for as long as the component is there.
 *
 * @param list is asked whenever the actions are needed, and may read signals
 * @example useActions(() => [{ id: 'runs.reload', title: t('Read again'), section: t('Runs'), keys: 'r', run: reload }]);
 */
export function useActions(list: () => readonly PageAction[]): void {
  const latest = useRef(list);
  latest.current = list;
  useEffect(() => {
    const group = (): readonly PageAction[] => latest.current();
    groups.value = [...groups.peek(), group];
    return () => {
      groups.value = groups.peek().filter((other) => other !== group);
    };
  }, []);
}

/** Runs the action of a pressed key. Keys without a modifier belong to the field that somebody types in. */
export function followKeys(): void {
  addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    const keys = pressedKeys(event);
    // Undo of what is typed belongs to the field as well.
    if ((!keys.startsWith('ctrl+') || keys === 'ctrl+z') && isTyping(event.target)) return;
    const action = pageActions.peek().find((each) => each.keys === keys);
    if (action === undefined) return;
    event.preventDefault();
    action.run();
  });
}

/** What was pressed, as `PageAction.keys` writes it. */
export function pressedKeys(event: KeyboardEvent): string {
  const { key } = event;
  const isLetter = /^\p{L}$/u.test(key);
  const name = isLetter ? key.toLowerCase() : key === ' ' ? 'space' : key.toLowerCase();
  const shift = event.shiftKey && (isLetter || key.length > 1) ? 'shift+' : '';
  const alt = event.altKey ? 'alt+' : '';
  return `${event.ctrlKey || event.metaKey ? 'ctrl+' : ''}${alt}${shift}${name}`;
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.matches('input:not([type=checkbox]), textarea, select');
}
