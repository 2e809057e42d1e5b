/** The ways to open files without a mouse: buttons for files and for a folder. */
import type { ComponentProps, JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { Button } from '../parts/controls.tsx';
import { Icon } from '../parts/icons.tsx';
import { dropFiles } from './dropped-files.ts';
import { pickedFiles } from './entries.ts';
import { t } from '../parts/t.ts';

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
  const isSmall = props.isSmall ?? false;
  const shared: ComponentProps<'input'> = {
    type: 'file',
    hidden: true,
    onChange: (event) => take(event.currentTarget),
  };
  return (
    <span class="pickers inline wrap gap-8">
      <Button isSmall={isSmall} onClick={() => files.current?.click()}>
        <Icon name="open" /> {t('Open files')}
      </Button>
      <Button isSmall={isSmall} onClick={() => folder.current?.click()}>
        {t('Open a folder')}
      </Button>
      <input ref={files} {...shared} multiple data-picks="files" />
      <input ref={folder} {...shared} data-picks="folder" {...{ webkitdirectory: true }} />
    </span>
  );
}
