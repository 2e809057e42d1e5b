/** Buttons and choices. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren, ComponentProps, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Icon, type IconName } from './icons.tsx';
import { setting } from './signals.ts';
import { t } from './t.ts';

type Looks = {
  readonly isSmall?: boolean | undefined;
  readonly isPrimary?: boolean | undefined;
  /** More classes. */
  readonly class?: string | undefined;
};

/** A button with words. */
export function Button({
  isSmall,
  isPrimary,
  class: more,
  ...rest
}: ComponentProps<'button'> & Looks): JSX.Element {
  return <button type="button" {...rest} class={classOf({ isSmall, isPrimary, class: more })} />;
}

/** A link that looks like a {@link Button}. */
export function ButtonLink({
  isSmall,
  isPrimary,
  class: more,
  ...rest
}: ComponentProps<'a'> & Looks): JSX.Element {
  return <a {...rest} class={classOf({ isSmall, isPrimary, class: more })} />;
}

function classOf({ isSmall, isPrimary, class: more }: Looks): string {
  return ['button', isSmall && 'button-small', isPrimary && 'button-primary', more]
    .filter(Boolean)
    .join(' ');
}

/** A button that is a drawing; `label` is its name for a screen reader. */
export function IconButton({
  icon,
  label,
  class: more = '',
  ...rest
}: ComponentProps<'button'> & {
  readonly icon: IconName;
  readonly label: string;
  readonly class?: string;
}): JSX.Element {
  return (
    <button type="button" {...rest} class={`icon-button ${more}`} aria-label={label}>
      <Icon name={icon} />
    </button>
  );
}

/** A choice that is on or off, one of several beside each other. */
export function Chip({
  isOn,
  count,
  class: more = '',
  children,
  ...rest
}: ComponentProps<'button'> & {
  readonly isOn: boolean;
  /** How many the choice is about. */
  readonly count?: string;
  readonly class?: string;
}): JSX.Element {
  return (
    <button type="button" {...rest} class={`chip ${more}`} aria-pressed={isOn}>
      {children}
      {count !== undefined && <span class="chip-count">{count}</span>}
    </button>
  );
}

const COPIED_MS = 1400;

/** Copies a text; says so for a moment. */
export function CopyButton(props: {
  readonly text: string;
  readonly label: string;
  readonly children?: ComponentChildren;
}): JSX.Element {
  const isCopied = useSignal(false);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(props.text);
    isCopied.value = true;
    clearTimeout(timer.current);
    timer.current = setTimeout(setting(isCopied, false), COPIED_MS);
  };
  const said = isCopied.value ? t('Copied') : props.label;
  return (
    <button
      type="button"
      class={props.children === undefined ? 'icon-button' : 'copy-text'}
      title={props.label}
      aria-label={props.children === undefined ? said : undefined}
      onClick={() => {
        copy().catch(() => {
          // A page without the right to the clipboard: the text is on screen and can be selected.
        });
      }}
    >
      {props.children}
      {props.children !== undefined && <span class="sr-only"> {said}</span>}
      <Icon name={isCopied.value ? 'check' : 'copy'} />
    </button>
  );
}

/** A choice of a few, as one bar of buttons. */
export function Segmented<T extends string>(props: {
  readonly label: string;
  readonly options: readonly {
    readonly value: T;
    readonly label: string;
    readonly hint?: string;
  }[];
  readonly value: T;
  readonly onChange: (value: T) => void;
}): JSX.Element {
  return (
    <div class="segmented" role="radiogroup" aria-label={props.label}>
      {props.options.map((option, index) => (
        <button
          key={option.value}
          type="button"
          role="radio"
          aria-checked={option.value === props.value}
          tabIndex={option.value === props.value ? 0 : -1}
          title={option.hint}
          onClick={() => props.onChange(option.value)}
          onKeyDown={(event) => {
            const shift = arrowShift(event.key);
            if (shift === 0) return;
            event.preventDefault();
            const count = props.options.length;
            const next = props.options[(index + shift + count) % count];
            if (next === undefined) return;
            props.onChange(next.value);
            const buttons = event.currentTarget.parentElement?.querySelectorAll('button');
            buttons?.[(index + shift + count) % count]?.focus();
          }}
        >
          {option.label}
        </button>
      ))}
    </div>
  );
}

function arrowShift(key: string): number {
  if (key === 'ArrowRight' || key === 'ArrowDown') return 1;
  return key === 'ArrowLeft' || key === 'ArrowUp' ? -1 : 0;
}
