// The kernels side by side with the limit of memory and with what one would write instead. `node bench/kernels.mjs`
// Every row is the median of interleaved rounds (and the best of them, for machines that are busy with other things); read the
// ratios, not the milliseconds. Results: bench/results/kernels.json.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'vite';
import { median } from './harness.mjs';

const ROUNDS = Math.max(7, Number(process.env['QUARK_BENCH_ROUNDS'] ?? 31));
// Shorter than the slice of time a busy machine gives a process, so that most rounds are not cut in two.
const ROUND_MS = 1.5;
const WARM_UP_MS = 150;
const here = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));

/** The sources as one plain module in build/bench, with the worker's text inside. */
async function loadKernels() {
  const bundle = async (entry, plugins) => {
    const built = await build({
      configFile: false,
      root: here(''),
      logLevel: 'error',
      plugins,
      build: {
        write: false,
        target: 'es2022',
        minify: false,
        lib: { entry: here(entry), formats: ['es'], fileName: 'bench' },
      },
    });
    return [built].flat()[0].output;
  };
  const [worker] = await bundle('worker/kernel-worker.ts', []);
  const text = {
    name: 'inline-worker',
    resolveId: (id) =>
      id === 'virtual:quark-inline-worker' || id === 'bench:kernels' ? `\0${id}` : undefined,
    load: (id) =>
      id === '\0virtual:quark-inline-worker'
        ? `export default ${JSON.stringify(worker.code)};`
        : undefined,
  };
  const folder = here('build/bench/');
  mkdirSync(folder, { recursive: true });
  const modules = {};
  for (const name of ['kernels', 'js-kernel', 'wasm-kernel']) {
    const output = await bundle(`src/kernel/${name}.ts`, [text]);
    for (const [i, file] of output.entries())
      writeFileSync(`${folder}${i === 0 ? `${name}.mjs` : file.fileName}`, file.code);
    Object.assign(modules, await import(pathToFileURL(`${folder}${name}.mjs`).href));
  }
  return modules;
}

/** Times every case in turn, `ROUNDS` times over; median and best, in milliseconds a call. */
async function measure(cases) {
  const times = Object.fromEntries(Object.keys(cases).map((name) => [name, []]));
  const repeats = {};
  for (const [name, work] of Object.entries(cases)) {
    const start = performance.now();
    let count = 0;
    do {
      const pending = work();
      if (pending instanceof Promise) await pending;
      count += 1;
    } while (performance.now() - start < WARM_UP_MS);
    repeats[name] = Math.max(1, Math.round((count * ROUND_MS) / (performance.now() - start)));
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, work] of Object.entries(cases)) {
      const start = performance.now();
      for (let i = 0; i < repeats[name]; i++) {
        const pending = work();
        if (pending instanceof Promise) await pending;
      }
      times[name].push((performance.now() - start) / repeats[name]);
    }
  }
  return Object.fromEntries(
    Object.entries(times).map(([name, list]) => [
      name,
      { median: median(list), best: Math.min(...list) },
    ]),
  );
}

const results = [];

function report(title, bytes, times, limit) {
  console.log(`\n${title}`);
  console.log(
    `${'way'.padEnd(50)}${'ms'.padStart(11)}${'GB/s'.padStart(9)}${'of the limit'.padStart(14)}${'best: GB/s'.padStart(13)}${'of the limit'.padStart(14)}`,
  );
  for (const [name, { median: ms, best }] of Object.entries(times)) {
    const ratio = times[limit].median / ms;
    const bestRatio = times[limit].best / best;
    console.log(
      `${name.padEnd(50)}${ms.toFixed(5).padStart(11)}${(bytes / ms / 1e6).toFixed(2).padStart(9)}${ratio.toFixed(3).padStart(14)}${(bytes / best / 1e6).toFixed(2).padStart(13)}${bestRatio.toFixed(3).padStart(14)}`,
    );
    results.push({
      title,
      name,
      bytes,
      ms,
      bestMs: best,
      gigabytesPerSecond: bytes / ms / 1e6,
      ratioToLimit: ratio,
      bestRatioToLimit: bestRatio,
      limit,
    });
  }
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

/** Milliseconds of the calling thread that one awaited call takes, and milliseconds until its answer. */
async function callCost(work) {
  const active = [];
  const elapsed = [];
  for (let round = 0; round < ROUNDS; round++) {
    let count = 0;
    const before = performance.eventLoopUtilization();
    const start = performance.now();
    do {
      await work();
      count += 1;
    } while (performance.now() - start < 4);
    elapsed.push((performance.now() - start) / count);
    active.push(performance.eventLoopUtilization(before).active / count);
  }
  return { activeMs: median(active), elapsedMs: median(elapsed) };
}

execFileSync(
  process.execPath,
  [
    here('node_modules/assemblyscript/bin/asc.js'),
    'bench/memory-sum.ts',
    '-O3',
    '--noAssert',
    '--runtime',
    'stub',
    '--enable',
    'simd',
    '--importMemory',
    '--config',
    'none',
    '-o',
    'build/memory-sum.wasm',
  ],
  { cwd: here('') },
);
const { createKernels, jsKernel, loadWasmKernel } = await loadKernels();
const exports = new WebAssembly.Instance(
  new WebAssembly.Module(readFileSync(here('build/quark.wasm'))),
).exports;
const { memory } = exports;
const { sum } = new WebAssembly.Instance(
  new WebAssembly.Module(readFileSync(here('build/memory-sum.wasm'))),
  { env: { memory } },
).exports;
memory.grow(1200);
const base = exports.heapBase();
const [state, table, beside, data] = [
  base,
  base + 256,
  base + 256 + 1056 * 16,
  (base + 131_072) & ~63,
];

const wasmKernel = await loadWasmKernel();
const shared = await createKernels({ inlineBytes: 0 });
const transferred = await createKernels({ inlineBytes: 0, sharedMemory: false });
const inline = await createKernels({ inlineBytes: 2 ** 30 });

const normal = (length) =>
  Float32Array.from(
    { length },
    () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random()),
  );

