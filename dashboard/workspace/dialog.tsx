/** A dialog over the page, which is there only while it is open. */
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { IconButton } from '../parts/controls.tsx';
import { t } from '../parts/t.ts';

/** Closes by its button, Escape, and a click beside it. */
export function PageDialog(props: {
  readonly title: string;
  readonly class?: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const close = (): void => dialog.current?.close();
  return (
    <dialog
      ref={dialog}
      class={`workspace-dialog floating ${props.class ?? ''}`}
      aria-label={props.title}
      onClose={props.onClose}
      onClick={(event) => {
        if (event.target === dialog.current) close();
      }}
    >
      <header class="row gap-8">
        <h2 class="ellipsis" title={props.title}>
          {props.title}
        </h2>
        <IconButton class="push" icon="close" label={t('Close')} onClick={close} />
      </header>
      {props.children}
    </dialog>
  );
}
