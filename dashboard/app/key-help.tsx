/** The keys of the page that is shown. */
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { pageActions, type PageAction } from '../parts/actions.ts';
import { Button } from '../parts/controls.tsx';
import { getOrMake } from '../parts/maps.ts';
import { t } from '../parts/t.ts';
import { keyWords } from './key-words.ts';

/** The list, open from the start. */
export default function KeyHelp(props: { readonly onClose: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const sections = new Map<string, PageAction[]>();
  for (const action of pageActions.value)
    if (action.keys !== undefined) getOrMake(sections, action.section, () => []).push(action);
  return (
    <dialog
      ref={dialog}
      class="key-help floating"
      aria-labelledby="key-help-title"
      onClose={props.onClose}
    >
      <div class="row gap-10">
        <h2 id="key-help-title" class="grow">
          {t('Keys')}
        </h2>
        <Button isSmall onClick={() => dialog.current?.close()}>
          {t('Close')}
        </Button>
      </div>
      {[...sections].map(([section, actions]) => (
        <section key={section}>
          <h3>{section}</h3>
          <dl>
            {actions.map((action) => (
              <div key={action.id} class="row gap-10">
                <dt class="grow">{action.title}</dt>
                <dd>
                  <kbd>{keyWords(action.keys ?? '')}</kbd>
                </dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </dialog>
  );
}
