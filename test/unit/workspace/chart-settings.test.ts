/** Settings of charts at three levels. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  chartSettings,
  DEFAULT_CHART_CHOICES,
  DEFAULT_CHART_SETTINGS,
  isChartAxis,
  levelOfChoice,
  type ChartChoices,
} from '../../../src/workspace/chart-settings.ts';
import { runs } from '../../support/property.ts';

test('what a panel does not say is as the section says, then the workspace, then the default', () => {
  const levels: readonly ChartChoices[] = [
    { axis: 'epoch', smoothingAmount: 0.6, isLinked: true },
    { smoothing: 'mean', logY: true, isLinked: false },
    { smoothingAmount: 0.2, yMin: 0 },
  ];
  expect(chartSettings(levels)).toEqual({
    ...DEFAULT_CHART_SETTINGS,
    axis: 'epoch',
    logY: true,
    smoothing: { kind: 'mean', amount: 0.2 },
    isLinked: false,
    yMin: 0,
  });
  expect(chartSettings([])).toEqual(DEFAULT_CHART_SETTINGS);
  expect(levelOfChoice(levels, 'axis')).toBe(0);
  expect(levelOfChoice(levels, 'isLinked')).toBe(1);
  expect(levelOfChoice(levels, 'smoothingAmount')).toBe(2);
  expect(levelOfChoice(levels, 'skipsOutliers')).toBe(-1);
});

test('what is marked is said at each level, and all but plain events where none says it', () => {
  expect(chartSettings([]).hiddenMarks).toEqual(['event']);
  expect(chartSettings([{ hiddenMarks: ['note', 'alert'] }, {}]).hiddenMarks).toEqual([
    'alert',
    'note',
  ]);
  expect(chartSettings([{ hiddenMarks: ['note'] }, { hiddenMarks: [] }]).hiddenMarks).toEqual([]);
});

test('false, 0 and "by the data" are said, too', () => {
  const levels: readonly ChartChoices[] = [
    { logY: true, smoothingAmount: 0.5, yMin: 1 },
    {},
    { logY: false, smoothingAmount: 0, yMin: null },
  ];
  expect(chartSettings(levels)).toEqual(DEFAULT_CHART_SETTINGS);
});

test('bounds that contradict each other are as the data says', () => {
  expect(chartSettings([{ yMax: 1 }, { yMin: 2 }])).toMatchObject({
    yMin: undefined,
    yMax: undefined,
  });
  expect(chartSettings([{ yMax: 3 }, { yMin: 2 }])).toMatchObject({ yMin: 2, yMax: 3 });
});

test('an axis is one of four, or a metric', () => {
  for (const axis of ['step', 'epoch', 'time', 'wall', 'metric:tokens'])
    expect(isChartAxis(axis)).toBe(true);
  for (const axis of ['metric:', 'steps', '', 3, null]) expect(isChartAxis(axis)).toBe(false);
});

test('each field is that of the innermost level that says it, whatever the others say', () => {
  const level = fc.record(
    {
      axis: fc.constantFrom('step' as const, 'wall' as const, 'metric:a' as const),
      logX: fc.boolean(),
      logY: fc.boolean(),
      smoothingAmount: fc.double({ min: 0, max: 0.99, noNaN: true }),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.array(level, { maxLength: 3 }), (levels) => {
      const found = chartSettings(levels);
      for (const name of ['axis', 'logX', 'logY'] as const) {
        const at = levelOfChoice(levels, name);
        expect(found[name]).toBe(levels[at]?.[name] ?? DEFAULT_CHART_CHOICES[name]);
      }
    }),
    runs(100),
  );
});
