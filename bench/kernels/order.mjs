// Quantiles, the quantile sketch and outliers, against a sort and the loops one would write in JavaScript, and against numpy.
import { compileSeries, SeriesModule } from '../../src/kernel/series/module/module.ts';
import { QuantileSketch } from '../../src/kernel/series/sketch/quantile-sketch.ts';
import { createWasmSeriesKernel, jsSeriesKernel } from '../../src/kernel/series/series-kernel.ts';
import { selectionInside } from './inside.mjs';
import { measure, normal, random, SHARES } from './support.mjs';

const INSIDE = 'Quark, data in WASM';
const OURS = 'Quark, copy included';
const SORT = 'sort of a copied Float64Array';
const NUMPY = 'numpy.percentile';

export async function run(bench) {
  const module = await compileSeries();
  const kernel = createWasmSeriesKernel(new SeriesModule(module));
  const python = await startPython(bench);
  for (const [label, length] of [
    ['10 K', 10_000],
    ['100 K', 100_000],
    ['1 M', 1_000_000],
  ])
    await sevenQuantiles(bench, module, kernel, label, normal(length), python);
  python?.end();
  await shapes(bench, kernel);
  await sketches(bench, kernel);
  await outliers(bench, kernel);
}

async function startPython(bench) {
  if (bench.where !== 'node') return undefined;
  const { startPython: start } = await import('../compare/ask.mjs');
  return start(bench.root);
}

async function sevenQuantiles(bench, module, kernel, label, values, python) {
  const numpy =
    values.length === 1_000_000 && python?.has('numpy-percentile')
      ? { [NUMPY]: python.case('numpy-percentile', 1) }
      : {};
  const targets =
    values.length === 1_000_000
      ? [INSIDE, OURS].flatMap((fast) => [
          { what: `${fast}: over the sort`, fast, slow: SORT, atLeast: 20 },
          { what: `${fast}: over numpy`, fast, slow: NUMPY, atLeast: 8 },
        ])
      : [];
  await bench.report({
    title: `seven quantiles, float64, normal, ${label}`,
    amount: values.length,
    unit: 'values',
    times: await measure(
      {
        [INSIDE]: selectionInside(module, values),
        [OURS]: () => kernel.quantiles(values, SHARES),
        'the median alone, copy included': () => kernel.median(values),
        'median absolute deviation, copy included': () => kernel.medianAbsoluteDeviation(values),
        [SORT]: () => values.slice().sort(),
        'plain-JS kernel': () => jsSeriesKernel.quantiles(values, SHARES),
        ...numpy,
      },
      bench,
    ),
    reference: SORT,
    targets,
  });
}

/** Values that a selection by buckets of equal width would fail on. */
async function shapes(bench, kernel) {
  const next = random(5);
  const length = 1_000_000;
  const make = (value) => Float64Array.from({ length }, value);
  const around = normal(length);
  const cases = {
    normal: around,
    uniform: make(next),
    'Cauchy (heavy tails)': make(() => Math.tan(Math.PI * (next() - 0.5))),
    'Pareto of exponent 0.1': make(() => next() ** -10),
    'powers of two of every size': make(() => 2 ** Math.floor(next() * 2000 - 1000)),
    'half of it zeros': around.map((x) => Math.max(0, x)),
    'ten integers': make(() => Math.floor(next() * 10)),
    'all equal': make(() => 0.1),
    'every tenth NaN': around.map((x, i) => (i % 10 === 0 ? Number.NaN : x)),
  };
  await bench.report({
    title: 'seven quantiles of 1 M float64 of every shape, copy included',
    amount: length,
    unit: 'values',
    times: await measure(
      Object.fromEntries(
        Object.entries(cases).map(([name, values]) => [
          name,
          () => kernel.quantiles(values, SHARES),
        ]),
      ),
      bench,
    ),
    reference: 'normal',
  });
}

async function sketches(bench) {
  const values = normal(1_000_000);
  const parts = Array.from({ length: 100 }, (_, i) => {
    const part = new QuantileSketch();
    part.addAll(values.subarray(i * 10_000, (i + 1) * 10_000));
    return part;
  });
  const bytes = parts[0]?.toBytes();
  await bench.report({
    title: 'quantile sketch, 1 M float64',
    amount: values.length,
    unit: 'values',
    times: await measure(
      {
        'addAll of all': () => new QuantileSketch().addAll(values),
        'merge of 100 sketches': () => {
          const whole = new QuantileSketch();
          for (const part of parts) whole.merge(part);
        },
        'toBytes and fromBytes of one': () => QuantileSketch.fromBytes(bytes).toBytes(),
        'a copy of all, sorted (no sketch)': () => values.slice().sort(),
      },
      bench,
    ),
    reference: 'addAll of all',
  });
}

async function outliers(bench, kernel) {
  const values = normal(1_000_000);
  const whole = Object.fromEntries(
    ['z_score', 'robust_z_score', 'iqr_fence'].flatMap((method) => [
      [`${method}, Quark`, () => kernel.outliers(values, { method })],
      [`${method}, plain JS`, () => jsSeriesKernel.outliers(values, { method })],
    ]),
  );
  await bench.report({
    title: 'outliers of 1 M float64',
    amount: values.length,
    unit: 'values',
    times: await measure(whole, bench),
    reference: 'z_score, plain JS',
  });
  const short = values.subarray(0, 100_000);
  const moving = Object.fromEntries(
    [50, 1000, 20_000].flatMap((window) =>
      ['z_score', 'robust_z_score', 'iqr_fence'].map((method) => [
        `${method}, window of ${window}`,
        () => kernel.outliers(short, { method, window }),
      ]),
    ),
  );
  await bench.report({
    title: 'outliers of 100 K float64 in a moving window',
    amount: short.length,
    unit: 'values',
    times: await measure(
      {
        ...moving,
        'each window of 50 sorted by itself, median only': () => {
          let total = 0;
          for (let i = 50; i < short.length; i++) total += short.slice(i - 50, i).sort()[25] ?? 0;
          return total;
        },
      },
      bench,
    ),
    reference: 'each window of 50 sorted by itself, median only',
  });
}
