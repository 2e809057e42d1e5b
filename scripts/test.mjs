// `npm test`: build, checks, and every test project, in one command. The last line is the sum of all of it:
// `N passed, N failed`, with the skipped where there are any. Exit code 1 on any failure.
//
// `npm test -- --no-build` reuses dist/ as it is; anything else after `--` goes to vitest, to run a part of the tests.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { bin, root, run as runProgram, script } from './run-program.mjs';
import { countReport } from './vitest-report.mjs';

const resultsFile = join(root, 'build/test-results.json');
const summaryFile = join(root, 'build/test-summary.txt');

/** Longer than any honest run takes: what is still there then hangs. */
const STEP_LIMIT_MS = 15 * 60_000;

let passed = 0;
let failed = 0;
const failures = [];

/** Runs one program; what it says is shown at once, or kept in `log` where several run at a time. */
function run(command, args, log) {
  const hear = log && ((chunk) => log.push(chunk));
  return runProgram(command, args, { hear, isQuiet: true, limitMs: STEP_LIMIT_MS });
}

/** A step that counts as one test. With `isAside` it runs beside another, and speaks when it is done. */
async function check(name, work, isAside = false) {
  const log = isAside ? [] : undefined;
  if (!isAside) console.log(`\n== ${name}`);
  const startedAtMs = performance.now();
  const code = await work(log);
  if (isAside) process.stdout.write(`\n== ${name}\n${Buffer.concat(log).toString()}`);
  const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1);
  console.log(`== ${name}: ${code === 0 ? 'passed' : `failed (${code})`} in ${seconds} s`);
  if (code === 0) passed += 1;
  else {
    failed += 1;
    failures.push(name);
  }
  return code === 0;
}

async function main() {
  mkdirSync(join(root, 'build'), { recursive: true });
  rmSync(resultsFile, { force: true });
  rmSync(summaryFile, { force: true });

  const isBuilt = process.argv.includes('--no-build');
  // The checks need the compiled kernels, and nothing else of the build.
  const checks = async () => {
    await check('types', (log) => run(bin('tsc'), ['--noEmit'], log), true);
    await check('format', (log) => run(bin('oxfmt'), ['--check'], log), true);
    await check('lint', (log) => run(bin('oxlint'), ['--type-aware'], log), true);
    await check('unused code and dependencies', (log) => run(bin('knip'), [], log), true);
  };
  if (!isBuilt) await check('kernels', () => run(...script('wasm')));
  const checked = checks();
  await Promise.all([
    isBuilt ? undefined : check('build', () => run(...script('build:rest'))),
    check('chromium', (log) => run(process.execPath, ['scripts/chromium.mjs'], log), true),
  ]);

  console.log('\n== tests');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${resultsFile}`];
  // One more than there are processors: many tests wait for processes and browsers.
  const workers = `--maxWorkers=${availableParallelism() + 1}`;
  const filters = process.argv.slice(2).filter((argument) => argument !== '--no-build');
  const exitCode = await run(bin('vitest'), ['run', workers, ...reporters, ...filters]);
  await checked;
  const report = countReport(resultsFile, exitCode, root);
  passed += report.passed;
  failed += report.failed;
  const { skipped } = report;
  failures.push(...report.failures);

  if (failures.length > 0) console.log(`\nFailed:\n  ${failures.join('\n  ')}`);
  const tail = skipped > 0 ? `, ${skipped} skipped` : '';
  const summary = `${passed} passed, ${failed} failed${tail}`;
  writeFileSync(summaryFile, `${summary}\n`);
  process.stdout.write(`\n${summary}\n`, () => process.exit(failed === 0 ? 0 : 1));
}

await main();
