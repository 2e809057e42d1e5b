// Prints what each browser entry costs a page, minified and gzipped, and fails when the core is over its budget.
// Counted are the entry and every file it imports, statically or dynamically, the inline worker among them. What only a
// page loads that names a service, the outbox and the store over HTTP, is counted apart, with a budget of its own; worker.js,
// series-worker.js and watch-worker.js are the same texts as files of their own, of which a page loads one or the other.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { minifySync, parseSync } from 'vite';
import { BROWSER_ENTRIES } from './entries.mjs';

const dist = fileURLToPath(new URL('../dist/', import.meta.url));

/**
 * Bytes, with 1 kB = 1000 bytes. It was 120,000 until sessions went on without storage and workers saved their rows one by one:
 * both are part of recording in every page, and take some 8 kB. It was 126,000 until the series reader of the page and of
 * analyses became a method of `RunReader` and manifests, runs and leases were declared as shapes: some 4 kB. It was 130,000 until
 * stores deleted runs, tables, artifacts and blobs, and generations fenced sessions and ended runs of closed pages: some 10 kB. It
 * was 141,000 until stores deleted projects and segments said that they were downsampled: some 1 kB. It was 142,000 until layer and
 * parameter summaries had the columns `zeroOutputRatio`, `deadUnitShare` and `valueNormBefore`: their declarations are in every page. It was 142,800 until
 * `MetricsLogger` aggregated metrics and `setTotal` said how long a training is meant to be: 1.3 kB. It was 144,100 until a session began a profile where it is asked
 * to (0.6 kB), and runs had names, groups, notes, summaries and series by context, which others added meanwhile. It was 151,000 until
 * runs were found by conditions (`findRuns`): 2.5 kB.
 */
export const CORE_BUDGET_BYTES = 153_500;
/**
 * What a page loads besides once it names a service. 25,000 until the client checked the names that a service answers with; 26,000 until
 * it compared what was acknowledged with what the service has; 30,000 until deletions and quotas went through it; 33,000 until silences
 * of alerts did: 0.1 kB.
 */
export const SERVICE_BUDGET_BYTES = 33_800;

const SERVICE_CHUNK = /\/chunk-(?:open-outbox|http-store)-/;

/** What a module imports, as written: static imports, re-exports, and dynamic imports of a literal. */
export function importsOf(file) {
  const { module, errors } = parseSync(file, readFileSync(file, 'utf8'));
  if (errors.length > 0) throw new Error(`${file} does not parse: ${errors[0].message}`);
  const text = readFileSync(file, 'utf8');
  const literals = module.dynamicImports.flatMap(({ moduleRequest: { start, end } }) => {
    const match = /^(['"`])(.*)\1$/s.exec(text.slice(start, end));
    return match ? [match[2]] : [];
  });
  return {
    specifiers: [
      ...module.staticImports.map(({ moduleRequest }) => moduleRequest.value),
      ...module.staticExports.flatMap(({ entries }) =>
        entries.flatMap(({ moduleRequest }) => (moduleRequest ? [moduleRequest.value] : [])),
      ),
      ...literals,
    ],
    computedImports: module.dynamicImports.length - literals.length,
  };
}

/** The files of an entry, apart from those and those that a page with a service loads besides. */
export function sharesOf(entry) {
  const { files } = closureOf(entry);
  const own = closureOf(entry, (file) => SERVICE_CHUNK.test(file)).files;
  return { own, service: files.filter((file) => !own.includes(file)) };
}

/** The files a page may load for one entry, and the bare specifiers they would need resolved. */
export function closureOf(entry, leavesOut = () => false) {
  const files = new Set();
  const bare = new Set();
  const visit = (file) => {
    if (files.has(file) || leavesOut(file)) return;
    files.add(file);
    for (const specifier of importsOf(file).specifiers) {
      if (specifier.startsWith('.')) visit(resolve(dirname(file), specifier));
      else bare.add(specifier);
    }
  };
  visit(resolve(entry));
  return { files: [...files], bare: [...bare] };
}

/** Minified and gzipped, each file by itself, as a server would send it. */
export function transferBytes(files) {
  let total = 0;
  for (const file of files) {
    const { code } = minifySync(file, readFileSync(file, 'utf8'), { module: true });
    total += gzipSync(code, { level: 9 }).length;
  }
  return total;
}

const kilobytes = (bytes) => `${(bytes / 1000).toFixed(1)} kB`;

function main() {
  let isOver = false;
  for (const name of [...BROWSER_ENTRIES, 'worker', 'series-worker', 'watch-worker']) {
    const entry = join(dist, `${name}.js`);
    if (!existsSync(entry)) throw new Error(`${entry} is missing. Run "npm run build" first.`);
    const { own, service } = sharesOf(entry);
    const bytes = transferBytes(own);
    const budget = name === 'index' ? ` of ${kilobytes(CORE_BUDGET_BYTES)} allowed` : '';
    console.log(`${name}: ${kilobytes(bytes)} minified and gzipped${budget}, ${own.length} files`);
    if (name !== 'index') continue;
    const more = transferBytes(service);
    console.log(
      `with a service: ${kilobytes(more)} more of ${kilobytes(SERVICE_BUDGET_BYTES)} allowed, ${service.length} files`,
    );
    if (bytes > CORE_BUDGET_BYTES || more > SERVICE_BUDGET_BYTES) isOver = true;
  }
  if (isOver) {
    console.error('The core entry is over its size budget.');
    process.exitCode = 1;
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(resolve(process.argv[1])).href) main();
