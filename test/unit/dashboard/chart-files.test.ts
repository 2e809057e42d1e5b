import { describe, expect, it } from 'vitest';
import { DEFAULT_CHART_SETTINGS } from 'quark-sdk/workspace';
import { onAxis } from '../../../dashboard/charts/plot/axis.ts';
import { chartTable } from '../../../dashboard/charts/chart-csv.ts';
import { chartData, curveOf } from '../../../dashboard/charts/chart-data.ts';
import { chartSvg, type SvgWords } from '../../../dashboard/charts/chart-svg.ts';
import type { ShownCurve } from '../../../dashboard/charts/legend.tsx';
import type { Drawing } from '../../../dashboard/charts/metric-chart.ts';
import { smoothedNow } from '../../../dashboard/charts/smoothing/smooth-client.ts';
import { SampleSeries } from '../../../dashboard/series/series.ts';

const HOSTILE = '</text><script>alert(1)</script>';
const NO_EPOCHS = { firstStep: new Map<number, number>(), stepsPerEpoch: 1 };

function curve(key: string, ys: readonly number[], amount = 0): ShownCurve {
  const series = new SampleSeries(key);
  for (const [at, y] of ys.entries()) series.push(y, at * 10, Number.NaN, 1e12 + at);
  const points = onAxis(series, 'step', 0, NO_EPOCHS);
  const query = { points, smoothing: { kind: 'mean', amount } as const, extent: ys.length * 10 };
  const smoothed = amount === 0 ? undefined : smoothedNow(query);
  const made = curveOf(key, '#123456', points, smoothed);
  return { ...made, style: { color: 0, dash: 1 }, isHidden: false, series };
}

function drawingOf(curves: readonly ShownCurve[], max: number): Drawing {
  const range = { min: 0, max };
  const data = chartData(curves, { range, pixelCount: 400, logX: false, logY: false });
  const frame = {
    left: 54,
    top: 10,
    width: 400,
    height: 200,
    x: { ...range, isLog: false },
    y: { min: 0, max: 10, isLog: false },
  };
  return {
    model: { curves, range, settings: DEFAULT_CHART_SETTINGS },
    data,
    frame,
    outliers: undefined,
  };
}

const words: SvgWords = {
  title: HOSTILE,
  nameOf: (key) => key,
  color: (name) => `var(${name})`,
  fontFamily: 'sans-serif',
  marks: [{ x: 20, text: HOSTILE }],
};

describe('a chart as SVG', () => {
  it('has title, legend, axes, the line with its dashes, and marks, and no names but as text', () => {
    const drawing = drawingOf([curve(HOSTILE, [1, 5, 3]), curve('b', [2, Number.NaN, 4])], 20);
    const { svg, width, height } = chartSvg(drawing, words);
    expect(svg).not.toContain('<script');
    expect(svg.match(/&lt;script/g)?.length).toBe(4);
    expect(svg).toContain('stroke-dasharray="7 4"');
    // 0, 10 and 20 steps over 400 pixels that begin at 54; 1, 5 and 3 of 10 over 200 pixels.
    expect(svg).toMatch(/d="M54 [\d.]+L254 [\d.]+L454 [\d.]+"/);
    expect(svg).toContain('>step 0<');
    expect(width).toBeGreaterThan(454);
    expect(height).toBeGreaterThan(200);
    // Both points of "b" are alone: no line goes through them.
    expect(svg.match(/<circle/g)).toHaveLength(2);
  });

  it('has an envelope as one closed path where there are more points than pixels', () => {
    const ys = Array.from({ length: 10_000 }, (_, at) => (at % 2 === 0 ? 1 : 9));
    const { svg } = chartSvg(drawingOf([curve('a', ys)], 99_990), words);
    expect(svg).toMatch(/<path d="M[^"]*Z" fill="#123456"/);
    expect(svg.length).toBeLessThan(40_000);
  });
});

describe('a chart as CSV', () => {
  it('has all points of what is shown, and says what it lacks', () => {
    const one = curve('a', [1, 2, 3, 4, Number.NaN], 0.5);
    const settings = {
      ...DEFAULT_CHART_SETTINGS,
      smoothing: { kind: 'mean', amount: 0.5 },
    } as const;
    const table = chartTable([one], { min: 10, max: 40 }, settings, () => 'name');
    expect(table.header).toEqual([
      'curve',
      'key',
      'step',
      'epoch',
      'timestamp',
      'value',
      'smoothed',
    ]);
    const rows = [...table.rows()];
    expect(rows.map((row) => row[2])).toEqual([10, 20, 30, 40]);
    expect(rows[0]?.slice(0, 6)).toEqual([
      'name',
      'a',
      10,
      undefined,
      '2001-09-09T01:46:40.001Z',
      2,
    ]);
    expect(rows.at(-1)?.[5]).toBeNaN();
    expect(table.notes).toEqual([]);

    one.series.standsFor = { sampleCount: 1_000_000, nonFiniteCount: 0 };
    expect(chartTable([one], { min: 0, max: 40 }, settings, () => 'name').notes).toEqual([
      'a: downsampled to 5 of 1,000,000 points',
    ]);
  });

  it('has the values of the metric that the axis goes by', () => {
    const settings = { ...DEFAULT_CHART_SETTINGS, axis: 'metric:tokens' } as const;
    const table = chartTable([curve('a', [7])], { min: 0, max: 0 }, settings, () => 'a');
    expect(table.header).toContain('tokens');
    expect([...table.rows()][0]?.[5]).toBe(0);
  });
});
