/** The ways to open files without a mouse: buttons for files and for a folder. */
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { Icon } from '../parts/icons.tsx';
import { dropFiles } from './dropped-files.ts';
import { pickedFiles } from './entries.ts';

/** Buttons that ask for files or a folder and import what is picked. */
export function FilePickers(props: { readonly isSmall?: boolean }): JSX.Element {
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  const take = (input: HTMLInputElement): void => {
    const picked = [...(input.files ?? [])];
    // The same file picked again is another event only when nothing is picked now.
    input.value = '';
    if (picked.length > 0) void dropFiles(async () => pickedFiles(picked));
  };
  const button = props.isSmall === true ? 'button button-small' : 'button';
  return (
    <span class="pickers">
      <button type="button" class={button} onClick={() => files.current?.click()}>
        <Icon name="open" /> Open files
      </button>
      <button type="button" class={button} onClick={() => folder.current?.click()}>
        Open a folder
      </button>
      <input
        ref={files}
        type="file"
        multiple
        hidden
        data-picks="files"
        onChange={(event) => take(event.currentTarget)}
      />
      <input
        ref={folder}
        type="file"
        hidden
        data-picks="folder"
        {...{ webkitdirectory: true }}
        onChange={(event) => take(event.currentTarget)}
      />
    </span>
  );
}
