// The kernels side by side with the limit of memory and with what one would use instead.
//
//   npm run bench -- kernels                        all parts, in Node
//   npm run bench -- kernels --only=tensor,order    some parts
//   npm run bench -- kernels --chromium             the same in headless Chromium
//
// Every figure is the median of interleaved rounds (QUARK_BENCH_ROUNDS, 15); read the ratios, not the milliseconds. Results as JSON
// under bench/results/. Needs the kernels compiled (`npm run wasm`), nothing else of a build.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, runnerImport } from 'vite';
import { layOut } from './kernels/support.mjs';

const here = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const folder = here('build/bench/');
const known = readdirSync(here('bench/kernels'))
  .filter((file) => file.endsWith('.mjs') && !['support.mjs', 'inside.mjs'].includes(file))
  .map((file) => file.slice(0, -'.mjs'.length));

const options = new Map(
  process.argv.slice(2).map((argument) => {
    const [name, value] = argument.replace(/^--/, '').split('=');
    return [name, value ?? ''];
  }),
);
const isChromium = options.has('chromium');
const where = isChromium ? 'chromium' : 'node';
const rounds = Number(process.env['QUARK_BENCH_ROUNDS'] ?? 15);
const parts = (options.get('only')?.split(',') ?? known).filter(
  (name) => !(isChromium && name === 'compare'),
);
const unknown = parts.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  console.error(`No part is called ${unknown.join(', ')}. There are: ${known.join(', ')}.`);
  process.exit(2);
}

/** A part with the sources it imports, as plain modules in build/bench. */
async function bundle(part) {
  const { module } = await runnerImport(here('scripts/vite-plugins.ts'));
  await build({
    configFile: false,
    root: here(''),
    logLevel: 'error',
    plugins: [module.inlineWorker()],
    build: {
      outDir: folder,
      emptyOutDir: false,
      target: 'es2022',
      minify: false,
      lib: { entry: here(`bench/kernels/${part}.mjs`), formats: ['es'], fileName: part },
      rolldownOptions: { external: [/^node:/, /^@tensorflow\//] },
    },
  });
}

/** The plain SIMD sum of bench/memory-sum.ts. */
function compileMemorySum() {
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
      'build/bench/memory-sum.wasm',
    ],
    { cwd: here('') },
  );
  return readFileSync(`${folder}memory-sum.wasm`);
}

const tables = [];

function report(part, table) {
  const { lines, rows } = layOut(table);
  console.log(`\n${lines.join('\n')}`);
  tables.push({ part, ...rows });
}

async function runInNode(sumModule) {
  for (const part of parts) {
    const { run } = await import(pathToFileURL(`${folder}${part}.js`).href);
    await run({
      where,
      rounds,
      root: here(''),
      report: (table) => report(part, table),
      memorySum: (memory) =>
        new WebAssembly.Instance(new WebAssembly.Module(sumModule), { env: { memory } }).exports
          .sum,
    });
  }
}

/** The same parts in a page that may share memory with its workers. */
async function runInChromium(sumModule) {
  const { inChromium } = await import('./chromium.mjs');
  const index = '<!doctype html><title>kernels</title>';
  await inChromium(folder, { index, isIsolated: true }, async (browser, url) => {
    const page = await browser.newPage();
    page.on('pageerror', (error) => console.error(error));
    await page.exposeFunction('quarkReport', report);
    await page.goto(url);
    for (const part of parts) {
      await page.evaluate(
        async ({ name, roundCount, sumBytes }) => {
          const { run } = await import(`/${name}.js`);
          await run({
            where: 'chromium',
            rounds: roundCount,
            report: (table) => globalThis.quarkReport(name, table),
            memorySum: (memory) =>
              new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(sumBytes)), {
                env: { memory },
              }).exports.sum,
          });
        },
        { name: part, roundCount: rounds, sumBytes: [...sumModule] },
      );
    }
  });
}

/** Other people's packages, which nothing but the comparison needs, lie in bench/node_modules. */
function installLibraries() {
  if (existsSync(here('bench/node_modules'))) return;
  console.log('Installing the libraries to compare with ...');
  const npm = process.env['npm_execpath'];
  const [command, first] = npm === undefined ? ['npm', []] : [process.execPath, [npm]];
  execFileSync(command, [...first, 'ci', '--no-audit', '--no-fund'], {
    cwd: here('bench'),
    stdio: 'inherit',
  });
}

if (parts.includes('compare') && !isChromium) installLibraries();
mkdirSync(folder, { recursive: true });
mkdirSync(here('bench/results'), { recursive: true });
for (const part of parts) await bundle(part);
const sumModule = compileMemorySum();
await (isChromium ? runInChromium(sumModule) : runInNode(sumModule));
const file = `bench/results/kernels-${where}.json`;
const machine = { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length };
writeFileSync(here(file), `${JSON.stringify({ where, machine, rounds, tables }, null, 2)}\n`);
const figures = tables.flatMap((table) => table.figures);
console.log(
  `\n${figures.filter((figure) => figure.isMet).length} of ${figures.length} figures reached; written: ${file}`,
);
process.exit(0);
