/** Asks before a run is deleted that goes on, and says what happens to it. */
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Button } from '../parts/controls.tsx';
import { askedToDelete, actOnRun } from './run-changes.ts';
import './style.css';

/** Nothing while nobody is asked. */
export function DeleteQuestion(): JSX.Element | null {
  const dialog = useRef<HTMLDialogElement>(null);
  const target = askedToDelete.value;
  useEffect(() => {
    if (target !== undefined) dialog.current?.showModal();
  }, [target]);
  if (target === undefined) return null;
  const close = (): void => dialog.current?.close();
  return (
    <dialog
      ref={dialog}
      class="question floating"
      aria-labelledby="question-title"
      aria-describedby="question-text"
      onClose={() => {
        askedToDelete.value = undefined;
      }}
    >
      <h2 id="question-title" class="breakable">
        Delete {target.name} while it goes on?
      </h2>
      <p id="question-text" class="muted">
        It is being recorded at this moment. Training goes on, but nothing more is stored of a
        deleted run. Once it is restored, its session stores what it has buffered; what found no
        room in its buffers is lost.
      </p>
      <div class="row wrap gap-10 question-answers">
        {/* The first one has the focus. */}
        <Button onClick={close}>Cancel</Button>
        <Button
          class="button-bad"
          onClick={() => {
            close();
            void actOnRun('delete', target);
          }}
        >
          Delete
        </Button>
      </div>
    </dialog>
  );
}
