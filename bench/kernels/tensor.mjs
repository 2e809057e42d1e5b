// Statistics, pairs and histograms of tensors, against the plain SIMD sum of the same bytes and against loops in JavaScript.
import { compileKernels, instantiateKernels } from '../../src/kernel/tensor/abi.ts';
import { jsKernel } from '../../src/kernel/tensor/js-kernel.ts';
import { SCRATCH_BYTES } from '../../src/kernel/tensor/layout.ts';
import { createKernels } from '../../src/kernel/tensor/kernels.ts';
import { loadWasmKernel } from '../../src/kernel/tensor/wasm-kernel.ts';
import { measure, median, normal } from './support.mjs';

const LIMIT = 'SIMD sum, data in WASM (limit)';

const float32 = (length, options) => Float32Array.from(normal(length, options));

/** Values as 16-bit patterns, cut off rather than rounded; float16 for sizes from 2^-14 to 65504. */
const halves = (values, type) =>
  Uint16Array.from(new Uint32Array(Float32Array.from(values).buffer), (word) => {
    if (type === 'bfloat16') return word >>> 16;
    return ((word >>> 16) & 0x8000) | Math.max(0, ((word & 0x7fffffff) >>> 13) - (112 << 10));
  });

export async function run(bench) {
  const memory = new WebAssembly.Memory({ initial: 1202, maximum: 16_384 });
  const exports = instantiateKernels(await compileKernels(), memory, 0);
  const base = SCRATCH_BYTES;
  const room = {
    exports,
    sum: bench.memorySum(memory),
    state: base,
    table: base + 256,
    beside: base + 256 + 1056 * 16,
    data: (base + 131_072) & ~63,
    put(values, at) {
      new Uint8Array(memory.buffer, at, values.byteLength).set(
        new Uint8Array(values.buffer, values.byteOffset, values.byteLength),
      );
    },
    wasmKernel: await loadWasmKernel(),
    shared: await createKernels({ inlineBytes: 0 }),
    transferred: await createKernels({ inlineBytes: 0, sharedMemory: false }),
    inline: await createKernels({ inlineBytes: 2 ** 30 }),
  };
  await statistics(bench, room);
  await statisticsByType(bench, room);
  await pairs(bench, room);
  await histograms(bench, room);
  await hardHistograms(bench, room);
  await units(bench, room);
  await costOfACall(bench, room);
  await Promise.all([room.shared, room.transferred, room.inline].map((kernels) => kernels.close()));
}

async function statistics(bench, room) {
  const { exports, sum, state, data, wasmKernel, shared, transferred, inline } = room;
  const options = { epsilon: 1e-8 };
  for (const [label, length] of [
    ['4 KB', 1024],
    ['256 KB', 65_536],
    ['64 MB', 16_777_216],
  ]) {
    const tensor = float32(length);
    room.put(tensor, data);
    const inside = 'statistics, data in WASM';
    const copied = 'statistics, copy included';
    const naive = 'JavaScript, one naive pass';
    const here = 'inline path, checks and promise';
    const times = await measure(
      {
        [LIMIT]: () => sum(data, length),
        [inside]: () => {
          exports.statsReset(state);
          exports.stats.float32(data, length, 1e-8, Infinity, state);
        },
        [copied]: () => wasmKernel.tensorStats(tensor, options),
        [here]: () => inline.tensorStats(tensor, options),
        'worker path, shared memory, to the answer': () => shared.tensorStats(tensor, options),
        'worker path, transfer, to the answer': () => transferred.tensorStats(tensor, options),
        [naive]: () => jsOnePass(tensor),
        'plain-JS kernel': () => jsKernel.tensorStats(tensor, options),
      },
      bench,
    );
    const small = [{ what: 'a 4 KB tensor, all in', fast: here, atMostMs: 0.003 }];
    const large = [
      {
        what: label === '64 MB' ? 'share of the read rate' : 'share of the SIMD sum',
        fast: inside,
        slow: LIMIT,
        atLeast: label === '64 MB' ? 0.6 : 0.25,
      },
      { what: 'times as long with the copy', fast: inside, slow: copied, atMost: 1.9 },
      { what: 'times as fast as a one-pass loop', fast: inside, slow: naive, atLeast: 18 },
    ];
    await bench.report({
      title: `tensor statistics, float32, ${label}`,
      amount: length * 4,
      unit: 'bytes',
      times,
      reference: LIMIT,
      targets: label === '4 KB' ? small : large,
    });
  }
}

