/** Asks before a run is deleted that goes on, and says what happens to it. */
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Button } from '../parts/controls.tsx';
import { t, tn } from '../parts/t.ts';
import { askedToDelete, deleteRuns } from './run-acts.ts';
import './style.css';

/** Nothing while nobody is asked. */
export function DeleteQuestion(): JSX.Element | null {
  const dialog = useRef<HTMLDialogElement>(null);
  const asked = askedToDelete.value;
  useEffect(() => {
    if (asked !== undefined) dialog.current?.showModal();
  }, [asked]);
  if (asked === undefined) return null;
  const { targets, liveCount } = asked;
  const [first] = targets;
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
        {targets.length === 1
          ? t('Delete {name} while it goes on?', { name: first?.name ?? '' })
          : tn(
              liveCount,
              'Delete {total} runs, of which {count} goes on?',
              'Delete {total} runs, of which {count} go on?',
              { total: targets.length },
            )}
      </h2>
      <p id="question-text" class="muted">
        {t(
          'It is being recorded at this moment. Training goes on, but nothing more is stored of a deleted run. Once it is restored, its session stores what it has buffered; what found no room in its buffers is lost.',
        )}
      </p>
      <div class="row wrap gap-10 question-answers">
        {/* The first one has the focus. */}
        <Button onClick={close}>{t('Cancel')}</Button>
        <Button
          class="button-bad"
          onClick={() => {
            close();
            void deleteRuns(targets);
          }}
        >
          {t('Delete')}
        </Button>
      </div>
    </dialog>
  );
}
