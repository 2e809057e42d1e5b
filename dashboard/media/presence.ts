/** Whether a run has media and artifacts at all: what a page asks before it offers to show them. */
import type { RunReader } from 'quark-sdk';
import type { GalleryKind } from './media-feed.ts';

/** All kinds that the gallery shows; the code of media is not loaded to ask for them. */
export const OFFERED_KINDS: readonly GalleryKind[] = [
  'distribution',
  'image',
  'audio',
  'text',
  'table',
  'confusion_matrix',
  'pr_curve',
  'roc_curve',
  'embedding',
  'model',
  'histogram',
];

/** Whether the run has anything that the gallery shows. */
export async function hasMedia(run: Pick<RunReader, 'readArtifacts'>): Promise<boolean> {
  return (await run.readArtifacts({ artifactTypes: OFFERED_KINDS, limit: 1 })).length > 0;
}

/** Whether the run has any artifact. */
export async function hasArtifacts(run: Pick<RunReader, 'readArtifacts'>): Promise<boolean> {
  return (await run.readArtifacts({ limit: 1 })).length > 0;
}
