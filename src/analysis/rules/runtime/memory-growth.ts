import type { TelemetryColumns, TelemetryNumber } from '../../columns/run-columns.ts';
import { spanOfSteps, type RunSpan } from '../../signals/positions.ts';
import { defineRule } from '../../signals/rule.ts';
import { type ThresholdValues } from '../../signals/rule-types.ts';
import { say, sayShare, when } from '../../text/sentences.ts';

/** What may grow, what it is called, and how surely growth means a leak. */
type Watched = {
  readonly name: TelemetryNumber;
  readonly what: string;
  readonly confidence: number;
  /** Whether a collector, or an allocator, decides when what is not needed any more is given back. */
  readonly isCollected?: boolean;
};

const WATCHED: readonly Watched[] = [
  { name: 'tensorCount', what: 'number of live tensors', confidence: 0.95 },
  { name: 'tensorBytes', what: 'memory of live tensors', confidence: 0.92 },
  { name: 'gpuMemoryUsedBytes', what: 'GPU memory in use', confidence: 0.75 },
  { name: 'heapUsedBytes', what: 'JavaScript heap in use', confidence: 0.75, isCollected: true },
  { name: 'pageMemoryBytes', what: 'memory of the page', confidence: 0.75, isCollected: true },
  { name: 'processRssBytes', what: 'memory of the process', confidence: 0.7, isCollected: true },
];

/** Parts of the run whose lowest values are compared: what is freed now and then is free in one of them. */
const PARTS = 6;

export const memoryGrowth = defineRule({
  id: 'memory_growth',
  category: 'runtime',
  needs: { anyOf: ['memory'], points: 'memoryGrowthMinTensorSamples' },
  detects: 'Memory or tensors that grow from one part of the run to the next and are never freed.',
  source: 'SageMaker Debugger (GPUMemoryIncrease: 5 to 10 %); the lower envelope is ours',
  cause:
    'something of every step is never released: a list of losses that keeps their graphs, a cache, the workers that load data',
  advice:
    'record numbers in place of tensors, and leave out one part of the step after another until the growth stops',
  live: 'trend',
  thresholds: {
    memoryGrowthMinShare: { value: 0.1, doc: 'Least growth over the run after its first sixth.' },
    memoryGrowthMinSamples: { value: 30, doc: 'Fewest samples of memory.' },
    memoryGrowthMinTensorSamples: {
      value: 12,
      doc: 'Fewest samples of tensors: their number is exact, and no collector makes it go up and down.',
    },
    memoryGrowthMinTensors: { value: 20, doc: 'Least growth in tensors.' },
    memoryGrowthMinCollectedBytes: {
      value: 128 * 2 ** 20,
      doc: 'Least growth of heap, page and process, in bytes: V8 lets more than 100 MB lie in a heap before it collects all of it, and a short run may not see that once.',
    },
  },
  measure({ columns: { telemetry }, thresholds: t }) {
    const all = WATCHED.flatMap((watched) => growthOf(watched, telemetry, t) ?? []);
    return all.slice(0, 1).map((first) => ({ ...first, all }));
  },
  finding: {
    levels: { error: ({ first, last }) => last - first > first, warning: () => true },
    title: ({ watched }) => `The ${watched.what} grows`,
    fact: ({ first, last, span: { to }, watched }) => {
      const show = (value: number): string =>
        watched.name === 'tensorCount' ? say(value) : `${say(value / 2 ** 20)} MiB`;
      const end = when(to.step !== null, `, up to step ${to.step}`);
      return `The ${watched.what} grew from ${show(first)} to ${show(last)} and was not freed${end}.`;
    },
    confidence: ({ watched }) => watched.confidence,
    cause: ({ watched }) => CAUSES[kindOf(watched)].cause,
    advice: ({ watched }) => CAUSES[kindOf(watched)].advice,
    evidence: ({ all }, t) =>
      all.map(({ first, last, span, watched }) => ({
        kind: 'telemetry',
        source: watched.name,
        summary: `Growth of ${sayShare((last - first) / first)} in equal steps.`,
        observed: (last - first) / first,
        threshold: t.memoryGrowthMinShare,
        ...span,
      })),
  },
});

type Kind = 'tensors' | 'heap' | 'memory';

/** Live tensors are counted by TensorFlow.js, heaps are those of JavaScript; other memory is that of any program. */
const CAUSES: Readonly<Record<Kind, { readonly cause?: string; readonly advice?: string }>> = {
  tensors: {
    cause: 'tensors that a step makes are never disposed of',
    advice:
      'compare tf.memory().numTensors before and after a step, and dispose of what is left over or wrap the step in tf.tidy',
  },
  heap: {
    cause: 'something of every step stays referenced: a growing list, a listener, a tensor',
    advice: 'take two heap snapshots some steps apart, and look at what is new in the second',
  },
  memory: {},
};

function kindOf({ name }: Watched): Kind {
  if (name === 'tensorCount' || name === 'tensorBytes') return 'tensors';
  return name === 'heapUsedBytes' || name === 'pageMemoryBytes' ? 'heap' : 'memory';
}

/** Memory that is never freed: its lowest values after the start and at the end of the run. */
type Growth = {
  readonly watched: Watched;
  readonly first: number;
  readonly last: number;
  readonly span: RunSpan;
};

function growthOf(
  watched: Watched,
  telemetry: TelemetryColumns,
  t: ThresholdValues<
    | 'memoryGrowthMinShare'
    | 'memoryGrowthMinSamples'
    | 'memoryGrowthMinTensorSamples'
    | 'memoryGrowthMinTensors'
    | 'memoryGrowthMinCollectedBytes'
  >,
): Growth | undefined {
  const { isCollected = false, name } = watched;
  const values = telemetry[name];
  const rows = [...values.keys()].filter((row) => Number.isFinite(values[row]));
  const isExact = name === 'tensorCount' || name === 'tensorBytes';
  if (rows.length < (isExact ? t.memoryGrowthMinTensorSamples : t.memoryGrowthMinSamples))
    return undefined;
  const floors = Array.from({ length: PARTS }, (_, part) => {
    const [from, to] = [part, part + 1].map((at) => Math.floor((at * rows.length) / PARTS));
    return Math.min(...rows.slice(from, to).map((row) => values[row] ?? 0));
  });
  // The first part fills caches and pools.
  const [, first = 0, ...rest] = floors;
  const last = rest.at(-1) ?? first;
  const growth = last - first;
  const steps = rest.map((floor, i) => floor - (i === 0 ? first : (rest[i - 1] ?? 0)));
  // A leak goes on: no part frees, most of them add, and the last half as much as the others.
  const isSteady =
    steps.every((step) => step >= 0) &&
    steps.filter((step) => step > 0).length >= 2 &&
    last - (rest[1] ?? last) > 0.25 * growth;
  const isLarge =
    growth >= t.memoryGrowthMinShare * first &&
    (name !== 'tensorCount' || growth >= t.memoryGrowthMinTensors) &&
    (!isCollected || growth >= t.memoryGrowthMinCollectedBytes);
  if (!(first > 0) || !isSteady || !isLarge) return undefined;
  const stepOf = (row = 0): number => telemetry.steps[row] ?? Number.NaN;
  const start = rows[Math.floor(rows.length / PARTS)];
  return { watched, first, last, span: spanOfSteps(stepOf(start), stepOf(rows.at(-1))) };
}
