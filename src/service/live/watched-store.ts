/** A store that counts what it acknowledges and how it fails, and refuses what is beyond the limits of the service. */
import { isQuarkError } from '../../base/errors.ts';
import { answersAtOnce, wrapStore, type Around } from '../../store/front.ts';
import type { NewSegment, Store } from '../../store/store.ts';
import {
  checkNameLength,
  checkRunNames,
  checkUpload,
  type ServiceLimits,
} from '../limits/limits.ts';
import type { ServiceMetrics } from '../log/metrics.ts';

/** The store, watched. Closing it does not close the store below, which serves everybody else. */
export function watchStore(store: Store, metrics: ServiceMetrics, limits: ServiceLimits): Store {
  const watched = async <T>(call: () => T): Promise<Awaited<T>> => {
    try {
      return await call();
    } catch (error) {
      countFailure(metrics, error);
      throw error;
    }
  };
  const around: Around = (name, _args, call) => (answersAtOnce(name) ? call() : watched(call));
  return wrapStore(store, around, {
    ensureProject: (project) =>
      watched(() => {
        checkNameLength('project.name', project.name, limits);
        return store.ensureProject(project);
      }),
    createRun: (run) =>
      watched(() => {
        checkRunNames(run, limits);
        return store.createRun(run);
      }),
    updateRun: (run) =>
      watched(() => {
        checkRunNames(run, limits);
        return store.updateRun(run);
      }),
    appendSegments: (segments, seen, live) =>
      watched(async () => {
        checkUpload(segments, limits);
        const stored = await store.appendSegments(segments, seen, live);
        countAppended(metrics, segments);
        return stored;
      }),
    replaceSegments: (runId, table, remove, add) =>
      watched(() => {
        checkUpload(add, limits);
        return store.replaceSegments(runId, table, remove, add);
      }),
    replaceTable: (runId, table, add, seenCount) =>
      watched(async () => {
        checkUpload(add, limits);
        const stored = await store.replaceTable(runId, table, add, seenCount);
        countAppended(metrics, add);
        return stored;
      }),
    close: async () => undefined,
  });
}

function countAppended(metrics: ServiceMetrics, segments: readonly NewSegment[]): void {
  let rows = 0;
  let bytes = 0;
  for (const { manifest } of segments) {
    rows += manifest.rowCount;
    bytes += manifest.sizeBytes;
  }
  metrics.appended(segments.length, rows, bytes);
}

/** What a caller got wrong is no failure of the store. */
function countFailure(metrics: ServiceMetrics, error: unknown): void {
  if (!isQuarkError(error)) metrics.storeFailed('unexpected');
  else if (error.code === 'store_failed') {
    const reason = String(error.details['reason']);
    if (reason !== 'rejected' && reason !== 'too_large' && reason !== 'fenced')
      metrics.storeFailed(reason);
  }
}
