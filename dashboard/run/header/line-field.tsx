/** A text of one line that is changed where it stands. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Button } from '../../parts/controls.tsx';
import { t } from '../../parts/t.ts';

/** A field with its text, to store or to leave. Escape leaves it as it was. */
export function LineField(props: {
  readonly label: string;
  readonly text: string;
  readonly placeholder?: string;
  readonly class?: string;
  readonly maxLength?: number;
  /** Called with the text without blanks at its ends, which may be empty. */
  readonly onDone: (text: string) => Promise<void>;
  readonly onCancel: () => void;
}): JSX.Element {
  const { label, onCancel, onDone } = props;
  const text = useSignal(props.text);
  const isBusy = useSignal(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    field.current?.focus();
    field.current?.select();
  }, []);
  return (
    <form
      class={`line-field row wrap gap-6 ${props.class ?? ''}`}
      onSubmit={(event) => {
        event.preventDefault();
        isBusy.value = true;
        void onDone(text.value.trim()).finally(() => {
          isBusy.value = false;
        });
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.stopPropagation();
        onCancel();
      }}
    >
      <input
        ref={field}
        class="input grow"
        aria-label={label}
        placeholder={props.placeholder}
        maxLength={props.maxLength ?? 512}
        dir="auto"
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
        }}
      />
      <Button isSmall isPrimary type="submit" disabled={isBusy.value}>
        {t('Save')}
      </Button>
      <Button isSmall onClick={onCancel}>
        {t('Cancel')}
      </Button>
    </form>
  );
}
