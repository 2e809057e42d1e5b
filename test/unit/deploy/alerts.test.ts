/** The alerts for Prometheus: a file of the right form, on metrics that the service has. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseYaml } from '../../../src/codecs/yaml/yaml.ts';

const ROOT = join(import.meta.dirname, '../../..');

type Rule = {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
};

const { problems, value } = parseYaml(readFileSync(join(ROOT, 'deploy/alerts.yaml'), 'utf8'), 32);
const { groups } = value as { readonly groups: readonly { readonly rules: readonly Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const known = new Set(
  [
    ...readFileSync(join(ROOT, 'src/service/log/metrics.ts'), 'utf8').matchAll(
      /'(quark_[a-z_]+)'/g,
    ),
  ].map(([, name]) => name ?? ''),
);

test('is YAML, and each alert has what Prometheus asks for', () => {
  expect(problems).toEqual([]);
  expect(rules.length).toBeGreaterThan(8);
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  for (const rule of rules) {
    expect(Object.keys(rule).sort()).toEqual(['alert', 'annotations', 'expr', 'for', 'labels']);
    expect(rule.alert).toMatch(/^Quark[A-Za-z]+$/);
    expect(rule.for).toMatch(/^\d+[smh]$/);
    expect(['page', 'ticket']).toContain(rule.labels['severity']);
    expect(rule.annotations['summary']).toMatch(/\.$/);
  }
});

test('every metric of an expression is one of the service, and its parentheses agree', () => {
  for (const { expr } of rules) {
    const named = expr.match(/quark_[a-z_]+/g) ?? ['up'];
    for (const name of named)
      if (name !== 'up') expect(known, name).toContain(name.replace(/_bucket$/, ''));
    let depth = 0;
    for (const char of expr.replaceAll(/"[^"]*"/g, '')) {
      if ('([{'.includes(char)) depth += 1;
      if (')]}'.includes(char)) depth -= 1;
      expect(depth).toBeGreaterThanOrEqual(0);
    }
    expect(depth).toBe(0);
  }
});

test('the page on operations names every alert', () => {
  const page = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');
  for (const { alert } of rules) expect(page).toContain(alert);
});