/** Values as 16-bit patterns, cut off rather than rounded; float16 for sizes from 2^-14 to 65504. */
const halves = (values, type) =>
  Uint16Array.from(new Uint32Array(Float32Array.from(values).buffer), (word) => {
    if (type === 'bfloat16') return word >>> 16;
    return ((word >>> 16) & 0x8000) | Math.max(0, ((word & 0x7fffffff) >>> 13) - (112 << 10));
  });

for (const [label, length] of [
  ['4 KB', 1024],
  ['256 KB', 65_536],
  ['64 MB', 16_777_216],
]) {
  const tensor = normal(length);
  new Float32Array(memory.buffer, data, length).set(tensor);
  const cases = {
    'SIMD sum, data in WASM (limit)': () => sum(data, length),
    'statistics, data in WASM': () => {
      exports.statsReset(state);
      exports.statsF32(data, length, 1e-8, Infinity, state);
    },
    'statistics, copy included': () => wasmKernel.tensorStats(tensor, { epsilon: 1e-8 }),
    'inline path, checks and promise': () => inline.tensorStats(tensor, { epsilon: 1e-8 }),
    'worker path, shared memory, to the answer': () =>
      shared.tensorStats(tensor, { epsilon: 1e-8 }),
    'worker path, transfer, to the answer': () =>
      transferred.tensorStats(tensor, { epsilon: 1e-8 }),
    'JavaScript, one naive pass': () => jsOnePass(tensor),
    'plain-JS kernel': () => jsKernel.tensorStats(tensor, { epsilon: 1e-8 }),
  };
  report(
    `tensor statistics, float32, ${label}`,
    length * 4,
    await measure(cases),
    'SIMD sum, data in WASM (limit)',
  );
}

{
  // The same number of bytes of every type, and float32 data that is harder than a normal distribution around 0.
  const bytes = 262_144;
  const values = normal(bytes);
  const round = (x) => Math.max(0, Math.min(255, Math.round(x * 40 + 128)));
  const tensors = {
    'float32, normal': ['statsF32', new Float32Array(values.subarray(0, bytes / 4))],
    'float32, mean 5 (counted from a shift)': [
      'statsF32',
      values.subarray(0, bytes / 4).map((x) => x + 5),
    ],
    'float32, half of it zeros (counted one by one)': [
      'statsF32',
      values.subarray(0, bytes / 4).map((x) => Math.max(0, x)),
    ],
    'float32, NaN in every block (the careful way)': [
      'statsF32',
      values.subarray(0, bytes / 4).map((x, i) => (i % 1024 === 0 ? Number.NaN : x)),
    ],
    float64: ['statsF64', Float64Array.from(values.subarray(0, bytes / 8))],
    'int32, below 2^26 (exact sums)': [
      'statsI32',
      Int32Array.from(values.subarray(0, bytes / 4), (x) => x * 1000),
    ],
    'int32, any (the careful way)': [
      'statsI32',
      Int32Array.from(values.subarray(0, bytes / 4), (x) => x * 2 ** 28),
    ],
    'uint8 or bool (exact sums)': ['statsU8', Uint8Array.from(values, round)],
    'float16 bits': ['statsF16', halves(values.subarray(0, bytes / 2), 'float16')],
    'bfloat16 bits': ['statsBF16', halves(values.subarray(0, bytes / 2), 'bfloat16')],
  };
  const cases = {};
  let at = data;
  for (const [name, [run, tensor]] of Object.entries(tensors)) {
    const place = at;
    new Uint8Array(memory.buffer, place, bytes).set(new Uint8Array(tensor.buffer, 0, bytes));
    cases[name] = () => {
      exports.statsReset(state);
      exports[run](place, tensor.length, 1e-8, Infinity, state);
    };
    at += bytes;
  }
  const limit = 'SIMD sum, data in WASM (limit)';
  report(
    'tensor statistics by type, 256 KB in WASM',
    bytes,
    await measure({ [limit]: () => sum(data, bytes / 4), ...cases }),
    limit,
  );
}

