/** Says on every page what was changed lately, with the way back. */
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Button, IconButton } from '../parts/controls.tsx';
import { Icon } from '../parts/icons.tsx';
import { t } from '../parts/t.ts';
import {
  changeNotice,
  dismissNotice,
  pauseNotice,
  resumeNotice,
  undoChanges,
} from './page-changes.ts';
import './style.css';

/** Empty while there is nothing to say. It is always there, so that a screen reader says what comes into it. */
export function ChangeStrip(): JSX.Element {
  const strip = useRef<HTMLElement>(null);
  const undo = useRef<HTMLDivElement>(null);
  const notice = changeNotice.value;
  const doneCount = notice?.done.length ?? 0;
  useEffect(() => {
    // Someone who works with keys goes on here: what they used may be gone with its row.
    if (doneCount > 0 && isWithoutFocus())
      undo.current?.querySelector('button')?.focus({ preventScroll: true });
  }, [doneCount]);
  const hadFocus = strip.current?.contains(document.activeElement) === true;
  useEffect(() => {
    if (notice === undefined && hadFocus && isWithoutFocus())
      document.getElementById('main')?.focus({ preventScroll: true });
  }, [notice]);
  return (
    <aside
      ref={strip}
      class={`change-strip floating${notice === undefined ? ' is-empty' : ''}`}
      aria-label={t('What was done')}
      onMouseEnter={pauseNotice}
      onMouseLeave={resumeNotice}
    >
      <div class="stack gap-5 grow">
        <span role="status" class="breakable">
          {notice !== undefined && notice.text !== '' && (
            <>
              {notice.text}
              {doneCount > 0 && '.'}
            </>
          )}
        </span>
        <span role="alert" class="medium is-bad breakable">
          {notice?.failure}
        </span>
      </div>
      {notice !== undefined && (
        <div ref={undo} class="row gap-6">
          {doneCount > 0 && (
            <Button isSmall onClick={() => void undoChanges()}>
              <Icon name="undo" /> {t('Undo')}
            </Button>
          )}
          <IconButton icon="close" label={t('Dismiss')} onClick={dismissNotice} />
        </div>
      )}
    </aside>
  );
}

/** Whether nothing has the focus, or something that was reached with keys. */
function isWithoutFocus(): boolean {
  const { activeElement } = document;
  return (
    activeElement === null ||
    activeElement === document.body ||
    activeElement.matches(':focus-visible')
  );
}
