/** A field in which the name of a run is changed. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { t } from '../parts/t.ts';

/** Names of runs are not longer. */
const MAX_NAME_CHARS = 200;

/** `onDone` has what was typed, or undefined when the field was left by Escape. */
export function NameField(props: {
  readonly name: string;
  readonly onDone: (name: string | undefined) => void;
}): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  const text = useSignal(props.name);
  const isDone = useRef(false);
  useLayoutEffect(() => {
    input.current?.focus();
    input.current?.select();
  }, []);
  const end = (name: string | undefined): void => {
    // Removing the field takes its focus, which would end it once more.
    if (isDone.current) return;
    isDone.current = true;
    props.onDone(name);
  };
  return (
    <input
      ref={input}
      class="input name-field"
      aria-label={t('Name of the run')}
      maxLength={MAX_NAME_CHARS}
      value={text.value}
      onInput={(event) => {
        text.value = event.currentTarget.value;
      }}
      onBlur={() => end(text.peek())}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === 'Enter') end(text.peek());
        if (event.key === 'Escape') end(undefined);
      }}
    />
  );
}
