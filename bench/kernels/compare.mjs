// The kernels against the libraries one would use instead, and against the machine itself (compiled C++). Node only: what it compares
// with is installed into bench/node_modules by the runner.
import sasum from '@stdlib/blas-ext-base-sasumpw';
import smax from '@stdlib/stats-base-smax';
import smean from '@stdlib/stats-base-smean';
import smin from '@stdlib/stats-base-smin';
import sstdev from '@stdlib/stats-base-sstdev';
import svariance from '@stdlib/stats-base-svariance';
import * as tf from '@tensorflow/tfjs';
import { setWasmPaths } from '@tensorflow/tfjs-backend-wasm';
import { bin, count, deviation, max, mean, min, quantile, sum, variance } from 'd3-array';
import { LTTB } from 'downsample';
import * as simple from 'simple-statistics';
import { compileKernels, instantiateKernels } from '../../src/kernel/tensor/abi.ts';
import { compileSeries, SeriesModule } from '../../src/kernel/series/module/module.ts';
import { createWasmSeriesKernel } from '../../src/kernel/series/series-kernel.ts';
import { SCRATCH_BYTES } from '../../src/kernel/tensor/layout.ts';
import { loadWasmKernel } from '../../src/kernel/tensor/wasm-kernel.ts';
import { startNative, startPython } from '../compare/ask.mjs';
import { lttbInside, selectionInside } from './inside.mjs';
import { measure, normal, random, SHARES, steps } from './support.mjs';

const INSIDE = 'Quark, data in WASM';
const OURS = 'Quark, copy included';

export async function run(bench) {
  if (bench.where !== 'node') return;
  const native = await startNative(bench.root);
  const python = await startPython(bench.root);
  const memory = new WebAssembly.Memory({ initial: 1102, maximum: 16_384 });
  const exports = instantiateKernels(await compileKernels(), memory, 0);
  const base = SCRATCH_BYTES;
  const room = {
    exports,
    state: base,
    table: base + 256,
    beside: base + 256 + 66 * 16,
    data: (base + 4096) & ~63,
    put(values) {
      new Float32Array(memory.buffer, this.data, values.length).set(values);
    },
    kernel: await loadWasmKernel(),
  };
  await readRate(bench, room, native);
  await statistics(bench, room, python);
  await histograms(bench, room, native, python);
  const module = await compileSeries();
  const series = createWasmSeriesKernel(new SeriesModule(module));
  await quantiles(bench, module, series, python);
  await reductions(bench, module, series);
  await changes(bench, series, python);
  native?.end();
  python?.end();
}

/** Cases of a program, or none where it cannot run. */
function asked(program, cases) {
  if (program === undefined) return {};
  return Object.fromEntries(
    Object.entries(cases)
      .filter(([, [name]]) => program.has(name))
      .map(([title, [name, repetitions]]) => [title, program.case(name, repetitions)]),
  );
}

async function readRate(bench, room, native) {
  const { exports, state, data } = room;
  const length = 16_777_216;
  room.put(Float32Array.from(normal(length)));
  const read = 'C++, plain sum with the widest registers';
  await bench.report({
    title: 'tensor statistics, float32, 64 MB, against the memory-read rate of the machine',
    amount: length * 4,
    unit: 'bytes',
    times: await measure(
      {
        [INSIDE]: () => {
          exports.statsReset(state);
          exports.stats.float32(data, length, 1e-8, Infinity, state);
        },
        ...asked(native, { [read]: ['sum64M', 3] }),
      },
      bench,
    ),
    reference: INSIDE,
    targets: [{ what: 'share of the read rate', fast: INSIDE, slow: read, atLeast: 0.6 }],
  });
}

const TFJS = 'tfjs, wasm backend: the same ten';
const SIMPLE = 'simple-statistics: the same ten';
const STDLIB = '@stdlib: six of the ten';
const D3 = 'd3-array: the same ten';

