/** Asks for the key of a server that wants one. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Button } from '../parts/controls.tsx';
import { Icon } from '../parts/icons.tsx';
import { refusal, signIn } from '../sources/server-access.ts';
import { t } from '../parts/t.ts';

/** Shown instead of the runs. */
export function KeyForm(): JSX.Element {
  const text = useSignal('');
  const isBusy = useSignal(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const send = async (): Promise<void> => {
    isBusy.value = true;
    const isIn = await signIn(text.value);
    isBusy.value = false;
    if (!isIn) field.current?.select();
  };
  return (
    <section class="key-page column">
      <form
        class="key-form card"
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <span class="disc tone-accent">
          <Icon name="key" />
        </span>
        <h1>{t('This server asks for a key')}</h1>
        <p>
          {t('Give the user key that you were given, or make one where the server runs:')}{' '}
          <code>quark keys create NAME</code>
        </p>
        <label for="user-key">{t('User key')}</label>
        <div class="key-line row gap-10">
          {/* A password field, so that nobody reads along and the browser offers what it stores. */}
          <input
            id="user-key"
            class="input"
            ref={field}
            type="password"
            name="quark-user-key"
            autocomplete="current-password"
            spellcheck={false}
            placeholder="qk_..."
            value={text.value}
            aria-invalid={refusal.value !== undefined}
            aria-describedby="key-note"
            onInput={(event) => {
              text.value = event.currentTarget.value;
              refusal.value = undefined;
            }}
          />
          <Button isPrimary type="submit" disabled={isBusy.value || text.value.trim() === ''}>
            {isBusy.value ? t('Asking') : t('Open')}
          </Button>
        </div>
        <p id="key-note" role={refusal.value === undefined ? undefined : 'alert'}>
          {refusal.value ?? whereKept()}
        </p>
      </form>
    </section>
  );
}

function whereKept(): string {
  return t('It stays in this tab until you close it or sign out, and is sent to this server only.');
}
