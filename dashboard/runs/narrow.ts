/** Whether the window is so narrow that runs are cards. */
import { signal, type ReadonlySignal } from '@preact/signals';

const narrowQuery = matchMedia('(width <= 760px)');
const isNarrowNow = signal(narrowQuery.matches);
narrowQuery.addEventListener('change', ({ matches }) => {
  isNarrowNow.value = matches;
});

/** See the top of this file. */
export const isNarrow: ReadonlySignal<boolean> = isNarrowNow;