async function statisticsByType(bench, room) {
  // The same number of bytes of every type, and float32 data that is harder than a normal distribution around 0.
  const { exports, sum, state, data } = room;
  const bytes = 262_144;
  const values = float32(bytes);
  const some = values.subarray(0, bytes / 4);
  const round = (x) => Math.max(0, Math.min(255, Math.round(x * 40 + 128)));
  const tensors = {
    'float32, normal': ['float32', some],
    'float32, mean 5 (counted from a shift)': ['float32', some.map((x) => x + 5)],
    'float32, half of it zeros': ['float32', some.map((x) => Math.max(0, x))],
    'float32, NaN in every block': [
      'float32',
      some.map((x, i) => (i % 1024 === 0 ? Number.NaN : x)),
    ],
    'float32, every other one NaN': ['float32', some.map((x, i) => (i % 2 === 0 ? Number.NaN : x))],
    'float32, an infinity in every block': [
      'float32',
      some.map((x, i) => (i % 1024 === 0 ? Infinity : x)),
    ],
    'float32, of sizes around 1e-18': ['float32', some.map((x) => x * 1e-18)],
    float64: ['float64', Float64Array.from(values.subarray(0, bytes / 8))],
    'int32, below 2^26': ['int32', Int32Array.from(some, (x) => x * 1000)],
    'int32, any': ['int32', Int32Array.from(some, (x) => x * 2 ** 28)],
    'uint8 or bool': ['uint8', Uint8Array.from(values, round)],
    'float16 bits': ['float16', halves(values.subarray(0, bytes / 2), 'float16')],
    'bfloat16 bits': ['bfloat16', halves(values.subarray(0, bytes / 2), 'bfloat16')],
  };
  const cases = { [LIMIT]: () => sum(data, bytes / 4) };
  let at = data;
  for (const [name, [type, tensor]] of Object.entries(tensors)) {
    const place = at;
    room.put(tensor, place);
    cases[name] = () => {
      exports.statsReset(state);
      exports.stats[type](place, tensor.length, 1e-8, Infinity, state);
    };
    at += bytes;
  }
  await bench.report({
    title: 'tensor statistics by type, 256 KB in WASM',
    amount: bytes,
    unit: 'bytes',
    times: await measure(cases, bench),
    reference: LIMIT,
  });
}

async function pairs(bench, room) {
  const { exports, sum, state, data, wasmKernel, inline } = room;
  const length = 65_536;
  const first = float32(length);
  const second = first.map((x) => x * 1.01);
  for (const { type, a, b } of [
    { type: 'float32', a: first, b: second },
    { type: 'float64', a: Float64Array.from(first), b: Float64Array.from(second) },
  ]) {
    const there = data + a.byteLength;
    room.put(a, data);
    room.put(b, there);
    await bench.report({
      title: `two tensors, ${type}, 65,536 elements each`,
      amount: 2 * a.byteLength,
      unit: 'bytes',
      times: await measure(
        {
          [LIMIT]: () => sum(data, a.byteLength / 2),
          'compared, data in WASM': () => exports.pair[type](data, there, length, state),
          'compared, copy included': () => wasmKernel.tensorPairStats(a, b),
          'inline path, checks and promise': () => inline.tensorPairStats(a, b),
          'JavaScript, one naive pass': () => jsPair(a, b),
          'plain-JS kernel': () => jsKernel.tensorPairStats(a, b),
        },
        bench,
      ),
      reference: LIMIT,
    });
  }
}

