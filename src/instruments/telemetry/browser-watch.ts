/** What a page can read of the machine: little, and differently in each browser. */
import {
  countOrNull,
  percentOf,
  type MachineReading,
  type MachineWatch,
  type MachineWatchOptions,
} from './machine.ts';

/** Interfaces that only some browsers have, and TypeScript's library therefore has not. */
type Battery = { readonly level: number; readonly charging: boolean };
type Extras = {
  readonly performance: Performance & {
    readonly memory?: { readonly usedJSHeapSize: number };
    measureUserAgentSpecificMemory?(): Promise<{ readonly bytes: number }>;
  };
  readonly navigator?: {
    getBattery?(): Promise<Battery>;
    readonly gpu?: {
      requestAdapter(): Promise<{
        readonly info?: {
          readonly vendor?: string;
          readonly architecture?: string;
          readonly description?: string;
        };
      } | null>;
    };
  };
};

/** Measuring the page's memory waits for a garbage collection. */
const PAGE_MEMORY_INTERVAL_MS = 30_000;

/** Watches the machine as far as a page or worker may. */
export function watchBrowser(options: MachineWatchOptions): MachineWatch {
  const scope = globalThis as unknown as Extras; // interfaces of some browsers, each tested for before it is used
  let battery: Battery | undefined;
  let gpuName: string | null = null;
  let pageMemoryBytes: number | null = null;
  const undo: (() => void)[] = [];
  let isOpen = true;
  let longTaskMs = 0;
  let longFrameMs = 0;
  let hasLongTasks = false;
  let hasLongFrames = false;
  if (options.captureCpu) {
    hasLongTasks = observe('longtask', (ms) => (longTaskMs += ms), undo);
    hasLongFrames = observe('long-animation-frame', (ms) => (longFrameMs += ms), undo);
    watchPageMemory(
      scope,
      () => isOpen,
      (bytes) => (pageMemoryBytes = bytes),
    );
    void scope.navigator
      ?.getBattery?.()
      .then((found) => (battery = found))
      .catch(ignore);
  }
  if (options.captureGpu) {
    void scope.navigator?.gpu
      ?.requestAdapter()
      .then((adapter) => {
        const { description, vendor, architecture } = adapter?.info ?? {};
        const name =
          description !== undefined && description !== ''
            ? description
            : [vendor, architecture].filter(Boolean).join(' ');
        if (name !== '') gpuName = name;
      })
      .catch(ignore);
  }
  return {
    read() {
      const result: Partial<MachineReading> = {
        heapUsedBytes: options.captureCpu
          ? countOrNull(scope.performance.memory?.usedJSHeapSize)
          : null,
        pageMemoryBytes,
        gpuName,
        batteryPercent: battery === undefined ? null : percentOf(battery.level, 1),
        isCharging: battery?.charging ?? null,
        longTaskMs: hasLongTasks ? longTaskMs : null,
        longFrameMs: hasLongFrames ? longFrameMs : null,
      };
      longTaskMs = 0;
      longFrameMs = 0;
      return result;
    },
    close() {
      isOpen = false;
      for (const end of undo.splice(0)) end();
    },
  };
}

/** Adds up the durations of a kind of performance entry; false where the browser does not know it. */
function observe(type: string, add: (ms: number) => void, undo: (() => void)[]): boolean {
  if (typeof PerformanceObserver !== 'function') return false;
  if (!PerformanceObserver.supportedEntryTypes.includes(type)) return false;
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) add(duration);
  });
  observer.observe({ type });
  undo.push(() => observer.disconnect());
  return true;
}

function watchPageMemory(
  scope: Extras,
  isOpen: () => boolean,
  keep: (bytes: number | null) => void,
): void {
  const { performance } = scope;
  // Without cross-origin isolation it would throw.
  if (performance.measureUserAgentSpecificMemory === undefined || !globalThis.crossOriginIsolated)
    return;
  const measure = async (): Promise<void> => {
    while (isOpen()) {
      const { bytes } = (await performance.measureUserAgentSpecificMemory?.()) ?? {
        bytes: Number.NaN,
      };
      if (!isOpen()) return;
      keep(countOrNull(bytes));
      await new Promise((resolve) => {
        setTimeout(resolve, PAGE_MEMORY_INTERVAL_MS);
      });
    }
  };
  void measure().catch(ignore);
}

/** Where a page forbids one of these, the field stays null. */
function ignore(): void {}
