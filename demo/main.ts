/** Starts the page: the dashboard, and the page that trains. */
import { computed } from '@preact/signals';
import { startPage } from '../dashboard/start.tsx';
import { isDemoRun } from './train/demo-run.ts';
import { isTraining, training } from './train/training-state.ts';

startPage({
  isTraining: computed(() => isTraining(training.value)),
  canResume: isDemoRun,
  load: () => import('./train/train-page.tsx'),
});
