// Prints what each browser entry costs a page, minified and gzipped, and what the packed package weighs. Fails when one is over its budget or not what
// docs/sizes.md has, which `--write` writes, with what is measured: an install, the time to load an entry, and the first `log`.
// What a page that records gets at once, and until its first row is logged, is counted in a bundle of it by Vite, without what the bundler
// leaves out. For the rest, counted are the entry and every file it imports, statically or dynamically, the inline worker among them. What only a
// page loads that names a service, the outbox and the store over HTTP, and what unpacks many merged rows, are counted apart, with budgets of their own; worker.js,
// series-worker.js, watch-worker.js and opfs-worker.js are the same texts as files of their own, of which a page loads one or the other.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { minifySync, parseSync } from 'vite';
import { BROWSER_ENTRIES } from './entries.mjs';
import { pageBytes } from './page-bytes.mjs';
import { differencesFrom, readSizes, tarballRows, writeSizes } from './size-table.mjs';

const dist = fileURLToPath(new URL('../dist/', import.meta.url));

/**
 * Bytes, with 1 kB = 1000 bytes. What raised the budget, each by the bytes it needs in every page: sessions that go on without
 * storage (120,000 to 126,000); shapes and the series reader of `RunReader` (130,000); deletion and fencing (141,000), also of
 * projects (142,000); columns on dead units (142,800); aggregates, totals and profiles of a session (144,700); names, groups, notes,
 * summaries and contexts (151,000); `findRuns`, `tee:`, and edits of runs (157,000); query lines of `findRuns` (160,000);
 * why a run ended, and which runs of a browser changed (161,500); the ring to the workers and what they do of a probed step, which
 * the deprecated names of kernels bring along (177,000); the last rows, read from the end of a table, and merges of windows that are
 * regrouped (179,000); tables of runs in memory, and what to do after a wrong use of a session (180,500); recording, the store in
 * IndexedDB and readers in chunks of their own, so that a page loads what it uses (189,000); the account of what recording takes of
 * the thread, and the address of stores in files (190,000); jobs in buffers that are transferred, in the pool and its worker (190,500).
 */
export const CORE_BUDGET_BYTES = 190_500;
/** What a page that imports `startRun` and `MetricsLogger` has in its own bundle. */
export const START_BUDGET_BYTES = 25_000;
/**
 * That, and what `startRun` loads before it resolves: the session, and the store in IndexedDB. It is what the first `log` needs until it
 * returns, and until its row is durable: the event of the start was stored by the same modules (64,300); a part that is asked for again
 * after it could not be fetched, and merges that list a run from where the last one ended (64,700); which
 * call is right, in the error of a wrong one, and the end of a run whose error nobody caught (65,700);
 * the names that chunks share with the part that follows a run (65,900).
 */
export const FIRST_LOG_BUDGET_BYTES = 65_900;
/** That, and what a session loads in the background once it is open: merging, and the records of metrics and events. */
export const IN_ALL_BUDGET_BYTES = 88_900;
/**
 * What a page loads besides once it names a service. What raised the budget: checks of names in answers (25,000 to 26,000), the
 * comparison of what was acknowledged (30,000), deletions and quotas (33,000), silences and searches of runs (33,800), tables of
 * runs and documents (35,700); private documents, curves of many runs, and tables of local runs and a service's together (37,800).
 */
export const SERVICE_BUDGET_BYTES = 37_800;
/** What a page loads besides once it reads many merged rows. */
export const UNPACK_BUDGET_BYTES = 5_000;

/**
 * `quark.min.js`, which has all of it in one file: recording, the store in IndexedDB, sending to a service, the callback of TensorFlow.js
 * (252,000); probed steps in transferred buffers (253,500); segments unpacked in WebAssembly (257,500); errors that
 * name the right call (258,900); `openRun` gives runs that can be followed (261,300); errors
 * are known by their code over copies of the package (262,000).
 */
export const ONE_FILE_BUDGET_BYTES = 262_000;

const SERVICE_CHUNK = /\/chunk-(?:open-outbox|http-store)-/;
/** What a page loads besides once it opens `opfs:`: the store, and the text of its worker where that is needed. */
const OPFS_CHUNK = /\/chunk-(?:opfs-store|inline-opfs-worker)-/;
/** What a page loads besides once it reads many rows: what unpacks merged segments faster, and what puts their rows in order faster. */
const UNPACK_CHUNK = /\/chunk-(?:unpack-module|interleaving)-/;

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

