import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createMemoryStore, openRun, TrainingSession } from 'quark-sdk';
import { readLayerColumns, readParameterColumns } from 'quark-sdk/probes';
import {
  colorScale,
  shareOn,
  rampBytes,
  scaleTicks,
} from '../../../dashboard/charts/heat/color-scale.ts';
import {
  BAD_SHADE,
  EMPTY_SHADE,
  columnLefts,
  gridColumns,
  labelledColumns,
  layerGrid,
} from '../../../dashboard/charts/heat/layer-grid.ts';
import { LayerCharts } from '../../../dashboard/run/layers/layer-series.ts';
import {
  joinOrder,
  LayerTable,
  shortParameter,
} from '../../../dashboard/run/layers/layer-table.ts';
import type { LayerPoints } from '../../../dashboard/charts/heat/layer-grid.ts';
import { LayerFeed } from '../../../dashboard/run/layers/feed.ts';
import { layerRow, parameterRow, writeProbeRows } from '../../support/probe-rows.ts';
import { runs } from '../../support/property.ts';

type Rows = Parameters<typeof writeProbeRows>[1];

async function tableOf(...parts: readonly Rows[]): Promise<LayerTable> {
  const store = createMemoryStore();
  const session = await TrainingSession.startRun({
    project: 'layers',
    config: {},
    storage: store,
    handleSignals: false,
  });
  const table = new LayerTable();
  const reader = await openRun(store, session.runId);
  let layer = 0;
  let parameter = 0;
  for (const rows of parts) {
    await writeProbeRows(session, rows);
    const layers = await readLayerColumns(reader, { sequenceMin: layer });
    const parameters = await readParameterColumns(reader, { sequenceMin: parameter });
    table.appendLayers(layers);
    table.appendParameters(parameters);
    layer = layers.lastSequence + 1;
    parameter = parameters.lastSequence + 1;
  }
  await session.endRun();
  return table;
}

const points = (steps: number[], values: number[], bad: number[] = []): LayerPoints => ({
  steps: Float64Array.from(steps),
  values: Float64Array.from(values),
  isBad: Uint8Array.from(steps, (step) => (bad.includes(step) ? 1 : 0)),
});

