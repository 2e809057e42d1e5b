/**
 * Spans of the library's own work, for profilers that are open: loading, analysis, export. Where none is, a span costs the size of an
 * empty set. It is here so that every room can open one, and none of them has to know what a profiler is.
 */

/** Ends a span; `hasFailed` says that its work threw. */
export type SpanEnd = (hasFailed: boolean) => void;

/** Is told of spans. Undefined where it does not want this one. */
export type SpanListener = (name: string, runId: string | undefined) => SpanEnd | undefined;

const listeners = new Set<SpanListener>();

/** Calls back with each span that begins; returns the undo. */
export function onSpan(listener: SpanListener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Opens a span, of a run or of the process. Undefined where nobody is interested. */
export function openSpan(name: string, runId?: string): SpanEnd | undefined {
  if (listeners.size === 0) return undefined;
  const ends = [...listeners].flatMap((listener) => listener(name, runId) ?? []);
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
