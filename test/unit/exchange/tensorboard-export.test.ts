import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ArtifactStore } from '../../../src/instruments/artifacts/artifact-store.ts';
import { loadArtifact } from '../../../src/instruments/artifacts/load-artifact.ts';
import { MediaLogger } from '../../../src/instruments/media/media-logger.ts';
import { openRun } from '../../../src/read/run-reader.ts';
import { MetricsLogger } from '../../../src/session/metrics-logger.ts';
import { TrainingSession } from '../../../src/session/training-session.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import {
  exportTensorBoard,
  tensorBoardFileName,
} from '../../../src/exchange/export/tensorboard-export.ts';
import { bytesInput } from '../../../src/codecs/input.ts';
import type { RunReader } from '../../../src/read/run-reader.ts';
import { bytesOf } from '../../support/event-file.ts';
import { imported } from '../../support/import-result.ts';
import { runs } from '../../support/property.ts';

async function fileOf(reader: RunReader, filter = {}): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  for await (const piece of exportTensorBoard(reader, filter)) pieces.push(piece);
  return bytesOf(...pieces);
}

describe('exportTensorBoard', () => {
  test('gives a file that reads back as the run', async () => {
    const store = createMemoryStore();
    const session = await TrainingSession.startRun({
      project: 'p',
      storage: store,
      handleSignals: false,
      config: { lr: 0.1, amp: true, model: { name: 'mlp', sizes: [3, 4] }, nothing: null },
    });
    const logger = new MetricsLogger(session);
    const artifacts = new ArtifactStore(session);
    for (let step = 0; step < 100; step++) logger.log('train/loss', step / 3, { step });
    logger.log('val/acc', Number.NaN, { step: 7 });
    logger.log('val/acc', -Infinity, { epoch: 3 });
    logger.log('bare', -0, { step: 0 });
    logger.log('bare', 2 ** 60, { step: 1 });
    await artifacts.logHistogram('weights', { bins: [-1, 0, 2], counts: [3, 4], step: 5 });
    await artifacts.store('text', 'note', 'größer\nthan', { step: 6 });
    await artifacts.store('checkpoint_metadata', 'other', { x: 1 });
    await session.endRun('failed');
    const reader = await openRun(store, session.runId);
    const back = await imported([
      bytesInput(tensorBoardFileName(reader.run), await fileOf(reader)),
    ]);
    expect(back.report.problems).toEqual([]);
    expect(tensorBoardFileName(reader.run)).toMatch(/^events\.out\.tfevents\.\d{10}\.run_/);
    expect(back.reader?.run).toMatchObject({
      status: 'failed',
      config: { lr: 0.1, amp: true, 'model.name': 'mlp', 'model.sizes': '[3,4]' },
    });
    expect(await back.values('train/loss')).toEqual(
      Array.from({ length: 100 }, (_, step) => [step, Math.fround(step / 3)]),
    );
    expect(await back.values('val/accuracy')).toEqual([
      [7, Number.NaN],
      [3, -Infinity],
    ]);
    expect(await back.values('bare')).toEqual([
      [0, -0],
      [1, 2 ** 60],
    ]);
    expect(await back.artifacts('histogram')).toEqual([
      { key: 'weights', step: 5, payload: { bins: [-1, 0, 2], counts: [3, 4] } },
    ]);
    expect(await back.artifacts('text')).toEqual([
      { key: 'note', step: 6, payload: 'größer\nthan' },
    ]);
    const times = async (run: RunReader | undefined): Promise<number[]> =>
      ((await run?.readMetrics({ metricKey: 'train/loss' })) ?? []).map(({ timestamp }) =>
        Date.parse(timestamp),
      );
    expect(await times(back.reader)).toEqual(await times(reader));

    const some = await imported([
      bytesInput('x.tfevents', await fileOf(reader, { metricKey: 'train/loss', stepMax: 9 })),
    ]);
    expect(some.report.runs[0]?.rowCount).toBe(10);
    await expect(fileOf(reader, { nope: 3 })).rejects.toThrow(/nope/);
  });

  test('keeps every value as float32', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.double(), fc.nat(2 ** 40)), { minLength: 1, maxLength: 50 }),
        async (samples) => {
          const store = createMemoryStore();
          const session = await TrainingSession.startRun({
            project: 'p',
            storage: store,
            handleSignals: false,
          });
          const logger = new MetricsLogger(session);
          for (const [value, step] of samples) logger.log('x', value, { step });
          await session.endRun();
          const reader = await openRun(store, session.runId);
          const { values } = await imported([bytesInput('tfevents', await fileOf(reader))]);
          expect(await values('x')).toEqual(
            samples.map(([value, step]) => [step, Math.fround(value)]),
          );
        },
      ),
      runs(50),
    );
  });

  test('has distributions as histograms, images and audio', async () => {
    const store = createMemoryStore();
    const session = await TrainingSession.startRun({ project: 'p', storage: store });
    const media = new MediaLogger(session);
    await media.logDistribution('weights', [-1, 0.5, 0.5, 3], { step: 2 });
    const image = await media.logImage(
      'sample',
      { data: new Uint8Array(6), width: 3, height: 2 },
      { step: 4 },
    );
    const sound = await media.logAudio('beep', new Float32Array(4), { sampleRate: 8000, epoch: 1 });
    await media.logText('note', 'words');
    const artifacts = new ArtifactStore(session);
    for (const type of ['image', 'audio', 'distribution'])
      await artifacts.store(type, 'own', { what: 'of the program' });
    await session.endRun();
    const reader = await openRun(store, session.runId);
    const file = Buffer.from(await fileOf(reader));
    const records: Buffer[] = [];
    for (let at = 0; at < file.length; at += Number(file.readBigUInt64LE(at)) + 16)
      records.push(file.subarray(at + 12, at + 12 + Number(file.readBigUInt64LE(at))));
    const of = (tag: string): Buffer[] => records.filter((record) => record.includes(tag));
    expect(of('own')).toStrictEqual([]);
    for (const [tag, plugin, record] of [
      ['sample', 'images', image],
      ['beep', 'audio', sound],
    ] as const) {
      const [event, ...others] = of(tag);
      expect(others).toStrictEqual([]);
      const payload = (await loadArtifact(reader, record)) as Uint8Array;
      expect(event?.includes(plugin)).toBe(true);
      expect(event?.includes(Buffer.from(payload))).toBe(true);
    }
    // [width, height, file], each a text: field 8 of the tensor.
    expect(of('sample')[0]?.includes(Buffer.from([0x42, 1, 0x33, 0x42, 1, 0x32, 0x42]))).toBe(true);
    const back = await imported([
      bytesInput(tensorBoardFileName(reader.run), new Uint8Array(file)),
    ]);
    const [weights] = (await back.reader?.readArtifacts({ artifactKey: 'weights' })) ?? [];
    expect(weights?.artifactType).toBe('histogram');
    expect(await loadArtifact(back.reader ?? reader, weights ?? '')).toMatchObject({
      counts: expect.arrayContaining([1, 2]),
    });
  });
});
