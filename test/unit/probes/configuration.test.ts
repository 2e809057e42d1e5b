/** Schedules, filters and settings: the defaults of the documents, every check, and what they select. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isQuarkError } from '../../../src/base/errors.ts';
import { checkHookConfig } from '../../../src/instruments/probes/hook-config.ts';
import { layerFilter } from '../../../src/instruments/probes/layer-filter.ts';
import { checkParameterConfig } from '../../../src/instruments/probes/parameter-config.ts';
import { Schedule } from '../../../src/instruments/probes/schedule.ts';
import {
  DEFAULT_HOOK_ENGINE_CONFIG,
  DEFAULT_HOOK_SCHEDULE_CONFIG,
  DEFAULT_LAYER_FILTER_CONFIG,
  DEFAULT_PARAMETER_DIAGNOSTICS_CONFIG,
} from '../../../src/probes.ts';
import { layer } from '../../support/array-source.ts';
import { runs } from '../../support/property.ts';

/** The field an error names. */
function fieldOf(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return isQuarkError(error, 'invalid_input') ? error.details['field'] : error;
  }
  return 'nothing was thrown';
}

describe('defaults', () => {
  it('are those of the documents', () => {
    expect(DEFAULT_HOOK_SCHEDULE_CONFIG).toStrictEqual({
      everyNSteps: 1,
      startStep: 0,
      stopStep: null,
      explicitSteps: [],
    });
    expect(DEFAULT_LAYER_FILTER_CONFIG).toStrictEqual({
      includeNames: [],
      excludeNames: [],
      includeTypes: [],
      excludeTypes: [],
      includeNamePatterns: [],
      excludeNamePatterns: [],
      leafModulesOnly: true,
    });
    expect(DEFAULT_HOOK_ENGINE_CONFIG).toMatchObject({
      captureForward: true,
      captureBackward: true,
      batchSize: 100,
      raiseOnError: null,
      deadUnitEpsilon: 0,
      saturationThreshold: 0.95,
      saturationModuleTypes: ['Sigmoid', 'Tanh', 'Hardsigmoid', 'Hardtanh', 'ReLU6'],
    });
    expect(DEFAULT_PARAMETER_DIAGNOSTICS_CONFIG).toMatchObject({
      batchSize: 100,
      captureSummaries: true,
      captureDistributions: false,
      distributionTypes: ['value'],
      histogramBins: 32,
      nearZeroEpsilon: 1e-8,
      maxHistogramValues: 100_000,
      includeParameterPatterns: [],
      excludeParameterPatterns: [],
      includeParameterRoles: [],
    });
  });
});

describe('Schedule', () => {
  const steps = fc.nat(200);

  it('has the steps of the cadence between start and stop, and the explicit ones', () => {
    fc.assert(
      fc.property(
        fc.record({
          everyNSteps: fc.option(fc.integer({ min: 1, max: 20 })),
          startStep: steps,
          length: fc.option(steps),
          explicitSteps: fc.array(steps, { maxLength: 5 }),
        }),
        steps,
        ({ everyNSteps, startStep, length, explicitSteps }, step) => {
          const stopStep = length === null ? null : startStep + length;
          const schedule = new Schedule({ everyNSteps, startStep, stopStep, explicitSteps });
          const cadence = new Set<number>();
          if (everyNSteps !== null)
            for (let at = startStep; at <= Math.min(stopStep ?? 200, 200); at += everyNSteps)
              cadence.add(at);
          expect(schedule.isInCadence(step)).toBe(cadence.has(step));
          expect(schedule.isExplicit(step)).toBe(explicitSteps.includes(step));
          // A stretched cadence leaves steps out and adds none.
          if (schedule.isInCadence(step, 3)) expect(cadence.has(step)).toBe(true);
        },
      ),
      runs(300),
    );
  });

  it.each([
    ['schedule.everyNSteps', { everyNSteps: 0 }],
    ['schedule.startStep', { startStep: -1 }],
    ['schedule.stopStep', { startStep: 5, stopStep: 4 }],
    ['schedule.explicitSteps', { explicitSteps: 5 as never }],
    ['schedule.explicitSteps[1]', { explicitSteps: [1, 1.5] }],
    ['schedule.everySteps', { everySteps: 1 } as never],
  ])('names the wrong field %s', (field, config) => {
    expect(fieldOf(() => new Schedule(config))).toBe(field);
  });
});