/** The files of an entry, apart from those that a page with a service, or with files of its own, loads besides. */
export function sharesOf(entry) {
  const parts = { service: SERVICE_CHUNK, opfs: OPFS_CHUNK, unpack: UNPACK_CHUNK };
  const without = (some) =>
    closureOf(entry, (file) => some.some((pattern) => pattern.test(file))).files;
  const own = without(Object.values(parts));
  const besides = Object.entries(parts).map(([name, part]) => {
    const others = Object.values(parts).filter((other) => other !== part);
    return [name, without(others).filter((file) => !own.includes(file))];
  });
  return { own, ...Object.fromEntries(besides) };
}

/** The files a page may load for one entry, and the bare specifiers they would need resolved. */
export function closureOf(entry, leavesOut = () => false) {
  const files = new Set();
  const bare = new Set();
  const visit = (file) => {
    if (files.has(file) || leavesOut(file)) return;
    files.add(file);
    for (const specifier of importsOf(file).specifiers) {
      if (specifier === '#node') visit(join(dist, 'page-platform.js'));
      else if (specifier.startsWith('.')) visit(resolve(dirname(file), specifier));
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

/** What a page that records gets. */
async function recordingRows() {
  const { atOnce, inAll, untilFirstLog } = await pageBytes(['startRun', 'MetricsLogger']);
  return [
    { name: 'a page that records: at once', bytes: atOnce, allowed: START_BUDGET_BYTES },
    {
      name: 'until its first `log` has returned and its row is durable',
      bytes: untilFirstLog,
      allowed: FIRST_LOG_BUDGET_BYTES,
    },
    { name: 'with what comes in the background', bytes: inAll, allowed: IN_ALL_BUDGET_BYTES },
  ];
}

/** What an entry of pages, or a worker, weighs, and what a page with the core loads besides. */
function entryRows(name) {
  const entry = join(dist, `${name}.js`);
  if (!existsSync(entry)) throw new Error(`${entry} is missing. Run "npm run build" first.`);
  const { opfs, own, service, unpack } = sharesOf(entry);
  const row = (said, files, allowed) => ({
    name: said,
    bytes: transferBytes(files),
    files: files.length,
    allowed,
  });
  if (name !== 'index') return [row(name, own)];
  return [
    row(name, own, CORE_BUDGET_BYTES),
    row('with a service, besides', service, SERVICE_BUDGET_BYTES),
    // One of its files stands for opfs-worker.js.
    row('with `opfs:`, besides', opfs),
    row('reading many merged rows, besides', unpack, UNPACK_BUDGET_BYTES),
  ];
}

async function main() {
  const { values } = parseArgs({ options: { write: { type: 'boolean' } } });
  const workers = ['worker', 'series-worker', 'watch-worker', 'opfs-worker'];
  const rows = [
    ...(await recordingRows()),
    ...[...BROWSER_ENTRIES, ...workers].flatMap((name) => entryRows(name)),
    {
      name: 'quark.min.js',
      bytes: gzipSync(readFileSync(join(dist, 'quark.min.js')), { level: 9 }).length,
      files: 1,
      allowed: ONE_FILE_BUDGET_BYTES,
    },
  ];
  for (const { name, bytes, files, allowed } of rows) {
    const budget = allowed === undefined ? '' : ` of ${kilobytes(allowed)} allowed`;
    const count = files === undefined ? '' : `, ${files} file${files === 1 ? '' : 's'}`;
    console.log(`${name}: ${kilobytes(bytes)} minified and gzipped${budget}${count}`);
  }
  const over = rows.filter(({ bytes, allowed }) => bytes > (allowed ?? Infinity));
  for (const { name } of over) console.error(`${name}: over its budget.`);
  if (over.length > 0) process.exitCode = 1;
  const all = [...rows, ...tarballRows()];
  if (values.write) {
    writeSizes(all);
    return;
  }
  const strange = differencesFrom(readSizes(), all);
  for (const line of strange) console.error(line);
  if (strange.length > 0) {
    console.error('docs/sizes.md says otherwise: "npm run size -- --write" writes it.');
    process.exitCode = 1;
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(resolve(process.argv[1])).href)
  await main();
