/** The "Media" tab: images, tables, texts, sound, curves, distributions, embeddings and models of the run. */
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { loadSoundInWorker, loadTableInWorker } from '../../dropped/analysis.ts';
import { readLargeMediaWith } from '../../media/content.ts';
import { MediaGallery } from '../../media/gallery/gallery.tsx';
import type { TabProps } from '../feed/tab.ts';

readLargeMediaWith({ table: loadTableInWorker, audio: loadSoundInWorker });

/** The media of the run. */
export default function MediaView({ feed, watch }: TabProps): JSX.Element {
  void watch.nowMs.value;
  const { id, name, projectName } = feed.run;
  const targets = useMemo(
    () => [{ runId: id, name: name ?? projectName }],
    [id, name, projectName],
  );
  return <MediaGallery store={feed.reader.store} targets={targets} isLive={feed.isLive} />;
}
