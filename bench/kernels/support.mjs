// What the parts of the kernel benchmark share. A part is a module that runs in Node and in a page alike: it imports the sources it
// measures and exports
//
//   export async function run(bench)
//
// `bench.report({...})` takes one table (see below), `bench.memorySum(memory)` gives the plain SIMD sum over a WebAssembly memory, the
// limit for kernels that read memory once, `bench.where` is 'node' or 'chromium'. The runner, ../kernels.mjs, bundles the part.

/** Shorter than the slice of time a busy machine gives a process, so that most rounds are not cut in two. */
const ROUND_MS = 1.5;
const WARM_UP_MS = 150;

/**
 * Times every case in turn, `rounds` times over (7 or more): median and best, in milliseconds a call. A case may be async. Short calls
 * are repeated within a round. A case that returns a number under the key `ms` of an object is taken at its word: `{ ms: 3.2 }`.
 */
export async function measure(cases, { rounds = 15 } = {}) {
  const times = Object.fromEntries(Object.keys(cases).map((name) => [name, []]));
  const repeats = {};
  for (const [name, work] of Object.entries(cases)) {
    const start = performance.now();
    let count = 0;
    do {
      await settle(work());
      count += 1;
    } while (performance.now() - start < WARM_UP_MS);
    repeats[name] = Math.max(1, Math.round((count * ROUND_MS) / (performance.now() - start)));
  }
  for (let round = 0; round < Math.max(7, rounds); round++) {
    for (const [name, work] of Object.entries(cases)) {
      let own;
      const start = performance.now();
      for (let i = 0; i < repeats[name]; i++) {
        const pending = work();
        own = pending instanceof Promise ? await pending : pending;
      }
      const ms = (performance.now() - start) / repeats[name];
      times[name].push(typeof own?.ms === 'number' ? own.ms : ms);
    }
  }
  return Object.fromEntries(
    Object.entries(times).map(([name, list]) => [
      name,
      { ms: median(list), bestMs: Math.min(...list) },
    ]),
  );
}

async function settle(value) {
  if (value instanceof Promise) await value;
}

export function median(list) {
  const sorted = [...list].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** A generator of uniform numbers in [0, 1) (mulberry32), so that two runs measure the same data. */
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** `length` values of a normal distribution, as float64. */
export function normal(length, { seed = 1, mean = 0, std = 1 } = {}) {
  const next = random(seed);
  const values = new Float64Array(length);
  for (let i = 0; i < length; i++)
    values[i] = mean + std * Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
  return values;
}

/** The seven quantiles that are asked for. */
export const SHARES = [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99];

/** Levels of the 21 segments, in units of the noise. */
const LEVELS = [
  0, 1, 0.4, 1.5, 0.2, 2, 1, 0.5, 1.2, 0, 0.8, 0.3, 2.5, 2, 1, 1.6, 0.6, 0, 0.7, 1.4, 0.5,
];

/** `length` noisy values with 20 changes of their mean. */
export function steps(length) {
  const noise = normal(length, { seed: 7 });
  return noise.map((value, i) => value + LEVELS[Math.floor((i * LEVELS.length) / length)]);
}

/**
 * One table, as lines of text and as rows for the file of results.
 *
 * @param table.title what was measured
 * @param table.amount how much of it one call works on
 * @param table.unit of the amount: 'bytes' (shown as GB/s) or what is counted (shown as M/s)
 * @param table.times what `measure` returned
 * @param table.reference the case the others are compared with: the column says how many times as fast as it they are
 * @param table.targets figures to reach: `{ what, fast, slow, atLeast }` or `{ ..., atMost }`, of the time of `slow` divided by that of
 *   `fast`; `{ what, fast, atMostMs }` of a time
 */
export function layOut({ title, amount, unit, times, reference, targets = [] }) {
  const scale = unit === 'bytes' ? 1e6 : 1e3;
  const rateUnit = unit === 'bytes' ? 'GB/s' : `M ${unit}/s`;
  const lines = [
    title,
    `  ${'way'.padEnd(54)}${'ms'.padStart(11)}${rateUnit.padStart(14)}${'x reference'.padStart(13)}${'best ms'.padStart(11)}`,
  ];
  const rows = [];
  for (const [way, { ms, bestMs }] of Object.entries(times)) {
    const rate = amount / ms / scale;
    const ratio = reference === undefined ? undefined : times[reference].ms / ms;
    lines.push(
      `  ${way.padEnd(54)}${digits(ms).padStart(11)}${digits(rate).padStart(14)}${(ratio === undefined ? '' : digits(ratio)).padStart(13)}${digits(bestMs).padStart(11)}`,
    );
    rows.push({ way, ms, bestMs, rate, rateUnit, ratioToReference: ratio });
  }
  const figures = [];
  for (const { what, fast, slow, atLeast, atMost, atMostMs } of targets) {
    if (times[fast] === undefined || (slow !== undefined && times[slow] === undefined)) continue;
    const value = slow === undefined ? times[fast].ms : times[slow].ms / times[fast].ms;
    const isMet =
      atLeast !== undefined ? value >= atLeast : value <= (atMost ?? atMostMs ?? Infinity);
    const asked =
      atLeast !== undefined
        ? `at least ${atLeast}`
        : `at most ${atMost ?? atMostMs}${atMostMs === undefined ? '' : ' ms'}`;
    lines.push(`  ${isMet ? 'reached' : 'MISSED '}  ${what}: ${digits(value)} (${asked})`);
    figures.push({ what, value, asked, isMet });
  }
  return { lines, rows: { title, amount, unit, reference, rows, figures } };
}

function digits(value) {
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 100) return value.toFixed(0);
  if (size >= 10) return value.toFixed(1);
  if (size >= 0.1) return value.toFixed(3);
  return value.toPrecision(3);
}
