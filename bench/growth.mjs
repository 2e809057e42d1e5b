// How costs grow with the length of a run: four sizes each, with the exponent of the curve (1: twice the rows, twice the cost).
//
//   npm run bench -- growth                       everything
//   npm run bench -- growth --only=last,merge     some parts
//   npm run bench -- growth --before=DIR          another checkout with a build, measured in turn with this one
//   npm run bench -- growth --sizes=1e5,3e5,1e6,3e6 --rounds=3
//
// Each size of each side is measured in a process of its own, in turn, so that one's memory does not count for another. Of each figure
// the median of the rounds; the load of the machine is printed with it. A part is a file in growth/ and a line here.
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { median, save } from './harness.mjs';

const PARTS = ['last', 'merge', 'import', 'read', 'compare', 'writers'];

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: PARTS.join(',') },
    before: { type: 'string' },
    sizes: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    child: { type: 'string' },
    root: { type: 'string' },
    size: { type: 'string' },
    folder: { type: 'string' },
  },
});

const load = async (part) => import(new URL(`growth/${part}.mjs`, import.meta.url).href);
if (options.child === undefined) await main();
else await child();

async function child() {
  const { measure } = await load(options.child);
  const urlOf = (name) => pathToFileURL(join(options.root, 'dist', name)).href;
  const entry = (name) => import(urlOf(name));
  const figures = await measure(Number(options.size), { entry, urlOf, folder: options.folder });
  console.log(JSON.stringify({ ...figures, rssMb: process.resourceUsage().maxRSS / 1024 }));
}

async function main() {
  const here = resolve(fileURLToPath(new URL('..', import.meta.url)));
  const sides = { now: here };
  if (options.before !== undefined) sides.before = resolve(options.before);
  const build = join(here, 'build');
  await mkdir(build, { recursive: true });
  const root = await mkdtemp(join(build, 'bench-growth-'));
  const rows = [];
  try {
    for (const part of options.only.split(',')) {
      const { sizes: own, title } = await load(part);
      const sizes = options.sizes?.split(',').map(Number) ?? own;
      const found = await measured(part, sizes, sides, root);
      print(part, title, sizes, found);
      for (const [side, bySize] of Object.entries(found))
        for (const [at, figures] of bySize.entries())
          for (const [what, value] of Object.entries(figures))
            rows.push({ part, side, size: sizes[at], what, value });
    }
  } finally {
    await rm(root, { recursive: true, force: true });
  }
  await save('growth', rows);
}

/** The medians of all figures, by side and size. */
async function measured(part, sizes, sides, root) {
  const found = Object.fromEntries(Object.keys(sides).map((side) => [side, []]));
  for (const size of sizes) {
    const rounds = Object.fromEntries(Object.keys(sides).map((side) => [side, []]));
    for (let round = 0; round < Number(options.rounds); round++)
      for (const [side, checkout] of Object.entries(sides)) {
        const folder = await mkdtemp(join(root, `${part}-`));
        rounds[side].push(run(part, size, checkout, folder));
        await rm(folder, { recursive: true, force: true });
      }
    for (const [side, all] of Object.entries(rounds))
      found[side].push(
        Object.fromEntries(
          Object.keys(all[0]).map((what) => [what, median(all.map((one) => one[what]))]),
        ),
      );
  }
  return found;
}

function run(part, size, checkout, folder) {
  const args = [`--child=${part}`, `--size=${size}`, `--root=${checkout}`, `--folder=${folder}`];
  const { status, stdout } = spawnSync(
    process.execPath,
    ['--expose-gc', fileURLToPath(import.meta.url), ...args],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 1 << 28 },
  );
  if (status !== 0) throw new Error(`${part} of ${size} ended with ${status}`);
  return JSON.parse(stdout.trim().split('\n').at(-1));
}

function print(part, title, sizes, found) {
  const cell = (text) => String(text).padStart(11);
  console.log(`\n${part}: ${title} (load ${loadavg()[0].toFixed(1)})`);
  console.log(
    `  ${''.padEnd(44)}${sizes.map((size) => cell(short(size))).join('')}${cell('exponent')}`,
  );
  const whats = Object.keys(Object.values(found)[0][0]);
  for (const what of whats)
    for (const [side, bySize] of Object.entries(found)) {
      const values = bySize.map((figures) => figures[what]);
      const label = Object.keys(found).length > 1 ? `${what}, ${side}` : what;
      const cells = values.map((value) => cell(format(value))).join('');
      console.log(`  ${label.padEnd(44)}${cells}${cell(exponent(sizes, values).toFixed(2))}`);
    }
}

/** Of cost = a * size ^ b the least-squares b. */
function exponent(sizes, values) {
  const xs = sizes.map(Math.log);
  const ys = values.map((value) => Math.log(Math.max(value, 1e-9)));
  const mean = (list) => list.reduce((sum, one) => sum + one, 0) / list.length;
  const [mx, my] = [mean(xs), mean(ys)];
  const above = xs.reduce((sum, x, i) => sum + (x - mx) * (ys[i] - my), 0);
  return above / xs.reduce((sum, x) => sum + (x - mx) ** 2, 0);
}

function short(size) {
  return size >= 1e6 ? `${size / 1e6} M` : size >= 1000 ? `${size / 1000} k` : String(size);
}

function format(value) {
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 2);
}
