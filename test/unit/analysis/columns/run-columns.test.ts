import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createMemoryStore, EventLogger, MetricsLogger, openRun, startRun } from 'quark-sdk';
import { axisOf, createMetricSeries, createRunColumns, loadRunColumns } from 'quark-sdk/analysis';
import { DataDiagnostics, HookEngine, SystemTelemetry } from 'quark-sdk/probes';
import { emptyColumns } from '../../../../src/analysis/columns/empty-columns.ts';
import { layerSummaryTable } from '../../../../src/records/layer-summary.ts';
import { parameterSummaryTable } from '../../../../src/records/parameter-summary.ts';
import { RecordWriter } from '../../../../src/session/record-writer.ts';
import { handleOf } from '../../../../src/session/run-handle.ts';
import { ArraySource, layer as layerInfo } from '../../../support/array-source.ts';
import { runs } from '../../../support/property.ts';

const project = 'columns';

test('a metric is ordered by step, and a later sample replaces an earlier one of its step', () => {
  const series = createMetricSeries('train/loss', {
    steps: [0, 1, 2, 1, 2, 5, 3],
    values: [9, 8, 7, 6, Number.NaN, 4, 5],
  });
  expect(series.x).toBe('step');
  expect([...series.steps]).toEqual([0, 1, 2, 3, 5]);
  expect([...series.values]).toEqual([9, 6, Number.NaN, 5, 4]);
  expect([...series.epochs]).toEqual([Number.NaN, Number.NaN, Number.NaN, Number.NaN, Number.NaN]);
});

test('a metric without steps lies on its epochs; rows without a place are left out', () => {
  const byEpoch = createMetricSeries('a', { epochs: [2, 0, 1], values: [3, 1, 2] });
  expect([byEpoch.x, ...axisOf(byEpoch), ...byEpoch.values]).toEqual(['epoch', 0, 1, 2, 1, 2, 3]);
  const mixed = createMetricSeries('a', {
    steps: [Number.NaN, 4, 2],
    epochs: [0, Number.NaN, Number.NaN],
    values: [1, 2, 3],
  });
  expect([mixed.x, ...mixed.steps, ...mixed.values]).toEqual(['step', 2, 4, 3, 2]);
});

test.each([
  ['values', { steps: [1], values: 'x' }, 'samples.values'],
  ['no places', { values: [1] }, 'samples.steps'],
  ['another length', { values: [1], steps: [1, 2] }, 'samples.steps'],
  ['an unknown column', { values: [1], step: [1] }, 'samples.step'],
])('samples are refused by name: %s', (_what, samples, field) => {
  expect(() => createMetricSeries('a', samples as never)).toThrow(
    expect.objectContaining({ details: expect.objectContaining({ field }) }),
  );
});

test('what is read back is what was logged, however it was flushed', async () => {
  const sample = fc.record({
    key: fc.constantFrom('train/loss', 'val/loss', 'b'),
    step: fc.integer({ min: 0, max: 30 }),
    value: fc.double(),
    flush: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(sample, { maxLength: 60 }), async (samples) => {
      const storage = createMemoryStore();
      const session = await startRun({ project, storage });
      const metrics = new MetricsLogger(session);
      const expected = new Map<string, Map<number, number>>();
      for (const { flush, key, step, value } of samples) {
        metrics.log(key, value, { step });
        const places = expected.get(key) ?? new Map<number, number>();
        places.set(step, value);
        expected.set(key, places);
        if (flush) await metrics.flush();
      }
      // Not flushed at the end: loading does that.
      const { metrics: series } = await loadRunColumns(session);
      expect([...series.keys()]).toEqual([...expected.keys()].toSorted());
      for (const [key, places] of expected) {
        const steps = [...places.keys()].toSorted((a, b) => a - b);
        expect([...(series.get(key)?.steps ?? [])]).toEqual(steps);
        expect([...(series.get(key)?.values ?? [])]).toEqual(steps.map((step) => places.get(step)));
      }
      await session.endRun();
      await session.close();
      const reader = await openRun(storage, session.runId);
      const again = await loadRunColumns(reader);
      expect(again.metrics).toEqual(series);
      expect(again.run).toMatchObject({ runId: session.runId, status: 'completed', isLive: false });
      const [key] = expected.keys();
      if (key === undefined) return;
      const one = await loadRunColumns(reader, { metrics: [key, key], events: false });
      expect([...one.metrics]).toEqual([[key, series.get(key)]]);
      expect(one.events.rowCount).toBe(0);
    }),
    runs(25),
  );
});

