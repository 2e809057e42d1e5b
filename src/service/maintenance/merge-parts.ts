/**
 * Merging beside sketches: of a long run the segments of its sketch are merged apart from those that came later, and each merge names its
 * segments in the sketch, so that there is one at any time. What cannot be kept is made again by the reader that needs it.
 */
import { isQuarkError } from '../../base/errors.ts';
import { metricTable } from '../../records/metric.ts';
import { carrySketch } from '../../read/curve-sketch.ts';
import { refreshSketch, type CurveSource } from '../../read/curves.ts';
import type { SegmentManifest, Store } from '../../store/store.ts';

/** The store in the parts that a table of a run is to be merged in, one after the other. */
export async function mergeParts(
  store: Store,
  runId: string,
  table: string,
  source: Pick<CurveSource, 'signal' | 'sizes'> & { readonly onFailure: (error: unknown) => void },
): Promise<readonly Store[]> {
  const { notes } = store;
  if (notes === undefined || table !== metricTable.table) return [store];
  const tried = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (error) {
      if (!isQuarkError(error, 'aborted')) source.onFailure(error);
      return undefined;
    }
  };
  const sketch = await tried(() =>
    refreshSketch(store, runId, { ...source, notes, use: 'extend' }),
  );
  if (sketch === undefined) return [store];
  const { endSequence } = sketch;
  const replaceSegments: Store['replaceSegments'] = async (run, name, remove, add) => {
    const before = await store.listSegments({ runId: run, table: name });
    const isDone = await store.replaceSegments(run, name, remove, add);
    const manifests = add.map(({ manifest }) => manifest);
    if (isDone) await tried(() => carrySketch(notes, run, before, remove, manifests));
    return isDone;
  };
  return [
    partOf(store, ({ lastSequence }) => lastSequence < endSequence, replaceSegments),
    partOf(store, ({ firstSequence }) => firstSequence >= endSequence),
  ];
}

function partOf(
  store: Store,
  isIn: (segment: SegmentManifest) => boolean,
  replaceSegments: Store['replaceSegments'] = store.replaceSegments.bind(store),
): Store {
  const listSegments: Store['listSegments'] = async (filter) =>
    (await store.listSegments(filter)).filter(isIn);
  return new Proxy(store, {
    get(target, member) {
      if (member === 'listSegments') return listSegments;
      if (member === 'replaceSegments') return replaceSegments;
      const value: unknown = Reflect.get(target, member, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
