/** Which tests run a second time, and what the sum says of them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { countReport, filesToRepeat, withSecond } from '../../../scripts/vitest-report.mjs';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'quark-report-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Outcomes = Readonly<Record<string, Readonly<Record<string, 'passed' | 'failed'>>>>;

function report(files: Outcomes): string {
  const path = join(folder, `${Object.keys(files).length}-${Math.random()}.json`);
  const testResults = Object.entries(files).map(([name, tests]) => ({
    name: `/root/${name}`,
    status: Object.values(tests).includes('failed') ? 'failed' : 'passed',
    assertionResults: Object.entries(tests).map(([fullName, status]) => ({ fullName, status })),
  }));
  writeFileSync(path, JSON.stringify({ testResults }));
  return path;
}
const count = (files: Outcomes, code = 1) => countReport(report(files), code, '/root/');

describe('a second run', () => {
  it('is for a few files with processes, browsers and databases', () => {
    const failed = { one: 'failed' } as const;
    const repeated = (files: Outcomes) => filesToRepeat(report(files), '/root/');
    expect(
      repeated({ 'test/e2e/a.test.ts': failed, 'test/kill/b.test.ts': { one: 'passed' } }),
    ).toEqual(['test/e2e/a.test.ts']);
    expect(repeated({ 'test/e2e/a.test.ts': { one: 'passed' } })).toEqual([]);
    expect(repeated({ 'test/e2e/a.test.ts': failed, 'test/unit/b.test.ts': failed })).toEqual([]);
    expect(repeated({ 'test/unit/b.isolated.test.ts': failed })).toEqual([
      'test/unit/b.isolated.test.ts',
    ]);
    const many = ['a', 'b', 'c', 'd'].map((name) => [`test/e2e/${name}.test.ts`, failed] as const);
    expect(repeated(Object.fromEntries(many))).toEqual([]);
    expect(filesToRepeat(join(folder, 'missing.json'), '/root/')).toEqual([]);
  });

  it('counts what passes then as passed, and names it', () => {
    const first = count({
      'test/e2e/a.test.ts': { one: 'failed', two: 'passed', three: 'failed' },
    });
    const second = count({
      'test/e2e/a.test.ts': { one: 'passed', two: 'passed', three: 'failed' },
    });
    expect(withSecond(first, second)).toEqual({
      passed: 2,
      failed: 1,
      skipped: 0,
      failures: ['test/e2e/a.test.ts: three'],
      unsure: ['test/e2e/a.test.ts: one'],
    });
  });

  it('that fails in another way, or reports nothing, forgives nothing', () => {
    const first = count({ 'test/e2e/a.test.ts': { one: 'failed', two: 'passed' } });
    const other = count({ 'test/e2e/a.test.ts': { one: 'passed', two: 'failed' } });
    const nothing = countReport(join(folder, 'missing.json'), 1, '/root/');
    for (const second of [other, nothing])
      expect(withSecond(first, second)).toMatchObject({ passed: 1, failed: 1 });
  });
});
