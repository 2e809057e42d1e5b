import { expect, it } from 'vitest';
import { confusionView } from '../../../../dashboard/media/evaluation/confusion.ts';
import type { UnitCurve } from '../../../../dashboard/media/evaluation/unit-chart.tsx';
import { histogramGrid } from '../../../../dashboard/media/distribution/histogram-grid.ts';
import {
  histogramSvg,
  histogramTable,
} from '../../../../dashboard/media/distribution/histogram-files.ts';
import { embeddingTable } from '../../../../dashboard/media/embedding/embedding-files.ts';
import {
  confusionSvg,
  confusionTable,
} from '../../../../dashboard/media/evaluation/confusion-files.ts';
import { unitSvg, unitTable } from '../../../../dashboard/media/evaluation/unit-files.ts';

const HOSTILE = '</text><script>alert(1)</script>';
const RAMP = new Uint8Array(768).fill(90);
const WORDS = { title: HOSTILE, color: () => '#123456', fontFamily: 'sans-serif' };

it('writes a confusion matrix as it is shown, with the counts', () => {
  const matrix = {
    classes: ['cat', HOSTILE],
    counts: [
      [3, 1],
      [0, 4],
    ],
  };
  const view = confusionView(matrix, 'row', false);
  expect(confusionTable(view, 'row')).toEqual({
    header: ['true_class', 'predicted_class', 'count', 'share_of_true'],
    rows: [
      ['cat', 'cat', 3, 0.75],
      ['cat', HOSTILE, 1, 0.25],
      [HOSTILE, 'cat', 0, 0],
      [HOSTILE, HOSTILE, 4, 1],
    ],
  });
  expect(confusionTable(confusionView(matrix, 'counts', false), 'counts').header).toHaveLength(3);
  const { svg } = confusionSvg(view, 'row', RAMP, WORDS);
  expect(svg).not.toContain('<script');
  // The ground, and four cells.
  expect(svg.match(/<rect /g)).toHaveLength(5);
  expect(svg).toContain('>75</text>');
});

it('leaves classes without examples empty in the picture', () => {
  const empty = {
    classes: ['a', 'b'],
    counts: [
      [0, 0],
      [1, 1],
    ],
  };
  const { svg } = confusionSvg(confusionView(empty, 'row', false), 'row', RAMP, WORDS);
  expect(svg.match(/<rect /g)).toHaveLength(3);
  expect(svg).not.toContain('NaN');
});

it('writes histograms over steps from the smallest value up', () => {
  const grid = histogramGrid(
    [
      { step: 0, binEdges: [0, 1, 2], counts: [3, 1] },
      { step: 10, binEdges: [0, 1, 2], counts: [0, 4] },
    ],
    2,
    10,
  );
  if (grid === undefined) throw new Error('no grid');
  const { header, rows } = histogramTable(grid);
  expect(header).toEqual(['steps', 'from', 'to', 'share']);
  expect([...rows]).toEqual([
    ['0', 0, 1, 0.75],
    ['0', 1, 2, 0.25],
    ['10', 0, 1, 0],
    ['10', 1, 2, 1],
  ]);
  const { svg } = histogramSvg(grid, RAMP, WORDS);
  expect(svg.match(/<rect /g)).toHaveLength(4);
  expect(svg).not.toContain('<script');
});

it('writes curves with their thresholds, and points with their components', () => {
  const curve: UnitCurve = {
    id: 'a',
    name: HOSTILE,
    color: '#ff0000',
    dash: [4, 2],
    xs: Float64Array.of(0, 1),
    ys: Float64Array.of(0.5, 1),
    thresholds: Float64Array.of(Infinity, 0.1),
  };
  const titles = { xTitle: 'recall', yTitle: 'precision', hasDiagonal: true };
  expect(unitTable([curve], titles)).toEqual({
    header: ['curve', 'recall', 'precision', 'threshold'],
    rows: [
      [HOSTILE, 0, 0.5, Infinity],
      [HOSTILE, 1, 1, 0.1],
    ],
  });
  const { svg } = unitSvg([curve], titles, WORDS);
  expect(svg).toContain('stroke-dasharray="4 2"');
  expect(svg).not.toContain('<script');
  const components = {
    componentCount: 2,
    positions: Float64Array.of(1, 2, 3, 4),
    variances: Float64Array.of(1, 1),
    totalVariance: 2,
  };
  expect(
    embeddingTable({ ...components, directions: new Float64Array(4), means: new Float64Array(2) }, [
      'a',
      'b',
    ]),
  ).toEqual({
    header: ['index', 'label', 'component_1', 'component_2'],
    rows: [
      [0, 'a', 1, 2],
      [1, 'b', 3, 4],
    ],
  });
});
