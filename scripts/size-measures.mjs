// What takes an install or a clock: the folder of `npm install`, the time in which Node loads an entry, and the time of the first `log`.
// The figures are of one machine, and nothing is compared with them.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { subpathsOf } from './entries.mjs';
import { tableText } from './record-table.mjs';

const MAIN_ENTRIES = ['index', 'node', 'analysis', 'probes', 'tfjs', 'onnx', 'exchange', 'service'];
/** Processes that are started for each figure, of which the median counts. */
const STARTS = 9;

const FIRST_LOG = `
const began = performance.now();
const { MetricsLogger, startRun } = await import('quark-sdk');
const session = await startRun({ project: 'p', storage: process.argv[2] });
new MetricsLogger(session).log('train/loss', 1, { step: 0 });
const returned = performance.now() - began;
await session.flush();
console.log(JSON.stringify([returned, performance.now() - began]));
await session.endRun();
`;

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
const milliseconds = (value) => `${value.toFixed(0)} ms`;
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

const printedBy = (folder, ...args) =>
  JSON.parse(execFileSync(process.execPath, args, { cwd: folder, encoding: 'utf8' }));

/** Installs a tarball as a user does. */
function install(folder, tarball, ...flags) {
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', private: true }));
  const args = ['install', '--no-audit', '--no-fund', '--omit=peer', ...flags, tarball];
  execFileSync('npm', args, { cwd: folder, stdio: 'ignore', shell: process.platform === 'win32' });
  const modules = join(folder, 'node_modules');
  const files = readdirSync(modules, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  // npm lists there what it has installed.
  const listed = files.filter(({ name }) => name !== '.package-lock.json');
  const sizes = listed.map(({ name, parentPath }) => statSync(join(parentPath, name)).size);
  const isManifest = ({ name, parentPath }) =>
    name === 'package.json' && /node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+$/.test(parentPath);
  return {
    bytes: sizes.reduce((sum, size) => sum + size, 0),
    packages: listed.filter(isManifest).length,
  };
}

/** Milliseconds of the import of an entry in a fresh process. */
function loadTime(folder, specifier) {
  const program = `const began = performance.now(); await import('${specifier}'); console.log(performance.now() - began);`;
  return median(
    Array.from({ length: STARTS }, () =>
      printedBy(folder, '--input-type=module', '--eval', program),
    ),
  );
}

/** Milliseconds until the first `log` has returned, and until its row is durable, from before the import. */
function firstLog(folder, storage) {
  const times = Array.from({ length: STARTS }, (_, i) =>
    printedBy(folder, 'first-log.js', storage === 'file:' ? `file:./data${i}` : storage),
  );
  return [0, 1].map((which) => median(times.map((time) => time[which])));
}

/** The table of an installed tarball. */
export function measuredTable({ tarball }) {
  const folders = [0, 1].map(() => mkdtempSync(join(tmpdir(), 'quark-install-')));
  try {
    const [whole, bare] = folders;
    const all = install(whole, tarball);
    const least = install(bare, tarball, '--omit=optional');
    writeFileSync(join(whole, 'first-log.js'), FIRST_LOG);
    const system = `${process.platform} ${process.arch}`;
    const rows = [
      [`\`npm install quark-sdk\`, ${system}`, `${megabytes(all.bytes)}, ${all.packages} packages`],
      ['with `--omit=optional`', `${megabytes(least.bytes)}, ${least.packages} package`],
    ];
    const subpaths = subpathsOf(MAIN_ENTRIES);
    for (const path of subpaths)
      rows.push([
        `import of \`quark-sdk${path}\``,
        milliseconds(loadTime(whole, `quark-sdk${path}`)),
      ]);
    for (const storage of ['memory:', 'file:']) {
      const [returned, durable] = firstLog(whole, storage);
      rows.push([
        `first \`log\`, \`${storage}\`, from before the import`,
        `${milliseconds(returned)}, durable after ${milliseconds(durable)}`,
      ]);
    }
    const [{ model }] = cpus();
    const machine = `Node ${process.versions.node}, ${model.trim()}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)}`;
    return tableText([machine, 'measured'], rows);
  } finally {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}