{
  const length = 65_536;
  const first = normal(length);
  const second = first.map((x) => x * 1.01);
  for (const { type, run, a, b } of [
    { type: 'float32', run: 'pairF32', a: first, b: second },
    { type: 'float64', run: 'pairF64', a: Float64Array.from(first), b: Float64Array.from(second) },
  ]) {
    const there = data + a.byteLength;
    new Uint8Array(memory.buffer, data, a.byteLength).set(new Uint8Array(a.buffer));
    new Uint8Array(memory.buffer, there, a.byteLength).set(new Uint8Array(b.buffer));
    const limit = 'SIMD sum of both, data in WASM (limit)';
    report(
      `two tensors, ${type}, 65,536 elements each`,
      2 * a.byteLength,
      await measure({
        [limit]: () => sum(data, a.byteLength / 2),
        'compared, data in WASM': () => exports[run](data, there, length, state),
        'compared, copy included': () => wasmKernel.tensorPairStats(a, b),
        'inline path, checks and promise': () => inline.tensorPairStats(a, b),
        'JavaScript, one naive pass': () => jsPair(a, b),
        'plain-JS kernel': () => jsKernel.tensorPairStats(a, b),
      }),
      limit,
    );
  }
}

{
  const length = 1_000_000;
  const tensor = normal(length);
  new Float32Array(memory.buffer, data, length).set(tensor);
  const range = { min: -5, max: 5 };
  const times = await measure({
    'SIMD sum, data in WASM (limit)': () => sum(data, length & ~31),
    'histogram, data in WASM': () => {
      exports.histogramReset(table, 64, beside);
      exports.histogramF32(data, length, -5, 5, 64, table, beside);
    },
    'histogram, copy included': () => wasmKernel.histogram(tensor, { bins: 64, range }),
    'histogram, range found first': () => wasmKernel.histogram(tensor, { bins: 64 }),
    'JavaScript loop': () => jsHistogram(tensor, -5, 5, 64),
    'plain-JS kernel': () => jsKernel.histogram(tensor, { bins: 64, range }),
  });
  report('histogram, 64 bins, 1 M float32', length * 4, times, 'SIMD sum, data in WASM (limit)');
}

console.log('\ncost of one call to the calling thread (ms), and time to the answer (ms)');
console.log(
  `${'size'.padEnd(10)}${'inline'.padStart(10)}${'shared'.padStart(10)}${'answer'.padStart(10)}${'transfer'.padStart(10)}${'answer'.padStart(10)}`,
);
for (const kilobytes of [16, 64, 128, 256, 512, 1024, 4096, 16_384]) {
  const tensor = normal(kilobytes * 256);
  const calls = {
    statistics: (kernels) => kernels.tensorStats(tensor),
    histogram: (kernels) => kernels.histogram(tensor, { bins: 64 }),
  };
  for (const [what, call] of Object.entries(calls)) {
    const stayed = await callCost(() => call(inline));
    const there = await callCost(() => call(shared));
    const moved = await callCost(() => call(transferred));
    const cells = [
      stayed.activeMs,
      there.activeMs,
      there.elapsedMs,
      moved.activeMs,
      moved.elapsedMs,
    ];
    console.log(
      `${`${kilobytes} KB`.padEnd(10)}${cells.map((ms) => ms.toFixed(4).padStart(10)).join('')}  ${what}`,
    );
    results.push({
      title: 'cost of a call',
      name: what,
      bytes: kilobytes * 1024,
      inlineMs: stayed.activeMs,
      sharedMs: there.activeMs,
      sharedAnswerMs: there.elapsedMs,
      transferMs: moved.activeMs,
      transferAnswerMs: moved.elapsedMs,
    });
  }
}

const file = here('bench/results/kernels.json');
mkdirSync(here('bench/results'), { recursive: true });
writeFileSync(
  file,
  `${JSON.stringify({ node: process.version, cpu: cpus()[0]?.model, rounds: ROUNDS, results }, null, 2)}\n`,
);
console.log('\nwritten: bench/results/kernels.json');
await Promise.all([shared, transferred, inline].map((kernels) => kernels.close()));