async function histograms(bench, room) {
  const { exports, sum, table, beside, data, wasmKernel } = room;
  const length = 1_000_000;
  const tensor = float32(length);
  room.put(tensor, data);
  const range = { min: -5, max: 5 };
  const inside = 'histogram, data in WASM';
  const loop = 'JavaScript loop';
  await bench.report({
    title: 'histogram, 64 bins, 1 M float32',
    amount: length * 4,
    unit: 'bytes',
    times: await measure(
      {
        [LIMIT]: () => sum(data, length & ~31),
        [inside]: () => {
          exports.histogramReset(table, 64, beside);
          exports.histogram.float32(data, length, -5, 5, 64, table, beside);
        },
        'histogram, copy included': () => wasmKernel.histogram(tensor, { bins: 64, range }),
        'histogram, range found first': () => wasmKernel.histogram(tensor, { bins: 64 }),
        [loop]: () => jsHistogram(tensor, -5, 5, 64),
        'plain-JS kernel': () => jsKernel.histogram(tensor, { bins: 64, range }),
      },
      bench,
    ),
    reference: loop,
    targets: [{ what: 'times as fast as a loop', fast: inside, slow: loop, atLeast: 5 }],
  });
}

/** The same number of values in bins of magnitudes, as a sample, and of data that is harder than a normal distribution. */
async function hardHistograms(bench, room) {
  const { exports, table, beside, data, wasmKernel } = room;
  const length = 1_000_000;
  const tensor = float32(length);
  const range = { min: -5, max: 5 };
  const uniform = (at) => () => {
    exports.histogramReset(table, 64, beside);
    exports.histogram.float32(at, length, -5, 5, 64, table, beside);
  };
  const cases = {};
  let at = data;
  for (const [name, change] of Object.entries({
    'uniform, all in the range': (x) => x,
    'uniform, half of it zeros': (x) => Math.max(0, x),
    'uniform, a fifth outside the range': (x) => x * 4,
    'uniform, NaN in every block': (x, i) => (i % 200 === 0 ? Number.NaN : x),
  })) {
    room.put(tensor.map(change), at);
    cases[name] = uniform(at);
    at += 4 * length;
  }
  const magnitudes = 'magnitudes, 129 bins';
  cases[magnitudes] = () => {
    exports.histogramReset(table, 129, beside);
    exports.histogramLog.float32(data, length, -40, 64, 0, table, beside);
  };
  const scale = 'log_magnitude';
  cases['magnitudes, copy included'] = () => wasmKernel.histogram(tensor, { scale });
  cases['magnitudes, plain-JS kernel'] = () => jsKernel.histogram(tensor, { scale });
  cases['a sample of 100,000, copy included'] = () =>
    wasmKernel.histogram(tensor, { bins: 64, range, maxHistogramValues: 100_000 });
  await bench.report({
    title: 'histograms of 1 M float32, harder data and other bins',
    amount: length * 4,
    unit: 'bytes',
    times: await measure(cases, bench),
    reference: 'uniform, all in the range',
  });
}

async function units(bench, room) {
  const { sum, data, wasmKernel } = room;
  const length = 4_194_304;
  const tensor = float32(length).map((x) => Math.max(0, x));
  room.put(tensor, data);
  for (const { shape, ...options } of [
    { shape: '[65,536, 64]', units: 64 },
    { shape: '[4,194,304, 1]', units: 1 },
    { shape: '[64, 65,536]', units: 65_536 },
    { shape: '[4, 1,048,576]', units: 1_048_576 },
    { shape: '[32, 128, 32, 32], channels first', units: 128, innerSize: 1024 },
    { shape: '[1024, 1024, 2, 2], channels first', units: 1024, innerSize: 4 },
  ]) {
    const loop = 'JavaScript, one naive pass';
    await bench.report({
      title: `statistics of units, float32, ${shape}`,
      amount: length * 4,
      unit: 'bytes',
      times: await measure(
        {
          [LIMIT]: () => sum(data, length),
          'statistics of units, copy included': () => wasmKernel.tensorUnitStats(tensor, options),
          [loop]: () => jsUnits(tensor, options),
          'plain-JS kernel': () => jsKernel.tensorUnitStats(tensor, options),
        },
        bench,
      ),
      reference: loop,
    });
  }
}

