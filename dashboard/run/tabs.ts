/** The tabs of a run's page: a line here and a folder beside this file each. */
import { hasArtifacts, hasMedia } from '../media/presence.ts';
import type { RunTab } from './feed/tab.ts';
import { t } from '../parts/t.ts';
import { MetricsView } from './metrics/view.tsx';

/** In the order in which they are shown. The first is the one of an address that names none. */
export const RUN_TABS: readonly [RunTab, ...RunTab[]] = [
  { id: 'metrics', title: () => t('Metrics'), view: MetricsView },
  { id: 'analysis', title: () => t('Analysis'), load: () => import('./analysis/view.tsx') },
  { id: 'layers', title: () => t('Layers'), load: () => import('./layers/view.tsx') },
  { id: 'machine', title: () => t('Machine'), load: () => import('./machine/view.tsx') },
  { id: 'console', title: () => t('Console'), load: () => import('./console/view.tsx') },
  { id: 'code', title: () => t('Code'), load: () => import('./code/view.tsx') },
  {
    id: 'media',
    title: () => t('Media'),
    load: () => import('./media/view.tsx'),
    isOffered: hasMedia,
  },
  {
    id: 'artifacts',
    title: () => t('Artifacts'),
    load: () => import('./artifacts/view.tsx'),
    isOffered: hasArtifacts,
  },
  { id: 'batches', title: () => t('Batches'), load: () => import('./batches/view.tsx') },
];