describe('the table of layers', () => {
  it('has layers in model order, whichever pass names them first', async () => {
    const back = { summaryType: 'gradient', hookDirection: 'backward' } as const;
    const table = await tableOf(
      { layers: ['out', 'mid', 'in'].map((moduleName) => layerRow({ moduleName, ...back })) },
      { parameters: [parameterRow({ moduleName: 'mid', parameterName: 'mid/w' })] },
      { layers: ['in', 'norm', 'mid'].map((moduleName) => layerRow({ moduleName, step: 1 })) },
    );
    expect(table.layers.map(({ name }) => name)).toEqual(['in', 'norm', 'mid', 'out']);
    expect(table.quantities).toEqual([
      'activation_mean',
      'activation_std',
      'gradient_norm',
      'weight_gradient_norm',
      'update_ratio',
    ]);
    expect([...table.probedSteps()].toSorted((a, b) => a - b)).toEqual([0, 1]);
  });

  it('joins calls by the furthest from zero and takes the last of a step written twice', async () => {
    const table = await tableOf({
      layers: [
        layerRow({ moduleName: 'shared', step: 3, callIndex: 0, mean: 0.5 }),
        layerRow({ moduleName: 'shared', step: 3, callIndex: 1, mean: -2 }),
        layerRow({ moduleName: 'shared', step: 1, mean: 7 }),
        layerRow({ moduleName: 'shared', step: 1, mean: 1 }),
        layerRow({ moduleName: 'shared', step: 2, mean: 9, metadata: { pass: 'evaluation' } }),
        layerRow({ moduleName: 'shared', step: null, mean: 9 }),
      ],
    });
    const { steps, values } = table.points('shared', 'activation_mean');
    expect([...steps]).toEqual([1, 3]);
    expect([...values]).toEqual([1, -2]);
  });

  it('joins parameters as one vector, and marks what is not finite', async () => {
    const at = { moduleName: 'd', step: 1 };
    const table = await tableOf({
      parameters: [
        // Norms before: 4 and 3, together 5; updates 0.4 and 0.3, together 0.5.
        parameterRow({
          ...at,
          parameterName: 'd/kernel',
          updateNorm: 0.4,
          updateRatio: 0.1,
          gradientNorm: 3,
        }),
        parameterRow({
          ...at,
          parameterName: 'd/bias',
          updateNorm: 0.3,
          updateRatio: 0.1,
          gradientNorm: 4,
        }),
        parameterRow({
          moduleName: 'd',
          step: 2,
          parameterName: 'd/bias',
          gradientNorm: null,
          gradientNonFiniteCount: 4,
          updateNorm: 0.5,
          updateRatio: null,
        }),
      ],
    });
    expect(table.points('d', 'update_ratio').values[0]).toBeCloseTo(0.1, 12);
    const gradients = table.points('d', 'weight_gradient_norm');
    expect([...gradients.values]).toEqual([5, Number.NaN]);
    expect([...gradients.isBad]).toEqual([0, 1]);
    const series = new LayerCharts(table, 'd');
    series.update();
    series.update();
    expect(series.groups.map(({ title, keys }) => [title, keys])).toEqual([
      ['weight gradient', ['bias/weight gradient', 'kernel/weight gradient']],
      ['update ratio', ['bias/update ratio', 'kernel/update ratio']],
    ]);
    expect([...(series.series.get('bias/update ratio')?.values ?? [])]).toHaveLength(1);
    expect([...(series.series.get('bias/weight gradient')?.values ?? [])]).toEqual([4, Number.NaN]);
  });

  it('reads on from where it was', async () => {
    const store = createMemoryStore();
    const session = await TrainingSession.startRun({
      project: 'feed',
      config: {},
      storage: store,
      handleSignals: false,
    });
    const feed = new LayerFeed(await openRun(store, session.runId));
    expect(await feed.poll()).toBe(false);
    await writeProbeRows(session, { layers: [layerRow({ moduleName: 'a' })] });
    expect(await feed.poll()).toBe(true);
    expect(await feed.poll()).toBe(false);
    await writeProbeRows(session, {
      parameters: [parameterRow({ moduleName: 'b', parameterName: 'b/w' })],
    });
    expect(await feed.poll()).toBe(true);
    expect(feed.table.rowCount).toBe(2);
    await session.endRun();
  });

  it('names a parameter within its layer, and puts what is new beside its neighbour', () => {
    expect(shortParameter('conv/kernel', 'conv')).toBe('kernel');
    expect(shortParameter('conv1/kernel', 'conv')).toBe('conv1/kernel');
    expect(joinOrder(['a', 'c'], ['a', 'b', 'c', 'd'])).toEqual(['a', 'b', 'c', 'd']);
    expect(joinOrder(['a'], ['z', 'a'])).toEqual(['z', 'a']);
  });
});

