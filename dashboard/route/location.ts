/** The address as a signal. */
import { signal, type Signal } from '@preact/signals';
import { parseRoute, type PageRoute } from './route.ts';

/** The page that the address names now. */
export const route: Signal<PageRoute> = signal(parseRoute(location.hash));

/** Follows the address from now on. */
export function followLocation(): void {
  addEventListener('hashchange', () => {
    route.value = parseRoute(location.hash);
  });
}
