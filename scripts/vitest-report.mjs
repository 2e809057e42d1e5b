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
