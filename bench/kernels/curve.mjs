// Series as curves: smoothing, robust slope, spikes, area and alignment, against the plain-JS twin and what one would write instead.
import { jsSeriesKernel, loadWasmSeriesKernel } from '../../src/kernel/series/series-kernel.ts';
import { measure, normal } from './support.mjs';

const OURS = 'Quark, WebAssembly, copies included';
const TWIN = 'Quark, plain JavaScript';

export async function run(bench) {
  const wasm = await loadWasmSeriesKernel();
  const million = lossCurve(1_000_000);
  for (const { title, values, of, hasTwin = true, others = {} } of cases(million)) {
    const ways = {
      [OURS]: () => of(wasm),
      ...(hasTwin ? { [TWIN]: () => of(jsSeriesKernel) } : {}),
      ...others,
    };
    const times = await measure(ways, { rounds: 7 });
    bench.report({ title, amount: values.length, unit: 'values', times, reference: OURS });
  }
}

/** A loss that falls, with noise, a few spikes and gaps. */
function lossCurve(length) {
  return normal(length, { std: 0.1 }).map((noise, i) => {
    if (i % 9973 === 0) return Number.NaN;
    return 0.5 + 4 * Math.exp((-3 * i) / length) + noise + (i % 50_021 === 1 ? 8 : 0);
  });
}

/** The twin is left out where it takes seconds, and where both kernels have the same code. */
function cases(million) {
  const thousands = million.subarray(0, 2000);
  const hundredThousand = million.subarray(0, 100_000);
  const steps = Float64Array.from(million, (_, i) => i);
  const sparse = {
    steps: steps.filter((i) => i % 100 === 50),
    values: million.subarray(0, 10_000),
  };
  return [
    {
      title: 'exponential smoothing, weight 0.99, 1 M values',
      values: million,
      of: (kernel) => kernel.smoothExponential(million, { weight: 0.99 }),
      others: { 'JavaScript, the loop of TensorBoard': () => tensorBoardLoop(million, 0.99) },
    },
    {
      title: 'exponential smoothing by position, 1 M values',
      values: million,
      hasTwin: false,
      of: (kernel) => kernel.smoothExponential(million, { weight: 0.99, positions: steps }),
    },
    {
      title: 'moving median, window 101, 100,000 values',
      values: hundredThousand,
      of: (kernel) => kernel.smoothRobust(hundredThousand, { window: 101 }),
      others: { 'JavaScript, each window sorted': () => sortedWindows(hundredThousand, 101) },
    },
    ...[5, 21, 101, 1001, 10_001].map((window) => ({
      title: `moving median, window ${window}, 1 M values`,
      values: million,
      hasTwin: false,
      of: (kernel) => kernel.smoothRobust(million, { window }),
    })),
    {
      title: 'Theil-Sen and Mann-Kendall, 2,000 values',
      values: thousands,
      of: (kernel) => kernel.theilSen(thousands),
      others: { 'JavaScript, all 2 million slopes sorted': () => allSlopes(thousands) },
    },
    {
      title: 'Theil-Sen and Mann-Kendall, 100,000 values',
      values: hundredThousand,
      of: (kernel) => kernel.theilSen(hundredThousand),
    },
    {
      title: 'Theil-Sen and Mann-Kendall, 1 M values',
      values: million,
      hasTwin: false,
      of: (kernel) => kernel.theilSen(million),
    },
    {
      title: 'spikes, 1 M values',
      values: million,
      hasTwin: false,
      of: (kernel) => kernel.spikes(million),
    },
    {
      title: 'area under a curve, 1 M values',
      values: million,
      hasTwin: false,
      of: (kernel) => kernel.areaUnderCurve(million),
      others: { 'JavaScript, trapezoids of what is finite': () => trapezoids(million) },
    },
    {
      title: 'alignment of 1 M steps with 10,000, the last value before',
      values: million,
      hasTwin: false,
      of: (kernel) =>
        kernel.alignOnStep({ steps, values: million }, sparse, { join: 'left', fill: 'previous' }),
    },
  ];
}

function tensorBoardLoop(values, weight) {
  const results = new Float64Array(values.length);
  let last = 0;
  let count = 0;
  for (let i = 0; i < values.length; i++) {
    const x = values[i];
    if (!Number.isFinite(x)) {
      results[i] = x;
      continue;
    }
    last = last * weight + (1 - weight) * x;
    count++;
    results[i] = last / (1 - weight ** count);
  }
  return results;
}

function sortedWindows(values, window) {
  return values.map((_, i) => {
    const part = values.slice(Math.max(0, i - (window >> 1)), i + (window >> 1) + 1).sort();
    return part[part.length >> 1];
  });
}

function allSlopes(values) {
  const slopes = new Float64Array((values.length * (values.length - 1)) / 2);
  let at = 0;
  for (let i = 0; i < values.length; i++)
    for (let j = 0; j < i; j++) slopes[at++] = (values[i] - values[j]) / (i - j);
  slopes.sort();
  return slopes[slopes.length >> 1];
}

function trapezoids(values) {
  let area = 0;
  let before = -1;
  for (let i = 0; i < values.length; i++) {
    if (!Number.isFinite(values[i])) continue;
    if (before >= 0) area += 0.5 * (values[before] + values[i]) * (i - before);
    before = i;
  }
  return area;
}