async function statistics(bench, room, python) {
  const { exports, state, data, kernel } = room;
  const length = 1_000_000;
  const tensor = Float32Array.from(normal(length));
  const plain = Array.from(tensor);
  room.put(tensor);
  setWasmPaths(`${bench.root}/node_modules/@tensorflow/tfjs-backend-wasm/dist/`);
  await tf.setBackend('wasm');
  const onDevice = tf.tensor1d(tensor);
  const viaTensorFlow = () =>
    tf.tidy(() => {
      const { mean: center, variance: spread } = tf.moments(onDevice);
      const sizes = tf.abs(onDevice);
      const results = [
        center,
        spread,
        tf.sqrt(spread),
        tf.sum(sizes),
        tf.norm(onDevice),
        tf.min(onDevice),
        tf.max(onDevice),
        tf.sum(tf.isFinite(onDevice)),
        tf.mean(tf.cast(tf.lessEqual(sizes, 1e-8), 'float32')),
        tf.mean(tf.cast(tf.greaterEqual(sizes, 3), 'float32')),
      ];
      return results.map((result) => result.dataSync()[0]);
    });
  const cases = {
    [INSIDE]: () => {
      exports.statsReset(state);
      exports.stats.float32(data, length, 1e-8, 3, state);
    },
    [OURS]: () => kernel.tensorStats(tensor, { epsilon: 1e-8, threshold: 3 }),
    [TFJS]: viaTensorFlow,
    [SIMPLE]: () => [
      simple.mean(plain),
      simple.variance(plain),
      simple.standardDeviation(plain),
      simple.rootMeanSquare(plain),
      simple.min(plain),
      simple.max(plain),
      simple.sum(plain.map(Math.abs)),
      plain.filter(Number.isFinite).length,
      plain.filter((x) => Math.abs(x) <= 1e-8).length,
      plain.filter((x) => Math.abs(x) >= 3).length,
    ],
    [STDLIB]: () => [
      smean(length, tensor, 1),
      svariance(length, 0, tensor, 1),
      sstdev(length, 0, tensor, 1),
      sasum(length, tensor, 1),
      smin(length, tensor, 1),
      smax(length, tensor, 1),
    ],
    [D3]: () => [
      mean(tensor),
      variance(tensor),
      deviation(tensor),
      min(tensor),
      max(tensor),
      sum(tensor, Math.abs),
      sum(tensor, (x) => x * x),
      count(tensor),
      count(tensor, (x) => (Math.abs(x) <= 1e-8 ? 1 : undefined)),
      count(tensor, (x) => (Math.abs(x) >= 3 ? 1 : undefined)),
    ],
    ...asked(python, {
      'numpy: five calls': ['numpy-statistics', 3],
      'torch, one thread: five calls': ['torch-statistics', 3],
    }),
  };
  const against = (slow, atLeast) => ({
    what: `times as fast as ${slow.split(/[:,]/)[0]}`,
    fast: INSIDE,
    slow,
    atLeast,
  });
  await bench.report({
    title: 'tensor statistics, 1 M float32, against libraries',
    amount: length * 4,
    unit: 'bytes',
    times: await measure(cases, bench),
    reference: OURS,
    targets: [
      against(TFJS, 100),
      against(SIMPLE, 60),
      against(STDLIB, 60),
      against(D3, 60),
      against('numpy: five calls', 5),
      against('torch, one thread: five calls', 5),
    ],
  });
  onDevice.dispose();
}

async function histograms(bench, room, native, python) {
  const { exports, table, beside, data, kernel } = room;
  const length = 1_000_000;
  const tensor = Float32Array.from(normal(length));
  room.put(tensor);
  const range = { min: -5, max: 5 };
  const edges = Array.from({ length: 63 }, (_, i) => -5 + ((i + 1) * 10) / 64);
  const binned = bin().domain([-5, 5]).thresholds(edges);
  await bench.report({
    title: 'histogram, 64 bins, 1 M float32, against libraries and compiled C++',
    amount: length * 4,
    unit: 'bytes',
    times: await measure(
      {
        [INSIDE]: () => {
          exports.histogramReset(table, 64, beside);
          exports.histogram.float32(data, length, -5, 5, 64, table, beside);
        },
        [OURS]: () => kernel.histogram(tensor, { bins: 64, range }),
        'd3.bin': () => binned(tensor),
        ...asked(python, {
          'numpy.histogram': ['numpy-histogram', 3],
          'torch.histc': ['torch-histc', 3],
        }),
        ...asked(native, { 'C++, four sub-histograms': ['histogram', 3] }),
      },
      bench,
    ),
    reference: OURS,
    targets: [
      { what: 'times as fast as d3.bin', fast: INSIDE, slow: 'd3.bin', atLeast: 150 },
      {
        what: 'times as fast as numpy.histogram',
        fast: INSIDE,
        slow: 'numpy.histogram',
        atLeast: 10,
      },
      { what: 'times as fast as torch.histc', fast: INSIDE, slow: 'torch.histc', atLeast: 10 },
      { what: 'times as long as C++', fast: 'C++, four sub-histograms', slow: INSIDE, atMost: 1.6 },
    ],
  });
}

