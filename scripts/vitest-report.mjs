// What a report of vitest says, as figures.
import { existsSync, readFileSync } from 'node:fs';

/**
 * Counts the tests of a report. A file that could not even be loaded counts as one failure; so does an error outside of any
 * test, which shows in the exit code alone.
 */
export function countReport(file, exitCode, root) {
  const sum = { passed: 0, failed: 0, skipped: 0, failures: [] };
  const fail = (what) => {
    sum.failed += 1;
    sum.failures.push(what);
  };
  if (!existsSync(file)) {
    fail('vitest wrote no report');
    return sum;
  }
  const report = JSON.parse(readFileSync(file, 'utf8'));
  for (const one of report.testResults) {
    const name = one.name.replace(root, '');
    if (one.status === 'failed' && !one.assertionResults.some((t) => t.status === 'failed'))
      fail(`${name} (the file itself)`);
    for (const { status, fullName } of one.assertionResults) {
      if (status === 'passed') sum.passed += 1;
      else if (status === 'failed') fail(`${name}: ${fullName}`);
      else sum.skipped += 1;
    }
  }
  if (report.testResults.length === 0 || (exitCode !== 0 && sum.failed === 0))
    fail('vitest reported an error outside of any test');
  return sum;
}

/**
 * Folders of tests whose outcome follows from their input alone: these are never run a second time. Files with a process of their own
 * measure it (memory, disks, clocks) and are not among them.
 */
const SURE = /^\/?test\/(unit|property|types|adding|examples)\/(?!.*\.isolated\.test\.ts$)/;
/** More than these are no coincidence. */
const MOST_REPEATED = 3;

/** The files of a report that are worth a second run: a few with real processes, browsers or databases, else none. */
export function filesToRepeat(file, root) {
  if (!existsSync(file)) return [];
  const { testResults } = JSON.parse(readFileSync(file, 'utf8'));
  const failed = testResults
    .filter((one) => one.status === 'failed')
    .map((one) => one.name.replace(root, '').replace(/^\//, ''));
  const isWorthIt = failed.length <= MOST_REPEATED && !failed.some((name) => SURE.test(name));
  return isWorthIt ? failed : [];
}

/** The sum of a first report and of that of its failed files, run a second time. */
export function withSecond(first, second) {
  const failedAgain = new Set(second.failures);
  // A file that fell over as a whole says nothing about its tests.
  const isUnreadable =
    second.failed > 0 && second.failures.some((one) => !first.failures.includes(one));
  if (isUnreadable) return { ...first, failures: [...first.failures, ...second.failures] };
  const unsure = first.failures.filter((one) => !failedAgain.has(one));
  return {
    ...first,
    passed: first.passed + unsure.length,
    failed: first.failed - unsure.length,
    failures: first.failures.filter((one) => failedAgain.has(one)),
    unsure,
  };
}
