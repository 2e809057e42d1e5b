import { describe, expect, it } from 'vitest';
import { createMemoryStore, TrainingSession } from 'quark-sdk';
import { DataDiagnostics } from 'quark-sdk/probes';
import {
  DEFAULT_INSTRUMENTS,
  instrumentCallback,
  instrumentsOf,
  probeOptions,
  storedInstruments,
} from '../../../demo/train/instruments.ts';

const NONE = instrumentsOf([]);

describe('the instruments of a demo training', () => {
  it('come back from the config of a run', () => {
    expect(storedInstruments(DEFAULT_INSTRUMENTS)).toHaveLength(5);
    for (const choice of [DEFAULT_INSTRUMENTS, NONE, { ...NONE, histograms: true }])
      expect(instrumentsOf(JSON.parse(JSON.stringify(storedInstruments(choice))))).toEqual(choice);
    expect(instrumentsOf(undefined)).toEqual(DEFAULT_INSTRUMENTS);
  });

  it('switch probes on and off one by one', () => {
    expect(probeOptions(NONE)).toEqual({ hooks: false, parameters: false });
    expect(probeOptions({ ...NONE, histograms: true })).toMatchObject({
      hooks: false,
      parameters: { captureSummaries: false, captureDistributions: true },
    });
    expect(probeOptions({ ...NONE, layers: true, parameters: true })).toMatchObject({
      hooks: { overheadBudget: 0.015 },
      parameters: { captureSummaries: true, captureDistributions: false },
    });
  });

  it('record what the batch of a step was made of', async () => {
    const storage = createMemoryStore();
    const session = await TrainingSession.startRun({ project: 'demo', config: {}, storage });
    const diagnostics = new DataDiagnostics(session);
    const callback = instrumentCallback({
      diagnostics,
      step: () => 7,
      batch: () => ({ labels: Uint8Array.of(3, 3, 9), ids: Int32Array.of(5, 6, 7) }),
    });
    await callback.onEpochBegin(2);
    await callback.onBatchEnd(0, { loss: 0.5 });
    expect(await diagnostics.read()).toMatchObject([
      {
        step: 7,
        epoch: 2,
        loss: 0.5,
        classCounts: { 3: 2, 9: 1 },
        sampleIds: ['5', '6', '7'],
      },
    ]);
    await session.endRun();
  });
});
