/** The tabs of a run's page: a line here and a folder beside this file each. */
import { hasArtifacts, hasMedia } from '../media/presence.ts';
import type { RunTab } from './feed/tab.ts';
import { MetricsView } from './metrics/view.tsx';

/** In the order in which they are shown. The first is the one of an address that names none. */
export const RUN_TABS: readonly [RunTab, ...RunTab[]] = [
  { id: 'metrics', title: 'Metrics', view: MetricsView },
  { id: 'analysis', title: 'Analysis', load: () => import('./analysis/view.tsx') },
  { id: 'layers', title: 'Layers', load: () => import('./layers/view.tsx') },
  { id: 'machine', title: 'Machine', load: () => import('./machine/view.tsx') },
  { id: 'console', title: 'Console', load: () => import('./console/view.tsx') },
  { id: 'code', title: 'Code', load: () => import('./code/view.tsx') },
  {
    id: 'media',
    title: 'Media',
    load: () => import('./media/view.tsx'),
    isOffered: hasMedia,
  },
  {
    id: 'artifacts',
    title: 'Artifacts',
    load: () => import('./artifacts/view.tsx'),
    isOffered: hasArtifacts,
  },
  { id: 'batches', title: 'Batches', load: () => import('./batches/view.tsx') },
];