describe('layer filters', () => {
  const layers = [
    layer('encoder', { type: 'Sequential', isLeaf: false }),
    layer('encoder/conv_1', { type: 'Conv2D', qualifiedType: 'tfjs.layers.Conv2D' }),
    layer('encoder/act_1', { type: 'Activation' }),
    layer('head'),
  ];
  const matching = (config: Parameters<typeof layerFilter>[0]): string[] =>
    layers.filter(layerFilter(config)).map(({ name }) => name);

  it.each([
    [{}, ['encoder/conv_1', 'encoder/act_1', 'head']],
    [{ leafModulesOnly: false }, ['encoder', 'encoder/conv_1', 'encoder/act_1', 'head']],
    [{ includeNames: ['head'] }, ['head']],
    [{ excludeNames: ['head'] }, ['encoder/conv_1', 'encoder/act_1']],
    [{ includeTypes: ['Conv2D', 'Dense'] }, ['encoder/conv_1', 'head']],
    [{ includeTypes: ['tfjs.layers.Conv2D'] }, ['encoder/conv_1']],
    [{ excludeTypes: ['Activation'] }, ['encoder/conv_1', 'head']],
    [{ includeNamePatterns: ['_1$'] }, ['encoder/conv_1', 'encoder/act_1']],
    // A pattern with the flag g would remember where it was.
    [{ includeNamePatterns: [/ENCODER/gi] }, ['encoder/conv_1', 'encoder/act_1']],
    [{ includeNamePatterns: ['_1$'], excludeNamePatterns: [/conv/] }, ['encoder/act_1']],
    [{ includeNamePatterns: ['_1$'], includeTypes: ['Conv2D'] }, ['encoder/conv_1']],
    [{ includeNames: ['head'], includeTypes: ['Conv2D'] }, []],
  ])('%o', (config, names) => {
    expect(matching(config)).toStrictEqual(names);
  });

  it.each([
    ['filters.includeNames', { includeNames: 'head' as never }],
    ['filters.excludeTypes[0]', { excludeTypes: [''] }],
    ['filters.includeNamePatterns[0]', { includeNamePatterns: ['('] }],
    ['filters.leafModulesOnly', { leafModulesOnly: 1 as never }],
    ['filters.includeName', { includeName: [] } as never],
  ])('name the wrong field %s', (field, config) => {
    expect(fieldOf(() => layerFilter(config))).toBe(field);
  });
});

describe('settings', () => {
  it.each([
    ['batchSize', { batchSize: 0 }],
    ['raiseOnError', { raiseOnError: 'yes' as never }],
    ['overheadBudget', { overheadBudget: 0 }],
    ['overheadBudget', { overheadBudget: 1.5 }],
    ['probeTimeoutMs', { probeTimeoutMs: -1 }],
    ['kernels', { kernels: {} as never }],
    ['captureForward', { captureForward: 0 as never }],
    ['deadUnitEpsilon', { deadUnitEpsilon: -1 }],
    ['saturationThreshold', { saturationThreshold: Number.NaN }],
    ['saturationModuleTypes', { saturationModuleTypes: 'Tanh' as never }],
    ['deadUnitProbes', { deadUnitProbes: 0 }],
    ['config.dead_unit_epsilon', { dead_unit_epsilon: 0 } as never],
  ])('of the hook engine name the wrong field %s', (field, config) => {
    expect(fieldOf(() => checkHookConfig(config))).toBe(field);
  });

  it.each([
    ['histogramBins', { histogramBins: 65_537 }],
    ['histogramBins', { histogramBins: 0 }],
    ['maxHistogramValues', { maxHistogramValues: 0 }],
    ['nearZeroEpsilon', { nearZeroEpsilon: Number.POSITIVE_INFINITY }],
    ['distributionTypes[1]', { distributionTypes: ['value', 'values'] as never }],
    ['includeParameterRoles[0]', { includeParameterRoles: ['kernel'] as never }],
    ['includeParameterPatterns[0]', { includeParameterPatterns: ['['] }],
    ['captureSummaries', { captureSummaries: null as never }],
    ['config.filters', { filters: {} } as never],
  ])('of the parameter diagnostics name the wrong field %s', (field, config) => {
    expect(fieldOf(() => checkParameterConfig(config))).toBe(field);
  });

  it('take undefined for what was not given', () => {
    const nothing = (defaults: object): object =>
      Object.fromEntries(Object.keys(defaults).map((name) => [name, undefined]));
    const hooks = checkHookConfig(nothing(DEFAULT_HOOK_ENGINE_CONFIG));
    expect(hooks).toMatchObject({
      captureForward: true,
      saturationThreshold: 0.95,
      batchSize: 100,
    });
    const parameters = checkParameterConfig(nothing(DEFAULT_PARAMETER_DIAGNOSTICS_CONFIG));
    expect(parameters).toMatchObject({ captureSummaries: true, nearZeroEpsilon: 1e-8 });
  });

  it('name each of the known options once', () => {
    expect(() => checkHookConfig({ everyNSteps: 3 } as never)).toThrow(
      /known options: (?:(\w+), (?!.*\b\1\b))*now;/,
    );
  });

  it('know saturating layers by class and by activation, in any spelling', () => {
    const { saturates } = checkHookConfig({});
    expect(saturates(layer('a', { type: 'Tanh' }))).toBe(true);
    expect(saturates(layer('a', { activation: 'hardSigmoid' }))).toBe(true);
    expect(saturates(layer('a', { activation: 'hard_sigmoid' }))).toBe(true);
    expect(saturates(layer('a', { type: 'ReLU' }))).toBe(false);
    expect(
      checkHookConfig({ saturationModuleTypes: [] }).saturates(layer('a', { type: 'Tanh' })),
    ).toBe(false);
  });
});
