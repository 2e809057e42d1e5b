/** The media of compared runs side by side: loaded when one of the runs has some. */
import type { JSX } from 'preact';
import { openRun, type Store } from 'quark-sdk';
import { loadSoundInWorker, loadTableInWorker } from '../dropped/analysis.ts';
import type { MediaTarget } from '../media/media-feed.ts';
import { hasMedia } from '../media/presence.ts';
import { usePromise } from '../parts/hooks.ts';
import { LazyView } from '../parts/lazy-view.tsx';
import { SectionHead } from '../parts/notices.tsx';
import { runNames } from '../parts/run-name.ts';
import { t } from '../parts/t.ts';
import { seriesColor } from '../theme/palette.ts';
import { styleOfRun } from './run-styles.ts';

/** Most runs whose media stand side by side. */
const MAX_BESIDE = 8;

type Found = { readonly targets: readonly MediaTarget[]; readonly isLive: boolean };

const loadGallery = async (): Promise<{
  readonly default: (typeof import('../media/gallery/gallery.tsx'))['MediaGallery'];
}> => {
  const [{ MediaGallery }, { readLargeMediaWith }] = await Promise.all([
    import('../media/gallery/gallery.tsx'),
    import('../media/content.ts'),
  ]);
  readLargeMediaWith({ table: loadTableInWorker, audio: loadSoundInWorker });
  return { default: MediaGallery };
};

/** The media of these runs, the first eight that have any; nothing where none has. */
export function ComparedMedia(props: {
  readonly store: Store;
  readonly runIds: readonly string[];
}): JSX.Element | null {
  const { runIds, store } = props;
  const { found } = usePromise(runIds.join(), () => findTargets(store, runIds));
  if (found === undefined || found.value.targets.length === 0) return null;
  const { isLive, targets } = found.value;
  return (
    <section aria-label={t('Media of the runs')}>
      <SectionHead title={t('Media')} />
      <LazyView load={loadGallery} of={{ store, targets, isLive }} />
    </section>
  );
}

async function findTargets(store: Store, runIds: readonly string[]): Promise<Found> {
  const opened = await Promise.allSettled(
    runIds.slice(0, 2 * MAX_BESIDE).map(async (runId) => {
      const reader = await openRun(store, runId);
      return (await hasMedia(reader)) ? reader : undefined;
    }),
  );
  // Runs that are not here are named by the page.
  const readers = opened
    .flatMap((one) => (one.status === 'fulfilled' && one.value !== undefined ? [one.value] : []))
    .slice(0, MAX_BESIDE);
  const names = runNames(readers.map(({ run }) => run));
  const targets = readers.map(({ run: { id } }) => ({
    runId: id,
    name: names.get(id) ?? id,
    color: seriesColor(styleOfRun(id).color),
  }));
  return { targets, isLive: readers.some(({ isLive }) => isLive) };
}
