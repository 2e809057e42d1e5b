/**
 * Spans of the library's own work, for profilers that are open: loading, analysis, export. Where none is, a span costs the size of an
 * empty set. It is here so that every room can open one, and none of them has to know what a profiler is.
 */

/** The span in which kernels are loaded. The names of all other steps are in `profile-steps.ts`, which a page that records does not need. */
export const KERNEL_START = 'Kernel Start';

/** Ends a span; `hasFailed` says that its work threw. */
export type SpanEnd = (hasFailed: boolean) => void;

/** The part of TensorFlow.js that tells how much memory its tensors have. */
export type TensorSource = {
  memory(): {
    readonly numTensors: number;
    readonly numBytes: number;
    readonly numBytesInGPU?: number;
  };
};

/** Is told of spans. */
export interface SpanListener {
  /** A span begins. Undefined where the listener does not want this one. */
  open(name: string, runId: string | undefined): SpanEnd | undefined;
  /** A run is trained with this framework. */
  tensors(source: TensorSource, runId: string): void;
}

const listeners = new Set<SpanListener>();

/** Calls back with each span that begins; returns the undo. */
export function onSpan(listener: SpanListener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Whether a profiler is open. */
export function isObserved(): boolean {
  return listeners.size > 0;
}

/** Tells the listeners of a run which framework it is trained with. */
export function offerTensors(source: TensorSource, runId: string): void {
  for (const listener of listeners) listener.tensors(source, runId);
}

/** Opens a span, of a run or of the process. Undefined where nobody is interested. */
export function openSpan(name: string, runId?: string): SpanEnd | undefined {
  if (listeners.size === 0) return undefined;
  const ends = [...listeners].flatMap((listener) => listener.open(name, runId) ?? []);
  if (ends.length === 0) return undefined;
  return (hasFailed) => {
    for (const end of ends) end(hasFailed);
  };
}

/** Does asynchronous work in a span. */
export async function inSpan<T>(name: string, work: () => Promise<T>): Promise<T> {
  const end = openSpan(name);
  if (end === undefined) return work();
  let hasFailed = true;
  try {
    const result = await work();
    hasFailed = false;
    return result;
  } finally {
    end(hasFailed);
  }
}

/** Passes on what a generator makes, in a span from the first item asked for to the end. */
export async function* inSpanOf<T>(
  name: string,
  items: AsyncGenerator<T, void, undefined>,
): AsyncGenerator<T, void, undefined> {
  const end = openSpan(name);
  let hasFailed = false;
  try {
    yield* items;
  } catch (error) {
    hasFailed = true;
    throw error;
  } finally {
    end?.(hasFailed);
  }
}
