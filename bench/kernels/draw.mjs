// Reduction for drawing, against the plain SIMD sum of the same bytes and against the loops one would write in JavaScript.
import { compileSeries, SeriesModule } from '../../src/kernel/series/module/module.ts';
import { SeriesPyramid } from '../../src/kernel/series/draw/draw-pyramid.ts';
import { createWasmSeriesKernel, jsSeriesKernel } from '../../src/kernel/series/series-kernel.ts';
import { measure, random } from './support.mjs';

const LIMIT = 'SIMD sum, data in WASM (limit)';
const PIXELS = 1000;

/** A loss as it looks: falling, noisy, with spikes. */
function losses(length) {
  const next = random(7);
  return Float64Array.from(
    { length },
    (_, i) => 3 / (1 + i / 1e5) + 0.1 * next() + (next() < 1e-5 ? 5 : 0),
  );
}

export async function run(bench) {
  const module = await compileSeries();
  const kernel = createWasmSeriesKernel(new SeriesModule(module));
  for (const [label, length] of [
    ['1 M', 1_000_000],
    ['10 M', 10_000_000],
  ]) {
    await reductions(bench, module, kernel, label, losses(length));
  }
  await pyramids(bench, kernel);
}

async function reductions(bench, module, kernel, label, values) {
  const { length } = values;
  const { exports } = new WebAssembly.Instance(module, { memory: { scratch: 0 } });
  const { memory } = exports;
  const edges = (exports.heapBase() + 15) & ~15;
  const out = edges + 16_384;
  const data = (out + 16_384 + 63) & ~63;
  memory.grow(Math.ceil((data + 8 * length - memory.buffer.byteLength) / 65_536) + 1);
  new Float64Array(memory.buffer, data, length).set(values);
  const buckets = PIXELS;
  const starts = new Uint32Array(memory.buffer, edges, buckets + 2);
  const byIndex = () => {
    for (let b = 0; b <= buckets; b++) starts[b] = Math.floor((b * length) / buckets);
  };
  const byTriangle = () => {
    for (let b = 0; b <= buckets; b++) starts[b] = 1 + Math.floor((b * (length - 2)) / buckets);
    starts[buckets + 1] = length;
  };
  const sum = bench.memorySum(memory);
  const positions = Float64Array.from(values, (_, i) => 2 * i);
  const inside = 'M4 and min-max, data in WASM';
  const triangles = 'LTTB, data in WASM';
  const limit = `${LIMIT.slice(0, -1)}, ${length * 8} bytes)`;
  const times = await measure({
    [limit]: () => sum(data, length * 2),
    [inside]: () => {
      byIndex();
      exports.drawExtremes(data, 0, edges, buckets, out);
    },
    [triangles]: () => {
      byTriangle();
      exports.drawLttb(data, 0, edges, buckets, 0, 0, values[0], out);
    },
    'm4, copy included': () => kernel.m4(values, { buckets }),
    'm4 by position, copies included': () => kernel.m4(values, { buckets, positions }),
    'minMax, copy included': () => kernel.minMax(values, { buckets }),
    'lttb, copy included': () => kernel.lttb(values, { points: buckets }),
    'lttb by position, copies included': () => kernel.lttb(values, { points: buckets, positions }),
    'lttb after min-max, copy included': () =>
      kernel.lttb(values, { points: buckets, minMaxRatio: 4 }),
    'm4, plain-JS twin': () => jsSeriesKernel.m4(values, { buckets }),
    'lttb, plain-JS twin': () => jsSeriesKernel.lttb(values, { points: buckets }),
    'lowest and highest, a loop in JavaScript': () => loopExtremes(values, buckets),
  });
  bench.report({
    title: `reduction of ${label} values to ${PIXELS} buckets or points`,
    amount: length,
    unit: 'points',
    times,
    reference: limit,
    targets: [
      {
        what: 'M4 and min-max, a thousand million points a second',
        fast: inside,
        atMostMs: length / 1e6,
      },
      { what: 'LTTB, 400 million points a second', fast: triangles, atMostMs: length / 4e5 },
    ],
  });
}

async function pyramids(bench, kernel) {
  const values = losses(1_000_000);
  const positions = Float64Array.from(values, (_, i) => 2 * i);
  const { length } = values;
  const pyramid = new SeriesPyramid();
  pyramid.extendTo(values, positions);
  const growing = new SeriesPyramid();
  let from = 0;
  const part = values.subarray(0, 1000);
  const whole = { buckets: PIXELS };
  const half = { buckets: PIXELS, from: length / 2, to: (3 * length) / 2 };
  const times = await measure({
    'm4 by position, copies included': () => kernel.m4(values, { positions, ...whole }),
    'pyramid: all of 1 M points': () => pyramid.query(whole),
    'pyramid: the middle half': () => pyramid.query(half),
    'pyramid: a thousandth': () =>
      pyramid.query({ buckets: PIXELS, from: length, to: 1.001 * length }),
    'pyramid: built from 1 M points, by reference': () =>
      new SeriesPyramid().extendTo(values, positions),
    'pyramid: 1,000 points appended': () => {
      from += part.length;
      growing.append(part);
    },
  });
  bench.report({
    title: 'pyramid of 1 M points, 1,000 buckets asked for',
    amount: length,
    unit: 'points',
    times,
    reference: 'm4 by position, copies included',
  });
}

function loopExtremes(values, buckets) {
  const kept = new Uint32Array(2 * buckets);
  for (let b = 0; b < buckets; b++) {
    const end = Math.floor(((b + 1) * values.length) / buckets);
    let low = Math.floor((b * values.length) / buckets);
    let high = low;
    for (let i = low; i < end; i++) {
      if (values[i] < values[low]) low = i;
      if (values[i] > values[high]) high = i;
    }
    kept[2 * b] = low;
    kept[2 * b + 1] = high;
  }
  return kept;
}
