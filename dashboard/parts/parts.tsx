/** Pieces that several views use. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { ShownStatus } from './run-filter.ts';
import { Icon } from './icons.tsx';

const STATUS_LABELS: Readonly<Record<ShownStatus | 'importing', string>> = {
  importing: 'Importing',
  live: 'Live',
  completed: 'Completed',
  failed: 'Failed',
  interrupted: 'Interrupted',
};

/** What a status is called. */
export function statusLabel(status: ShownStatus): string {
  return STATUS_LABELS[status];
}

/** How a run stands, as a word with a coloured dot. */
export function StatusChip({
  status,
}: {
  readonly status: ShownStatus | 'importing';
}): JSX.Element {
  return (
    <span class={`status status-${status}`} data-status={status}>
      <span class="status-dot" aria-hidden="true" />
      {STATUS_LABELS[status]}
    </span>
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
    timer.current = setTimeout(() => {
      isCopied.value = false;
    }, COPIED_MS);
  };
  return (
    <button
      type="button"
      class={props.children === undefined ? 'icon-button' : 'copy-text'}
      title={props.label}
      aria-label={isCopied.value ? 'Copied' : props.label}
      onClick={() => {
        copy().catch(() => {
          // A page without the right to the clipboard: the text is on screen and can be selected.
        });
      }}
    >
      {props.children}
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

/** Something went wrong, in words, with a way to try again. */
export function ErrorNotice(props: {
  readonly title: string;
  readonly error: unknown;
  readonly onRetry?: () => void;
  readonly children?: ComponentChildren;
}): JSX.Element {
  return (
    <section class="notice notice-error" role="alert">
      <span class="notice-icon">
        <Icon name="warning" />
      </span>
      <div>
        <h2>{props.title}</h2>
        <p>{textOf(props.error)}</p>
        <div class="notice-actions">
          {props.onRetry !== undefined && (
            <button type="button" class="button" onClick={props.onRetry}>
              Try again
            </button>
          )}
          {props.children}
        </div>
      </div>
    </section>
  );
}

/** The words of anything that was thrown. */
export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
