// Change points: 20 true ones in 10^4 to 10^7 noisy values, typical and hostile curves, and the plain ways beside them.
import { jsChange } from '../../src/kernel/series/change/change-js.ts';
import { wasmChange } from '../../src/kernel/series/change/change-wasm.ts';
import { compileSeries, copyIn, SeriesModule } from '../../src/kernel/series/module/module.ts';
import { measure, normal, steps } from './support.mjs';

/** Made curves of `length` values: what the search is timed on besides steps. */
const CURVES = {
  'noise, no change': (noise) => noise,
  'loss curve: exponential decay and noise': (noise, share) =>
    0.5 + 2 * Math.exp(-10 * share) + 0.05 * noise,
  'loss curve: power law and noise': (noise, share, i) => 3 * (1 + i) ** -0.3 + 0.02 * noise,
  'steep ramp and noise': (noise, _share, i) => 0.3 * i + noise,
  'ramp without noise': (_noise, _share, i) => i,
  'exponential decay without noise': (_noise, share) => Math.exp(-10 * share),
  'heavy tails': (noise, _share, i) => noise / (Math.abs(Math.sin(i * 12.9898)) + 1e-3),
};

function curve(make, length) {
  const noise = normal(length, { seed: 8 });
  return noise.map((value, i) => make(value, i / length, i));
}

export async function run(bench) {
  const module = new SeriesModule(await compileSeries());
  const wasm = wasmChange(module);
  const exactly = { exactLimit: 2 ** 26 };
  for (const length of [10_000, 100_000, 1_000_000, 10_000_000]) {
    const values = steps(length);
    const found = wasm.changePoints(values).indices.length;
    const cases = {
      'mean (copied in)': () => wasm.changePoints(values),
      'copy into WebAssembly alone': () =>
        module.use([], (_functions, arena) => copyIn(arena, values)),
      'mean, bounded loss': () => wasm.changePoints(values, { loss: 'biweight' }),
      slope: () => wasm.changePoints(values, { model: 'slope' }),
    };
    if (length <= 1_000_000)
      cases['mean, exact search of all values'] = () => wasm.changePoints(values, exactly);
    if (length <= 100_000) cases['plain JavaScript twin'] = () => jsChange.changePoints(values);
    if (length === 10_000)
      cases['optimal partitioning in JavaScript, no pruning'] = () => unpruned(values);
    const times = await measure(cases, { rounds: length >= 1_000_000 ? 7 : undefined });
    const targets = [];
    if (length === 10_000)
      targets.push({
        what: 'as fast as without pruning',
        fast: 'mean (copied in)',
        slow: 'optimal partitioning in JavaScript, no pruning',
        atLeast: 20,
      });
    // changepoint (R) 1.9 s, ruptures 34 s on a machine like ours: a hundredth of the faster.
    if (length === 100_000)
      targets.push({ what: '100 times R changepoint', fast: 'mean (copied in)', atMostMs: 19 });
    if (length === 1_000_000)
      targets.push({ what: 'a million', fast: 'mean (copied in)', atMostMs: 60 });
    if (length === 10_000_000)
      targets.push({ what: 'ten million', fast: 'mean (copied in)', atMostMs: 600 });
    bench.report({
      title: `change points: ${length} values with 20 changes (${found} found)`,
      amount: length,
      unit: 'values',
      times,
      reference: 'mean (copied in)',
      targets,
    });
  }
  for (const options of [{}, { model: 'slope' }]) {
    const length = 1_000_000;
    const cases = {};
    for (const [name, make] of Object.entries(CURVES)) {
      const values = curve(make, length);
      const changes = wasm.changePoints(values, options).indices.length;
      cases[`${name} (${changes})`] = () => wasm.changePoints(values, options);
    }
    bench.report({
      title: `change points of other curves, model ${options.model ?? 'mean'}: ${length} values (changes found)`,
      amount: length,
      unit: 'values',
      times: await measure(cases, { rounds: 7 }),
    });
  }
}

/** Optimal partitioning of the mean as one would write it: every beginning for every end. */
function unpruned(values) {
  const { length } = values;
  const sums = new Float64Array(length + 1);
  const squares = new Float64Array(length + 1);
  for (let i = 0; i < length; i++) {
    sums[i + 1] = sums[i] + values[i];
    squares[i + 1] = squares[i] + values[i] ** 2;
  }
  const penalty = 2 * Math.log(length);
  const costs = new Float64Array(length + 1);
  costs[0] = -penalty;
  for (let end = 1; end <= length; end++) {
    let least = Infinity;
    for (let start = 0; start < end; start++) {
      const sum = sums[end] - sums[start];
      const cost =
        costs[start] + squares[end] - squares[start] - (sum * sum) / (end - start) + penalty;
      if (cost < least) least = cost;
    }
    costs[end] = least;
  }
  return costs[length];
}
