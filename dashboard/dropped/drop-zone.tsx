/** The whole page takes files that are dropped on it. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { Icon } from '../parts/icons.tsx';
import { nextTurn } from '../parts/turns.ts';
import { dropFiles } from './dropped-files.ts';
import { pickedFiles, takeDrop, walkEntries } from './entries.ts';
import { t } from '../parts/t.ts';

/** Listens for drags, and says where to drop while one is over the page. */
export function DropZone(): JSX.Element | null {
  const isOver = useSignal(false);
  useEffect(() => {
    // Every element that is entered and left on the way tells of it: the page is left when all of them are.
    let depth = 0;
    const onEnter = (event: DragEvent): void => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      depth += 1;
      isOver.value = true;
    };
    const onLeave = (event: DragEvent): void => {
      if (!hasFiles(event)) return;
      depth = Math.max(0, depth - 1);
      if (depth === 0) isOver.value = false;
    };
    const onOver = (event: DragEvent): void => {
      if (!hasFiles(event) || event.dataTransfer === null) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = 'copy';
    };
    const onDrop = (event: DragEvent): void => {
      depth = 0;
      isOver.value = false;
      if (!hasFiles(event) || event.dataTransfer === null) return;
      event.preventDefault();
      const { entries, files } = takeDrop(event.dataTransfer);
      if (entries.length + files.length === 0) return;
      void dropFiles(async () => {
        const walked = await walkEntries(entries, nextTurn);
        const picked = pickedFiles(files);
        return {
          files: [...walked.files, ...picked.files],
          problems: [...walked.problems, ...picked.problems],
        };
      });
    };
    const listening = new AbortController();
    const { signal } = listening;
    addEventListener('dragenter', onEnter, { signal });
    addEventListener('dragleave', onLeave, { signal });
    addEventListener('dragover', onOver, { signal });
    addEventListener('drop', onDrop, { signal });
    return () => listening.abort();
  }, []);
  if (!isOver.value) return null;
  return (
    <div class="drop-zone" aria-hidden="true">
      <div class="drop-words muted">
        <Icon name="open" />
        <strong>{t('Drop training logs')}</strong>
        <span>{t('They are read on this machine and sent nowhere.')}</span>
      </div>
    </div>
  );
}

function hasFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes('Files') === true;
}
