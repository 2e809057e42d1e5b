import type { TelemetryNumber } from '../../columns/run-columns.ts';
import { placeOfStep, type Place } from '../../signals/positions.ts';
import { defineRule, say, sayShare, type Finding } from '../../signals/rule.ts';

/** What may grow, what it is called, and how surely growth means a leak. */
const WATCHED: readonly {
  readonly name: TelemetryNumber;
  readonly what: string;
  readonly confidence: number;
  /** Whether a collector, or an allocator, decides when what is not needed any more is given back. */
  readonly isCollected?: boolean;
}[] = [
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
  detects: 'Memory or tensors that grow from one part of the run to the next and are never freed.',
  source: 'SageMaker Debugger (GPUMemoryIncrease: 5 to 10 %); the lower envelope is ours',
  cause: 'something of every step is kept: tensors outside tf.tidy, a growing list, listeners',
  advice:
    'compare tf.memory().numTensors before and after a step, and dispose or tidy what is left over',
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
  evaluate({ columns, thresholds: t }) {
    const { telemetry } = columns;
    const found = WATCHED.flatMap(({ confidence, isCollected, name, what }): Finding[] => {
      const rows: number[] = [];
      telemetry[name].forEach((value, row) => {
        if (Number.isFinite(value)) rows.push(row);
      });
      const isExact = name === 'tensorCount' || name === 'tensorBytes';
      if (rows.length < (isExact ? t.memoryGrowthMinTensorSamples : t.memoryGrowthMinSamples))
        return [];
      const floors = Array.from({ length: PARTS }, (_, part) => {
        const own = rows.slice(
          Math.floor((part * rows.length) / PARTS),
          Math.floor(((part + 1) * rows.length) / PARTS),
        );
        return Math.min(...own.map((row) => telemetry[name][row] ?? 0));
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
      if (!(first > 0) || !isSteady || growth < t.memoryGrowthMinShare * first) return [];
      if (name === 'tensorCount' && growth < t.memoryGrowthMinTensors) return [];
      if (isCollected === true && growth < t.memoryGrowthMinCollectedBytes) return [];
      const from = placeOfRow(columns.telemetry.steps, rows[Math.floor(rows.length / PARTS)] ?? 0);
      const to = placeOfRow(columns.telemetry.steps, rows.at(-1) ?? 0);
      const show = (value: number): string =>
        name === 'tensorCount' ? say(value) : `${say(value / 2 ** 20)} MiB`;
      return [
        {
          severity: growth > first ? 'error' : 'warning',
          title: `The ${what} grows`,
          fact: `The ${what} grew from ${show(first)} to ${show(last)} and was not freed${to.step === null ? '' : `, up to step ${to.step}`}.`,
          confidence,
          from,
          to,
          observations: [
            {
              kind: 'telemetry',
              source: name,
              summary: `Growth of ${sayShare(growth / first)} in equal steps.`,
              observed: growth / first,
              threshold: t.memoryGrowthMinShare,
              from,
              to,
            },
          ],
        },
      ];
    });
    const [first, ...others] = found;
    if (first === undefined) return [];
    return [
      { ...first, observations: [first, ...others].flatMap(({ observations }) => observations) },
    ];
  },
});

function placeOfRow(steps: Float64Array, row: number): Place {
  return placeOfStep(steps[row] ?? Number.NaN);
}
