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
import { bin, count, deviation, max, mean, min, sum, variance } from 'd3-array';
import * as simple from 'simple-statistics';
import { compileKernels, instantiateKernels } from '../../src/kernel/abi.ts';
import { loadWasmKernel } from '../../src/kernel/wasm-kernel.ts';
import { startNative, startPython } from '../compare/ask.mjs';
import { measure, normal } from './support.mjs';

const INSIDE = 'Quark, data in WASM';
const OURS = 'Quark, copy included';

export async function run(bench) {
  if (bench.where !== 'node') return;
  const native = await startNative(bench.root);
  const python = await startPython(bench.root);
  const exports = instantiateKernels(await compileKernels());
  exports.memory.grow(1100);
  const base = exports.heapBase();
  const room = {
    exports,
    state: base,
    table: base + 256,
    beside: base + 256 + 66 * 16,
    data: (base + 4096) & ~63,
    put(values) {
      new Float32Array(exports.memory.buffer, this.data, values.length).set(values);
    },
    kernel: await loadWasmKernel(),
  };
  await readRate(bench, room, native);
  await statistics(bench, room, python);
  await histograms(bench, room, native, python);
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
