/** Where a run may be that is not in the source that is read. */
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { openRun } from 'quark-sdk';
import { Button } from '../parts/controls.tsx';
import { t } from '../parts/t.ts';
import { chooseSource, source, sources, storeAt } from '../sources/sources.ts';

/** A run that is not in this source may be in another one: goes there if it is, else offers to look. */
export default function OtherSource({ runId }: { readonly runId: string }): JSX.Element {
  const others = sources.value.filter((one) => one.id !== source.value?.id);
  const uris = others.map(({ uri }) => uri).join(' ');
  useEffect(() => {
    let isCurrent = true;
    for (const other of others) {
      storeAt(other.uri)
        .then((store) => openRun(store, runId))
        .then(
          () => {
            if (isCurrent) chooseSource(other.id);
          },
          // Not there either, or the source cannot be read: the person may want to look all the same.
          () => undefined,
        );
    }
    return () => {
      isCurrent = false;
    };
  }, [uris, runId]);
  return (
    <>
      {others.map(({ id, label }) => (
        <Button key={id} onClick={() => chooseSource(id)}>
          {t('Look in: {source}', { source: label })}
        </Button>
      ))}
    </>
  );
}