describe('the grid of layers', () => {
  it('leaves cells without a number empty, and marks those with bad elements', () => {
    const grid = layerGrid(
      [
        { name: 'a', points: points([1, 2], [0.5, 0.25]) },
        { name: 'none', points: points([], []) },
        { name: 'b', points: points([2, 3], [1, Number.NaN], [3]) },
      ],
      'share',
      10,
    );
    expect(grid.rows).toEqual(['a', 'b']);
    expect(grid.columns.map(({ firstStep }) => firstStep)).toEqual([1, 2, 3]);
    expect([...grid.shades]).toEqual([128, 64, EMPTY_SHADE, EMPTY_SHADE, 255, BAD_SHADE]);
    expect(grid.cells[5]).toMatchObject({ count: 1, badCount: 1 });
  });

  it('keeps spikes and drops when steps share a column', () => {
    const steps = Array.from({ length: 100 }, (_, step) => step);
    const values = steps.map((step) => (step === 17 ? 1e3 : step === 62 ? 0 : 1));
    const grid = layerGrid([{ name: 'a', points: points(steps, values) }], 'log', 10);
    expect(grid.stepsPerColumn).toBe(10);
    expect(grid.columns).toHaveLength(10);
    expect(grid.cells[1]).toEqual({ value: 1e3, min: 1, max: 1e3, count: 10, badCount: 0 });
    expect(grid.cells[6]).toMatchObject({ value: 0, min: 0, max: 1 });
    expect(grid.cells[3]).toMatchObject({ value: 1 });
    expect(grid.shades[6]).toBe(0);
  });

  it('holds every step in exactly one column, whatever the room', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.nat(10_000), { minLength: 1, maxLength: 200 }),
        fc.integer({ min: 1, max: 60 }),
        (given, room) => {
          const steps = given.toSorted((a, b) => a - b);
          const { columns, cells, shades } = layerGrid(
            [{ name: 'a', points: points(steps, steps) }],
            'linear',
            room,
          );
          expect(columns.length).toBeLessThanOrEqual(room);
          expect(columns.reduce((sum, { stepCount }) => sum + stepCount, 0)).toBe(steps.length);
          expect(cells.reduce((sum, { count }) => sum + count, 0)).toBe(steps.length);
          expect(Math.max(...cells.map(({ max }) => max))).toBe(steps.at(-1));
          expect(shades.every((shade) => shade >= 0 && shade <= 255)).toBe(true);
        },
      ),
      runs(60),
    );
  });

  it('labels columns so far apart that the labels have room', () => {
    const even = (count: number, px: number): Float64Array =>
      Float64Array.from({ length: count + 1 }, (_, at) => at * px);
    expect(labelledColumns(even(10, 4), 20)).toEqual([0, 5]);
    expect(labelledColumns(even(3, 40), 20)).toEqual([0, 1, 2]);
    expect(labelledColumns(even(0, 4), 20)).toEqual([]);
    expect(labelledColumns(Float64Array.of(0, 1, 2, 60, 100), 20)).toEqual([0, 3]);
  });

  it('gives steps the width that they take', () => {
    const steps = Float64Array.of(...Array.from({ length: 11 }, (_, at) => at), 50, 100, 150);
    const { columns, columnOf } = gridColumns(steps, 200);
    expect(columns.map(({ firstStep }) => firstStep)).toEqual([...steps]);
    expect([...columnOf]).toEqual(Array.from(steps, (_, at) => at));
    const lefts = columnLefts(columns, 302);
    expect([lefts[10], lefts[11], lefts[13], lefts[14]]).toEqual([20, 100, 300, 302]);
  });

  it('joins steps that have no room, and no others', () => {
    const steps = fc.uniqueArray(fc.integer({ min: 0, max: 5000 }), {
      minLength: 1,
      maxLength: 80,
    });
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 60 }), (list, maxColumns) => {
        const sorted = Float64Array.from(list).toSorted();
        const { columns, columnOf } = gridColumns(sorted, maxColumns);
        expect(columns.length).toBeLessThanOrEqual(maxColumns);
        expect(columns.reduce((sum, { stepCount }) => sum + stepCount, 0)).toBe(sorted.length);
        const lefts = columnLefts(columns, 1000);
        for (const [at, column] of columns.entries()) {
          expect(column.endStep).toBe(columns[at + 1]?.firstStep ?? column.endStep);
          const width = (lefts[at + 1] ?? 0) - (lefts[at] ?? 0);
          if (at < columns.length - 1) expect(width).toBeGreaterThan(1000 / maxColumns - 1e-3);
        }
        for (const [at, step] of sorted.entries()) {
          const { firstStep = 0, lastStep = 0 } = columns[columnOf[at] ?? -1] ?? {};
          expect(step >= firstStep && step <= lastStep).toBe(true);
        }
      }),
      runs(200),
    );
  });
});

describe('colour scales', () => {
  it('put every number on the ramp, in order', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double(), { maxLength: 40 }),
        fc.constantFrom('diverging' as const, 'log' as const, 'linear' as const, 'share' as const),
        (values, kind) => {
          const scale = colorScale(kind, values);
          expect(scale.max).toBeGreaterThan(scale.min);
          let last = 0;
          for (const value of values
            .filter((one) => !Number.isNaN(one))
            .toSorted((a, b) => a - b)) {
            const share = shareOn(scale, value);
            expect(share).toBeGreaterThanOrEqual(last);
            expect(share).toBeLessThanOrEqual(1);
            last = share;
          }
        },
      ),
      runs(200),
    );
  });

  it('have zero in the middle when they diverge', () => {
    const scale = colorScale('diverging', [-1, 4]);
    expect(shareOn(scale, 0)).toBe(0.5);
    expect(shareOn(scale, 4)).toBe(1);
    expect(scaleTicks(scale).map(({ text }) => text)).toEqual(['−4', '0', '4']);
  });

  it('are not stretched by one number among many, and say so', () => {
    const values = [...Array.from({ length: 300 }, (_, at) => 1 + at / 300), 1e9];
    const scale = colorScale('log', values);
    expect(scale.max).toBeLessThan(10);
    expect(scale.isCutHigh).toBe(true);
    expect(scaleTicks(scale).at(-1)?.text).toMatch(/^≥ /);
    expect(shareOn(scale, 1e9)).toBe(1);
    expect(shareOn(scale, 0)).toBe(0);
  });

  it('go evenly through their stops', () => {
    expect([...rampBytes(['#000000', '#ff0080', '#ffffff'], 5)]).toEqual([
      0, 0, 0, 128, 0, 64, 255, 0, 128, 255, 128, 192, 255, 255, 255,
    ]);
  });
});