test('telemetry, batches and events come as columns', async () => {
  const storage = createMemoryStore();
  const session = await startRun({ project, storage, config: { lr: 0.5 } });
  const telemetry = new SystemTelemetry(session, { captureCpu: false, captureGpu: false });
  telemetry.recordStep(3, { stepTimeMs: 20, dataTimeMs: 5 });
  const batches = new DataDiagnostics(session);
  batches.logBatch(2, { step: 7, labels: ['cat', 'dog', 'cat'] });
  batches.logBatch(1, { step: 4, labels: ['eel'], metadata: { a: 1 } });
  const events = new EventLogger(session);
  events.log('checkpoint_saved', { step: 5, payload: { path: 'x' } });
  const columns = await loadRunColumns(session);
  expect(columns.run.config).toEqual({ lr: 0.5 });
  expect([...columns.telemetry.steps, ...columns.telemetry.stepTimeMs]).toEqual([3, 20]);
  expect([...columns.telemetry.dataTimeMs, ...columns.telemetry.gpuMemoryUsedBytes]).toEqual([
    5,
    Number.NaN,
  ]);
  expect([...columns.batches.steps]).toEqual([4, 7]);
  expect([...columns.batches.losses]).toEqual([1, 2]);
  expect(columns.batches.classNames).toEqual(['eel', 'cat', 'dog']);
  expect([...columns.batches.classOffsets]).toEqual([0, 1, 3]);
  expect([...columns.batches.classIndex]).toEqual([0, 1, 2]);
  expect([...columns.batches.classCounts]).toEqual([1, 2, 1]);
  expect(columns.batches.metadata).toEqual(['{"a":1}', null]);
  const at = columns.events.eventTypes.indexOf('checkpoint_saved');
  expect(columns.events.severities[at]).toBe('info');
  expect(columns.events.steps[at]).toBe(5);
  expect(JSON.parse(columns.events.payloads[at] ?? '')).toEqual({ path: 'x' });
  await session.close();
});

test('a run in memory is what it is made of', () => {
  const loss = createMetricSeries('train/loss', { steps: [0, 1], values: [2, 1] });
  const columns = createRunColumns({ metrics: [loss], run: { status: 'failed' } });
  expect(columns).toEqual({
    ...emptyColumns(),
    metrics: new Map([['train/loss', loss]]),
    run: { ...emptyColumns().run, status: 'failed' },
  });
  expect(() => createRunColumns({ metric: [] } as never)).toThrow('parts.metric');
});

test('what cannot be loaded is refused by name', async () => {
  await expect(loadRunColumns({} as never)).rejects.toThrow('session must be');
  const session = await startRun({ project, storage: createMemoryStore() });
  await expect(loadRunColumns(session, { metrics: 'a' } as never)).rejects.toThrow(
    'wanted.metrics must be true, false or a list',
  );
  await expect(loadRunColumns(session, { layer: true } as never)).rejects.toThrow('wanted.layer');
  await session.close();
});

test('layers are grouped, in the order of the forward pass', async () => {
  const session = await startRun({ project, storage: createMemoryStore() });
  const writer = new RecordWriter(handleOf(session), layerSummaryTable, {});
  const add = (
    moduleName: string,
    summaryType: 'activation' | 'gradient',
    step: number,
    norm: number | null,
  ) =>
    writer.add({
      timestamp: 0,
      moduleName,
      moduleType: 'Dense',
      summaryType,
      hookDirection: summaryType === 'gradient' ? 'backward' : 'forward',
      step,
      epoch: null,
      callIndex: 0,
      elementCount: 4,
      tensorShape: null,
      mean: null,
      std: null,
      norm,
      variance: null,
      deadUnitRatio: null,
      saturationRatio: null,
      nonFiniteCount: 0,
      deadUnitCount: null,
      persistentDeadUnitCount: null,
      zeroOutputRatio: null,
      deadUnitShare: null,
      metadata: step === 9 ? { pass: 'evaluation' } : null,
    });
  for (const step of [1, 0, 9]) {
    add('first', 'activation', step, step);
    add('second', 'activation', step, null);
    add('second', 'gradient', step, 20 + step);
    add('first', 'gradient', step, 10 + step);
  }
  await writer.drain();
  const { layers } = await loadRunColumns(session);
  expect(
    layers.map((layer) => [
      layer.moduleName,
      layer.summaryType,
      layer.isEvaluation,
      [...layer.steps],
      [...layer.norm],
    ]),
  ).toEqual([
    ['first', 'activation', false, [0, 1], [0, 1]],
    ['first', 'gradient', false, [0, 1], [10, 11]],
    ['first', 'activation', true, [9], [9]],
    ['first', 'gradient', true, [9], [19]],
    ['second', 'activation', false, [0, 1], [Number.NaN, Number.NaN]],
    ['second', 'gradient', false, [0, 1], [20, 21]],
    ['second', 'activation', true, [9], [Number.NaN]],
    ['second', 'gradient', true, [9], [29]],
  ]);
  await session.close();
});

