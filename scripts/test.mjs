// `npm test`: build, checks, and every test project, in one command. The last line is the sum of all of it:
// `N passed, N failed`, with the skipped where there are any. Exit code 1 on any failure.
//
// `npm test -- --no-build` reuses dist/ as it is; anything else after `--` goes to vitest, to run a part of the tests.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const resultsFile = join(root, 'build/test-results.json');
const summaryFile = join(root, 'build/test-summary.txt');

/** Longer than any honest run takes: what is still there then hangs. */
const STEP_LIMIT_MS = 15 * 60_000;

let passed = 0;
let failed = 0;
let skipped = 0;
const failures = [];

const bin = (name) => join(root, 'node_modules/.bin', name);

/**
 * Runs one program to its end and gives its exit code; a hanging one is ended with all it started. What it says is shown
 * at once, or kept in `log` where several run at a time.
 */
function run(command, args, log) {
  return new Promise((resolve) => {
    const isWindows = process.platform === 'win32';
    const child = spawn(command, args, {
      cwd: root,
      stdio: ['ignore', log ? 'pipe' : 'inherit', log ? 'pipe' : 'inherit'],
      shell: isWindows,
      detached: !isWindows,
    });
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk) => log.push(chunk));
    const end = () => {
      try {
        process.kill(isWindows ? Number(child.pid) : -Number(child.pid), 'SIGKILL');
      } catch {
        child.kill('SIGKILL'); // the group is gone already
      }
    };
    const timer = setTimeout(() => {
      console.error(`${command} did not end within ${STEP_LIMIT_MS / 60_000} minutes.`);
      end();
    }, STEP_LIMIT_MS);
    const interrupt = () => {
      end();
      process.exit(130);
    };
    process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
    const settle = (code) => {
      clearTimeout(timer);
      process.removeListener('SIGINT', interrupt).removeListener('SIGTERM', interrupt);
      resolve(code);
    };
    child.on('error', (error) => {
      console.error(`${command}: ${error.message}`);
      settle(1);
    });
    child.on('close', (code) => settle(code ?? 1));
  });
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

/** Adds the tests of a vitest report. A file that could not even be loaded counts as one failure. */
function addReport(exitCode) {
  if (!existsSync(resultsFile)) {
    failed += 1;
    failures.push('vitest wrote no report');
    return;
  }
  const report = JSON.parse(readFileSync(resultsFile, 'utf8'));
  const failedBefore = failed;
  for (const file of report.testResults) {
    const name = file.name.replace(root, '');
    if (file.status === 'failed' && !file.assertionResults.some((t) => t.status === 'failed')) {
      failed += 1;
      failures.push(`${name} (the file itself)`);
    }
    for (const { status, fullName } of file.assertionResults) {
      if (status === 'passed') passed += 1;
      else if (status === 'failed') {
        failed += 1;
        failures.push(`${name}: ${fullName}`);
      } else skipped += 1;
    }
  }
  if (report.testResults.length === 0 || (exitCode !== 0 && failed === failedBefore)) {
    failed += 1;
    failures.push('vitest reported an error outside of any test');
  }
}

async function main() {
  mkdirSync(join(root, 'build'), { recursive: true });
  rmSync(resultsFile, { force: true });
  rmSync(summaryFile, { force: true });

  const npm = process.env.npm_execpath;
  const script = (name) => (npm ? [process.execPath, [npm, 'run', name]] : ['npm', ['run', name]]);
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
  addReport(await run(bin('vitest'), ['run', workers, ...reporters, ...filters]));
  await checked;

  if (failures.length > 0) console.log(`\nFailed:\n  ${failures.join('\n  ')}`);
  const tail = skipped > 0 ? `, ${skipped} skipped` : '';
  const summary = `${passed} passed, ${failed} failed${tail}`;
  writeFileSync(summaryFile, `${summary}\n`);
  process.stdout.write(`\n${summary}\n`, () => process.exit(failed === 0 ? 0 : 1));
}

await main();
