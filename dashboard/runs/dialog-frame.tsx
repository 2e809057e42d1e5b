/** The frame of a dialog over the list. */
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/** A dialog with a title, which Escape closes. */
export function DialogFrame(props: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      class="question floating list-dialog"
      aria-labelledby="list-dialog-title"
      onClose={props.onClose}
    >
      <h2 id="list-dialog-title" class="breakable">
        {props.title}
      </h2>
      {props.children}
    </dialog>
  );
}
