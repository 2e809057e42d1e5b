import { expect, test } from 'vitest';
import { DEFAULT_ANALYZER_THRESHOLDS, describeRules, RULE_IDS } from 'quark-sdk/analysis';

const LIVE = {
  at_once: 'a finding counts at once',
  trend:
    'a finding counts after three evaluations in a row, with at least a twentieth more values each',
  whole_run: 'the rule waits for the end of the run',
} as const;

/** The page on the rules. `npx vitest run <this file> -u` writes it anew. */
function page(): string {
  const lines = [
    '# Rules of the analyzer',
    '',
    'Made from the declarations of the rules by `test/unit/analysis/rules/rule-docs.test.ts`. Every number is a threshold of',
    '`AnalyzerEngineConfig.thresholds`; every rule can be turned off in `disabledRules`. In the tables of the six rules of',
    'abiotic-quark, numbers that abiotic-quark does not have say so.',
    '',
  ];
  for (const {
    advice,
    category,
    cause,
    detects,
    id,
    live,
    source,
    thresholds,
  } of describeRules()) {
    lines.push(`## ${id}`, '', `${detects} Category: ${category}.`, '');
    lines.push(`- Usual cause: ${cause}.`, `- First: ${advice}.`, `- Source: ${source}.`);
    lines.push(`- While a run goes on: ${LIVE[live]}.`, '');
    lines.push('| threshold | default | |', '| --- | --- | --- |');
    for (const { doc, name, value } of thresholds)
      lines.push(`| \`${name}\` | ${value} | ${doc} |`);
    lines.push('');
  }
  return lines.join('\n');
}

test('the page on the rules says what the rules declare', async () => {
  await expect(page()).toMatchFileSnapshot('../../../../docs/analysis-rules.md');
});

test('every rule is described once, and every threshold is of one rule', () => {
  const described = describeRules();
  expect(described.map(({ id }) => id)).toEqual(RULE_IDS);
  expect(new Set(RULE_IDS).size).toBe(RULE_IDS.length);
  const names = described.flatMap(({ thresholds }) => thresholds.map(({ name }) => name));
  expect(new Set(names).size).toBe(names.length);
  expect(names.toSorted()).toEqual(Object.keys(DEFAULT_ANALYZER_THRESHOLDS).toSorted());
  for (const { advice, cause, detects, thresholds } of described) {
    expect(detects).toMatch(/^[A-Z].*\.$/);
    // They stand in a sentence: "Probably <cause>; first, <advice>."
    for (const part of [cause, advice]) expect(part).toMatch(/^[a-z].*[^.]$/);
    for (const { doc } of thresholds) expect(doc).toMatch(/^[A-Z].*[.)]$/);
  }
});