/** What a call takes of the calling thread; only Node tells. */
async function costOfACall(bench, { inline, shared, transferred }) {
  if (bench.where !== 'node') return;
  const calls = {
    statistics: (kernels, tensor) => kernels.tensorStats(tensor),
    histogram: (kernels, tensor) => kernels.histogram(tensor, { bins: 64 }),
  };
  for (const kilobytes of [16, 64, 256, 1024, 16_384]) {
    const tensor = float32(kilobytes * 256);
    const times = {};
    for (const [what, call] of Object.entries(calls)) {
      for (const [way, kernels] of Object.entries({ inline, shared, transferred }))
        times[`${what}, ${way}`] = await activeTime(() => call(kernels, tensor));
    }
    await bench.report({
      title: `time of the calling thread that one call takes, ${kilobytes} KB`,
      amount: kilobytes * 1024,
      unit: 'bytes',
      times,
      reference: 'statistics, inline',
    });
  }
}

async function activeTime(work) {
  const active = [];
  for (let round = 0; round < 15; round++) {
    let count = 0;
    const before = performance.eventLoopUtilization();
    const start = performance.now();
    do {
      await work();
      count += 1;
    } while (performance.now() - start < 4);
    active.push(performance.eventLoopUtilization(before).active / count);
  }
  return { ms: median(active), bestMs: Math.min(...active) };
}

function jsOnePass(data) {
  let sum = 0;
  let squares = 0;
  let absolutes = 0;
  let low = Infinity;
  let high = -Infinity;
  let nans = 0;
  let infinities = 0;
  let zeros = 0;
  let near = 0;
  for (let i = 0; i < data.length; i++) {
    const x = data[i];
    const size = Math.abs(x);
    if (size < Infinity) {
      sum += x;
      squares += x * x;
      absolutes += size;
      if (x < low) low = x;
      if (x > high) high = x;
      if (x === 0) zeros++;
      if (size <= 1e-8) near++;
    } else if (x !== x) nans++;
    else infinities++;
  }
  return [sum, squares, absolutes, low, high, nans, infinities, zeros, near];
}

function jsPair(a, b) {
  let first = 0;
  let second = 0;
  let dot = 0;
  let difference = 0;
  for (let i = 0; i < a.length; i++) {
    first += a[i] * a[i];
    second += b[i] * b[i];
    dot += a[i] * b[i];
    difference += (a[i] - b[i]) * (a[i] - b[i]);
  }
  return [first, second, dot, difference];
}

function jsHistogram(data, min, max, bins) {
  const counts = new Uint32Array(bins);
  const scale = bins / (max - min);
  for (let i = 0; i < data.length; i++) {
    const x = data[i];
    if (x >= min && x <= max) counts[Math.min(bins - 1, ((x - min) * scale) | 0)]++;
  }
  return counts;
}

function jsUnits(data, { units: count, innerSize = 1 }) {
  const sums = new Float64Array(count);
  const zeros = new Uint32Array(count);
  for (let at = 0; at < data.length;) {
    for (let unit = 0; unit < count; unit++) {
      for (const end = at + innerSize; at < end; at++) {
        const x = data[at];
        sums[unit] += x;
        if (x === 0) zeros[unit]++;
      }
    }
  }
  return [sums, zeros];
}
