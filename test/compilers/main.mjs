// Compiles a program that imports every entry of the packed package, with `skipLibCheck: false`, by each TypeScript, in each way of finding
// modules, with and without the DOM library and the types of Node, and prints a table; `--record` writes it to docs/policy.md, `--only TEXT`
// compiles the rows that begin so, as in "5.4". Needs a build. The compilers are installed here at the first run.
import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ENTRIES, subpathsOf } from '../../scripts/entries.mjs';
import { installIn } from '../../scripts/install-in.mjs';
import { packPackage, unpackInto } from '../../scripts/pack.mjs';
import { recordTable, tableLine, tableText } from '../../scripts/record-table.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const modules = join(here, 'node_modules');
const { values: options } = parseArgs({
  options: { record: { type: 'boolean' }, only: { type: 'string', default: '' } },
});

const TYPESCRIPTS = ['5.4', '5.9', '6.0', '7.0'];
/** What is written as `moduleResolution`, and the `module` that goes with it. */
const RESOLUTIONS = { node10: 'esnext', node16: 'node16', nodenext: 'nodenext', bundler: 'esnext' };
/** What a program has declared besides the language. */
const PLATFORMS = [
  { name: 'nothing', lib: [] },
  { name: 'DOM', lib: ['DOM'] },
  { name: 'WebWorker', lib: ['WebWorker'] },
  ...['20', '22', '24'].flatMap((node) => [
    { name: `Node ${node}`, lib: [], node },
    { name: `Node ${node}, DOM`, lib: ['DOM'], node },
  ]),
];

const SPECIFIERS = [...subpathsOf(ENTRIES), '/quark.min.js'].map((path) => `quark-sdk${path}`);
const PROGRAM = `
import { MetricsLogger, startRun } from 'quark-sdk';
import { createSeriesKernels } from 'quark-sdk/analysis';
${SPECIFIERS.map((from, i) => `import * as entry${i} from '${from}';`).join('\n')}
export const entries = [${SPECIFIERS.map((_from, i) => `entry${i}`).join(', ')}];
export async function main(): Promise<void> {
  const session = await startRun({ project: 'p' });
  new MetricsLogger(session).log('train/loss', 1, { step: 0 });
  // @ts-expect-error a value is a number
  new MetricsLogger(session).log('train/loss', '1', { step: 0 });
  // @ts-expect-error series are not cut into chunks
  await createSeriesKernels({ chunkBytes: 8192 });
}
`;

const versionOf = (name) =>
  JSON.parse(readFileSync(join(modules, name, 'package.json'), 'utf8')).version;

/** The folder of a project that has the package, and the types of Node where those are asked for. */
function makeProject(home, tarball, node = '') {
  const folder = join(home, `project${node}`);
  unpackInto(folder, tarball);
  if (node !== '') {
    mkdirSync(join(folder, 'node_modules/@types'));
    const link = join(folder, 'node_modules/@types/node');
    symlinkSync(join(modules, `node${node}`), link, 'junction');
  }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', private: true }));
  writeFileSync(join(folder, 'main.ts'), PROGRAM);
  return folder;
}

/** What a compiler said to a platform: nothing, or its errors. */
function compile(folder, version, resolution, { lib, name, node }) {
  const project = join(folder, `${version}-${resolution}-${name}.json`);
  const compilerOptions = {
    exactOptionalPropertyTypes: true,
    lib: ['ES2022', ...lib],
    module: RESOLUTIONS[resolution],
    moduleResolution: resolution,
    noEmit: true,
    skipLibCheck: false,
    strict: true,
    target: 'es2022',
    types: node === undefined ? [] : ['node'],
    ...(version === '6.0' && resolution === 'node10' ? { ignoreDeprecations: '6.0' } : {}),
  };
  writeFileSync(project, JSON.stringify({ compilerOptions, files: ['main.ts'] }));
  return new Promise((resolve) => {
    const tsc = join(modules, `typescript${version}/bin/tsc`);
    const child = spawn(process.execPath, [tsc, '-p', project], { stdio: ['ignore', 'pipe', 2] });
    let said = '';
    child.stdout.on('data', (chunk) => (said += chunk));
    child.on('close', (status) => resolve(status === 0 ? '' : said || `it ended with ${status}`));
  });
}

/** The cells of a row, of which as many are compiled at a time as there are cores. */
async function rowOf(projects, version, resolution) {
  if (version === '7.0' && resolution === 'node10')
    return PLATFORMS.map(() => 'not in TypeScript 7');
  const cells = [];
  const waiting = PLATFORMS.entries();
  const work = async () => {
    for (const [i, platform] of waiting) {
      // oxlint-disable-next-line no-await-in-loop -- one after another, several such loops
      const said = await compile(projects[platform.node ?? ''], version, resolution, platform);
      const count = said.match(/error TS/g)?.length ?? 1;
      cells[i] = said === '' ? 'yes' : `**${count} errors**`;
      if (said !== '') {
        process.exitCode = 1;
        console.error(
          `TypeScript ${version}, ${resolution}, ${platform.name}:\n${said.slice(0, 2000)}`,
        );
      }
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return cells;
}

if (!existsSync(modules)) installIn(here);
const home = mkdtempSync(join(tmpdir(), 'quark-compilers-'));
try {
  const { tarball } = packPackage(home);
  const projects = Object.fromEntries(
    ['', '20', '22', '24'].map((node) => [node, makeProject(home, tarball, node)]),
  );
  const titles = ['TypeScript', 'modules', ...PLATFORMS.map(({ name }) => name)];
  const rows = [];
  for (const version of TYPESCRIPTS.filter((one) => one.startsWith(options.only)))
    for (const resolution of Object.keys(RESOLUTIONS)) {
      const cells = await rowOf(projects, version, resolution);
      rows.push([versionOf(`typescript${version}`), resolution, ...cells]);
      console.log(tableLine(rows.at(-1)));
    }
  const table = tableText(titles, rows);
  console.log(`\n${table}`);
  if (options.record) recordTable('compilers', table);
} finally {
  rmSync(home, { recursive: true, force: true });
}
