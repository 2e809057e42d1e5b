/** Memory and network of a page or worker, as far as its browser tells. */
import type { Meter } from './process-meter.ts';

/** Interfaces that only some browsers have, and TypeScript's library therefore has not. */
type PageScope = {
  readonly crossOriginIsolated?: boolean;
  readonly performance: {
    now(): number;
    readonly memory?: { readonly usedJSHeapSize: number };
    getEntriesByType?(type: 'resource'): readonly PerformanceEntry[];
    measureUserAgentSpecificMemory?(): Promise<{ readonly bytes: number }>;
  };
};

/** Measures the page that this runs in. */
export function meterPage(scope: object = globalThis): Meter {
  const { performance } = scope as PageScope; // interfaces of some browsers, each tested for before it is used
  let received = 0;
  const hasResources =
    typeof PerformanceObserver === 'function' &&
    PerformanceObserver.supportedEntryTypes.includes('resource');
  const add = (entries: readonly PerformanceEntry[]): void => {
    for (const entry of entries) {
      const size: unknown = Reflect.get(entry, 'transferSize');
      if (typeof size === 'number') received += size;
    }
  };
  const observer = hasResources
    ? new PerformanceObserver((list) => add(list.getEntries()))
    : undefined;
  observer?.observe({ type: 'resource' });
  return {
    read() {
      // What the browser has noted and not yet told.
      add(observer?.takeRecords() ?? []);
      const values: Record<string, number> = {};
      const heap = performance.memory?.usedJSHeapSize;
      if (heap !== undefined) values['heap_bytes'] = heap;
      if (hasResources) values['network_bytes'] = received;
      return { values, peakSource: null };
    },
    close: () => observer?.disconnect(),
  };
}

/**
 * The memory of the page with its workers and frames, which the browser measures after a garbage collection: that may take a minute.
 * Undefined where the browser does not offer it, or the page is not isolated from other origins.
 */
export function pageMemory(scope: object = globalThis): (() => Promise<number>) | undefined {
  const { crossOriginIsolated, performance } = scope as PageScope; // see above
  if (crossOriginIsolated !== true || performance.measureUserAgentSpecificMemory === undefined)
    return undefined;
  return async () => (await performance.measureUserAgentSpecificMemory?.())?.bytes ?? Number.NaN;
}
