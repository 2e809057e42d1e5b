// What the benchmarks share: interleaved rounds, medians, a table, a file of results.
import { mkdir, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';

/**
 * Runs every case once to warm up and then once a round, in turn; returns the median of each in milliseconds. No garbage
 * collection is forced in between: that throws away compiled code, which no program does while it trains.
 */
export async function interleaved(cases, rounds = 7) {
  const times = new Map(Object.keys(cases).map((name) => [name, []]));
  for (let round = -1; round < rounds; round++) {
    for (const [name, work] of Object.entries(cases)) {
      const before = performance.now();
      const own = await work();
      const ms = typeof own === 'number' ? own : performance.now() - before;
      if (round >= 0) times.get(name).push(ms);
    }
  }
  return Object.fromEntries([...times].map(([name, list]) => [name, median(list)]));
}

export function median(list) {
  const sorted = list.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Prints rows of [what, figure, unit, limit] and keeps them under bench/results/. */
export async function report(name, rows) {
  console.log(`\n${name}`);
  for (const { what, value, unit, target } of rows) {
    console.log(
      `  ${what.padEnd(62)} ${format(value).padStart(10)} ${unit}${target === undefined ? '' : `   (${target})`}`,
    );
  }
  await save(name, rows);
}

/** Keeps rows under bench/results/. */
export async function save(name, rows) {
  const folder = fileURLToPath(new URL('results/', import.meta.url));
  await mkdir(folder, { recursive: true });
  const machine = { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length };
  await writeFile(`${folder}${name}.json`, `${JSON.stringify({ name, machine, rows }, null, 2)}\n`);
}

function format(value) {
  return Math.abs(value) >= 100
    ? value.toFixed(0)
    : Math.abs(value) >= 10
      ? value.toFixed(1)
      : value.toFixed(2);
}
