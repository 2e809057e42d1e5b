// `npm test`: build, checks, and every test project, in one command. The last line is the sum of all of it:
// `N passed, N failed`, with the skipped where there are any. Exit code 1 on any failure.
//
// `npm test -- --no-build` reuses dist/ as it is; anything else after `--` goes to vitest, to run a part of the tests.
// `npm run check` runs this with `--fast`: checks and the fast tier, without build and browser. `npm run test:long` runs it with
// `--long`: tests beyond one path of a feature as well.
//
// Tests with real processes, browsers and databases share two processors with everything else. At most three files of them that
// failed run once more, alone: what passes then is listed as passed the second time, and counts as passed (docs/tests.md).
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { filesInMemory } from './files-in-memory.mjs';
import { join } from 'node:path';
import { bin, root, run as runProgram, script } from './run-program.mjs';
import { countReport, filesToRepeat, withSecond } from './vitest-report.mjs';

const resultsFile = join(root, 'build/test-results.json');
const secondFile = join(root, 'build/test-results-second.json');
const summaryFile = join(root, 'build/test-summary.txt');

/** Longer than any honest run takes: what is still there then hangs. */
const STEP_LIMIT_MS = 25 * 60_000;

let passed = 0;
let failed = 0;
const failures = [];

/** Runs one program; what it says is shown at once, or kept in `log` where several run at a time. */
function run(command, args, log, env = {}) {
  const hear = log && ((chunk) => log.push(chunk));
  return runProgram(command, args, { hear, isQuiet: true, limitMs: STEP_LIMIT_MS, env });
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

const OPTIONS = new Set(['--no-build', '--fast', '--long']);
const FAST_PROJECTS = ['fast', 'fast-isolated'];
const CHECKS = [
  // Each of several checkers checks what they share; the tests run beside it anyway.
  ['types', bin('tsc'), ['--noEmit', '--checkers', '1']],
  ['format', bin('oxfmt'), ['--check']],
  ['lint', bin('oxlint'), ['--type-aware']],
  ['unused code and dependencies', bin('knip'), []],
  ['rooms', process.execPath, ['scripts/rooms.mjs', '--check']],
  ['links', process.execPath, ['scripts/check-links.mjs']],
];

/** One after the other, beside the tests. */
async function runChecks() {
  for (const [name, program, args] of CHECKS)
    await check(name, (log) => run(program, args, log), true);
}

async function main() {
  mkdirSync(join(root, 'build'), { recursive: true });
  rmSync(resultsFile, { force: true });
  rmSync(summaryFile, { force: true });

  const isFast = process.argv.includes('--fast');
  if (process.argv.includes('--long')) process.env.QUARK_WHOLE = '1';
  filesInMemory();
  // For the compiler and the linter, which are written in Go: by default a quarter of their processor time is collecting garbage.
  process.env.GOGC ??= '400';
  const isBuilt = isFast || process.argv.includes('--no-build');
  if (isFast || !isBuilt) await check('kernels', () => run(...script('wasm')));
  // The checks need the compiled kernels, and nothing else of the build.
  const checked = runChecks();
  await Promise.all([
    isBuilt ? undefined : check('build', () => run(...script('build:rest'))),
    isFast
      ? undefined
      : check('chromium', (log) => run(process.execPath, ['scripts/chromium.mjs'], log), true),
  ]);

  console.log('\n== tests');
  const reporters = (file) => [
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${file}`,
  ];
  // One more than there are processors: many tests wait for processes and browsers.
  const workers = `--maxWorkers=${availableParallelism() + (isFast ? 0 : 1)}`;
  const filters = process.argv.slice(2).filter((argument) => !OPTIONS.has(argument));
  const isWholeRun = !isFast && filters.length === 0;
  if (isFast) filters.push(...FAST_PROJECTS.map((project) => `--project=${project}`));
  const exitCode = await run(
    bin('vitest'),
    ['run', workers, ...reporters(resultsFile), ...filters],
    undefined,
    isWholeRun ? { QUARK_ONE_TIER: '1' } : {},
  );
  await checked;
  let report = countReport(resultsFile, exitCode, root);
  const again = isFast ? [] : filesToRepeat(resultsFile, root);
  if (again.length > 0) {
    console.log(`\n== ${again.join(', ')}: once more, alone`);
    rmSync(secondFile, { force: true });
    const code = await run(bin('vitest'), [
      'run',
      '--maxWorkers=1',
      ...reporters(secondFile),
      ...again,
    ]);
    report = withSecond(report, countReport(secondFile, code, root));
  }
  passed += report.passed;
  failed += report.failed;
  const { skipped } = report;
  failures.push(...report.failures);

  if (report.unsure?.length > 0)
    console.log(`\nPassed the second time, alone:\n  ${report.unsure.join('\n  ')}`);
  if (failures.length > 0) console.log(`\nFailed:\n  ${failures.join('\n  ')}`);
  const tail = skipped > 0 ? `, ${skipped} skipped` : '';
  const summary = `${passed} passed, ${failed} failed${tail}`;
  writeFileSync(summaryFile, `${summary}\n`);
  process.stdout.write(`\n${summary}\n`, () => process.exit(failed === 0 ? 0 : 1));
}

await main();
