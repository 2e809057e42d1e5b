/** The "Artifacts" tab: everything of the run that is no number, with previews and downloads. */
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { ArtifactBrowser } from '../../media/artifact/artifacts.tsx';
import type { TabProps } from '../feed/tab.ts';

/** The artifacts of the run. */
export default function ArtifactsView({ feed, watch }: TabProps): JSX.Element {
  void watch.nowMs.value;
  const { reader, run } = feed;
  const source = useMemo(() => ({ store: reader.store, runId: run.id }), [reader.store, run.id]);
  return <ArtifactBrowser source={source} isLive={feed.isLive} />;
}