test('parameters are one series each', async () => {
  const session = await startRun({ project, storage: createMemoryStore() });
  const writer = new RecordWriter(handleOf(session), parameterSummaryTable, {});
  const numbers = Object.fromEntries(
    Object.keys(parameterSummaryTable.columns)
      .filter((name) => /^(value|gradient|update|nearZero)/.test(name))
      .map((name) => [name, null]),
  );
  for (const step of [2, 1])
    for (const parameterName of ['dense/kernel', 'dense/bias'])
      writer.add({
        ...numbers,
        timestamp: 0,
        moduleName: 'dense',
        parameterName,
        parameterRole: parameterName.endsWith('bias') ? 'bias' : 'weight',
        step,
        epoch: null,
        shape: [2],
        dtype: 'float32',
        elementCount: 2,
        updateRatio: step / 100,
        optimizerGroup: null,
        metadata: null,
      } as never);
  await writer.drain();
  const { parameters } = await loadRunColumns(session);
  expect(
    parameters.map((parameter) => [
      parameter.parameterName,
      parameter.parameterRole,
      [...parameter.steps],
      [...parameter.updateRatio],
    ]),
  ).toEqual([
    ['dense/kernel', 'weight', [1, 2], [0.01, 0.02]],
    ['dense/bias', 'bias', [1, 2], [0.01, 0.02]],
  ]);
  await session.close();
});

test('several metrics are read in one pass over the segments', async () => {
  const memory = createMemoryStore();
  const session = await startRun({ project: 'keys', storage: memory });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 30; step++) {
    for (const key of ['a', 'b', 'c/a']) metrics.log(key, step, { step });
    if (step % 10 === 9) await session.flush();
  }
  await session.endRun();
  const reads: number[] = [];
  const counting = new Proxy(memory, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => {
        if (name === 'readSegments' && Array.isArray(args[0])) reads.push(args[0].length);
        return Reflect.apply(member, target, args);
      };
    },
  });
  const reader = await openRun(counting, session.runId);
  const whole = await loadRunColumns(reader, { metrics: true });
  reads.length = 0;
  const some = await loadRunColumns(reader, {
    metrics: ['c/a', 'a', 'none', 'a'],
    layers: false,
    parameters: false,
    telemetry: false,
    batches: false,
    events: false,
  });
  expect([...some.metrics.keys()]).toEqual(['a', 'c/a']);
  expect(some.metrics.get('a')).toEqual(whole.metrics.get('a'));
  expect(reads).toHaveLength(1);
  reads.length = 0;
  expect((await loadRunColumns(reader, { metrics: [] })).metrics.size).toBe(0);
  const both = { metricKeys: ['a', 'b'], metricKey: 'b', metricName: 'b' };
  expect((await reader.readMetricColumns(both)).keys).toEqual(['b']);
  expect(
    (await reader.readMetricColumns({ metricKeys: ['a', 'c/a'], namespace: 'c' })).keys,
  ).toEqual(['c/a']);
  await expect(
    reader.readMetricColumns({ metricKeys: 'a' as unknown as string[] }),
  ).rejects.toThrow(/metricKeys/);
});

test('units are counted along their own axis: channels first, channels last', async () => {
  const session = await startRun({ project, storage: createMemoryStore() });
  const source = new ArraySource([layerInfo('first', { unitAxis: 1 }), layerInfo('last')]);
  const hooks = new HookEngine(session, source);
  hooks.step(0, {}, () => {
    const image = new Float32Array(2 * 3 * 4 * 5).fill(1).fill(0, 0, 20).fill(0, 60, 80);
    source.show(0, 'forward', source.ref(image, [2, 3, 4, 5])); // unit 0 of 3 is dead
    source.show(1, 'forward', source.ref(image, [2, 3, 4, 5]));
  });
  const columns = await loadRunColumns(session);
  const found = columns.layers.map((one) => [
    one.moduleName,
    ...one.unitCount,
    ...one.deadUnitCount,
  ]);
  expect(found).toEqual([
    ['first', 3, 1],
    ['last', 5, 0],
  ]);
  await session.endRun();
});