async function quantiles(bench, module, series, python) {
  const length = 1_000_000;
  const values = normal(length);
  const sort = 'typed-array sort of a copy';
  const numpy = 'numpy.percentile';
  const next = random(3);
  const tied = Float64Array.from({ length }, () => Math.floor(next() * 10));
  const libraries = {
    'd3.quantile, each of the seven': () => SHARES.map((share) => quantile(values, share)),
    'simple-statistics, all at once': () => simple.quantile(values, SHARES),
    ...asked(python, { [numpy]: ['numpy-percentile', 1] }),
  };
  for (const { label, data, others } of [
    { label: 'normal', data: values, others: libraries },
    { label: 'ten integers', data: tied, others: {} },
  ]) {
    const targets = [INSIDE, OURS].flatMap((fast) => [
      { what: `${fast}: times as fast as the sort`, fast, slow: sort, atLeast: 20 },
      { what: `${fast}: times as fast as numpy`, fast, slow: numpy, atLeast: 8 },
    ]);
    await bench.report({
      title: `seven quantiles of 1 M float64, ${label}, against libraries`,
      amount: length,
      unit: 'values',
      times: await measure(
        {
          [INSIDE]: selectionInside(module, data),
          [OURS]: () => series.quantiles(data, SHARES),
          [sort]: () => data.slice().sort(),
          ...others,
        },
        { rounds: 7 },
      ),
      reference: OURS,
      targets,
    });
  }
}

async function reductions(bench, module, series) {
  const length = 1_000_000;
  const values = normal(length);
  const points = Array.from(values, (y, x) => [x, y]);
  const theirs = 'downsample, LTTB of arrays of pairs';
  await bench.report({
    title: 'LTTB, 1 M points to 1,000, against the package downsample',
    amount: length,
    unit: 'points',
    times: await measure(
      {
        [INSIDE]: lttbInside(module, values, 1000),
        [OURS]: () => series.lttb(values, { points: 1000 }),
        [theirs]: () => LTTB(points, 1000),
      },
      { rounds: 7 },
    ),
    reference: OURS,
    targets: [INSIDE, OURS].map((fast) => ({
      what: `${fast}: times as fast as downsample`,
      fast,
      slow: theirs,
      atLeast: 100,
    })),
  });
}

/** Against ruptures where Python has it; R, and ruptures elsewhere, by the figures published with the first prototypes. */
async function changes(bench, series, python) {
  const values = steps(100_000);
  const theirs = 'ruptures, binary segmentation';
  const isHere = python?.has('ruptures-binseg') === true;
  if (!isHere)
    console.log(
      '\nNo ruptures and no R changepoint here: change points are held against 34 s and 1.9 s, measured earlier.',
    );
  const times = await measure({ [OURS]: () => series.changePoints(values) }, bench);
  // Half a minute a call: once is enough.
  if (isHere) {
    const { ms } = await python.case('ruptures-binseg', 1)();
    times[theirs] = { ms, bestMs: ms };
  }
  await bench.report({
    title: 'change points of the mean, 100,000 values with 20 changes',
    amount: values.length,
    unit: 'values',
    times,
    reference: OURS,
    targets: [
      { what: '100 times R changepoint (1.9 s)', fast: OURS, atMostMs: 19 },
      { what: '100 times ruptures (34 s)', fast: OURS, atMostMs: 340 },
      { what: 'times as fast as ruptures', fast: OURS, slow: theirs, atLeast: 100 },
    ],
  });
}
