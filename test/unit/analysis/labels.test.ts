/** The rules on real logs, against what a careful reader of them expects. */
import { expect, test } from 'vitest';
import { analyzeColumns } from 'quark-sdk/analysis';
import { labelledRuns } from '../../support/labelled-runs.ts';

const labelled = labelledRuns();

test.skipIf(labelled !== undefined)(
  'labelled logs are not here: ../shared/data/runs is missing',
  () => {
    expect(labelled).toBeUndefined();
  },
);

test.each(labelled ?? [])('$id', async ({ expectedAlerts, load }) => {
  const runs = await load();
  expect(runs.length).toBeGreaterThan(0);
  for (const columns of runs) {
    const { alerts } = analyzeColumns(columns, {}, { nowMs: 0 });
    if (process.env['QUARK_SHOW'] !== undefined)
      for (const alert of alerts) console.log(alert.ruleId, alert.severity, alert.summary);
    for (const [ruleId, { expected }] of Object.entries(expectedAlerts)) {
      const isFound = alerts.some((alert) => alert.ruleId === ruleId);
      if (expected !== 'uncertain') expect([ruleId, isFound]).toEqual([ruleId, expected]);
    }
  }
});
