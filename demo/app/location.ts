/** The page's place as a signal, and its settings given in the address. */
import { signal, type Signal } from '@preact/signals';
import { parseRoute, type Route } from './route.ts';

/** Where the page is now. */
export const route: Signal<Route> = signal(parseRoute(location.hash));

/** Follows the address from now on. */
export function followLocation(): void {
  addEventListener('hashchange', () => {
    route.value = parseRoute(location.hash);
  });
}

/**
 * A positive whole number from the part of the address after `?`, before `#`: `?leaseTtlMs=2000`. Undefined when it is
 * not there or not such a number.
 */
export function numberSetting(name: string, search: string = location.search): number | undefined {
  const text = new URLSearchParams(search).get(name);
  if (text === null || !/^\d{1,9}$/.test(text)) return undefined;
  const value = Number(text);
  return value > 0 ? value : undefined;
}
