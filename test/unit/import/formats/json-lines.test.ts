import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { importText } from '../../../support/imported.ts';
import { damaged } from '../../../support/mutations.ts';
import { runs as settings } from '../../../support/property.ts';

describe('JSON lines', () => {
  test('of detectron2: iterations, seconds that are no instants, evaluations in the same rows', async () => {
    const { runs, report } = await importText({
      'output/metrics.json':
        '{"data_time": 0.5, "eta_seconds": 10.0, "iteration": 19, "lr": 0.001, "time": 0.25, "total_loss": 2.5}\n' +
        '{"bbox/AP": NaN, "iteration": 39, "time": 0.25, "total_loss": Infinity}\n',
    });
    expect(report.runs[0]).toMatchObject({ format: 'json_lines', name: 'output' });
    expect(report.problems).toEqual([]);
    expect(runs[0]?.metrics).toEqual({
      data_time: [[19, null, 0.5]],
      eta_seconds: [[19, null, 10]],
      'optimizer/lr': [[19, null, 0.001]],
      time: [
        [19, null, 0.25],
        [39, null, 0.25],
      ],
      'train/loss': [
        [19, null, 2.5],
        [39, null, Infinity],
      ],
      'bbox/AP': [[39, null, Number.NaN]],
    });
  });

  test('with settings first, phases, nested values, lists of groups, texts that are numbers', async () => {
    const { runs } = await importText({
      'a.log.json':
        '{"env_info": "python 3", "seed": null}\n' +
        '{"mode": "train", "epoch": 1, "iter": 50, "lr": [0.1, 0.2], "loss": {"cls": "0.5", "box": 1}, "note": "x", "ok": true}\n' +
        '{"mode": "train", "epoch": 2, "iter": 40, "loss": {"cls": 0.25}, "timestamp": 1700000000.5}\n' +
        '{"mode": "val", "epoch": 2, "loss": {"cls": "nan"}, "img": {"_type": "image-file", "size": 3}}\n',
    });
    expect(runs[0]?.reader.run.config).toEqual({ env_info: 'python 3', seed: null });
    expect(runs[0]?.metrics).toEqual({
      'train/lr/0': [[50, 1, 0.1]],
      'train/lr/1': [[50, 1, 0.2]],
      'train/loss/cls': [
        [50, 1, 0.5],
        [90, 2, 0.25],
      ],
      'train/loss/box': [[50, 1, 1]],
      'val/loss/cls': [[null, 2, Number.NaN]],
    });
    expect(runs[0]?.times['train/loss/cls']?.[1]).toBe(1_700_000_000_500);
  });

  test('of OpenMMLab: validation stands where training was, whatever its own iterations are', async () => {
    const { runs } = await importText({
      'log.json':
        '{"mode": "train", "epoch": 1, "iter": 1, "loss": 4}\n' +
        '{"mode": "train", "epoch": 1, "iter": 2, "loss": 3}\n' +
        '{"mode": "val", "epoch": 1, "iter": 1601, "mAP": 0.5}\n' +
        '{"mode": "train", "epoch": 2, "iter": 1, "loss": 2}\n' +
        '{"mode": "train", "epoch": 2, "iter": 2, "loss": 1}\n' +
        '{"mode": "val", "epoch": 2, "iter": 1601, "mAP": 0.6}\n',
    });
    expect(runs).toHaveLength(1);
    expect(runs[0]?.metrics['train/loss']?.map(([step]) => step)).toEqual([1, 2, 3, 4]);
    expect(runs[0]?.metrics['val/mAP']?.map(([step]) => step)).toEqual([2, 4]);
  });

  test('with fractions of epochs and no steps: each row has a place of its own', async () => {
    const { runs } = await importText({
      'log.jsonl':
        '{"epoch": 0.25, "loss": 4}\n{"epoch": 0.5, "loss": 3}\n' +
        '{"epoch": 1, "loss": 2}\n{"epoch": 1, "eval_loss": 2.5}\n{"epoch": 1.5, "loss": 1}\n',
    });
    expect(runs[0]?.metrics).toMatchObject({
      'train/loss': [
        [1, 0, 4],
        [2, 0, 3],
        [3, 1, 2],
        [4, 1, 1],
      ],
      'val/loss': [[3, 1, 2.5]],
    });
  });

  test('that are our own export: a sample a line', async () => {
    const { runs } = await importText({
      'x.jsonl':
        '{"timestamp":"2024-01-02T03:04:05.000Z","metric_key":"train/loss","namespace":"train","value":"NaN","step":1,"epoch":null}\n' +
        '{"timestamp":"2024-01-02T03:04:05.000Z","metric_key":"val/loss","namespace":"val","value":0.5,"step":1,"epoch":0}\n',
    });
    expect(runs[0]?.metrics).toEqual({
      'train/loss': [[1, null, Number.NaN]],
      'val/loss': [[1, 0, 0.5]],
    });
    expect(runs[0]?.times['val/loss']).toEqual([Date.UTC(2024, 0, 2, 3, 4, 5)]);
  });

  test('appended to: steps that begin again are another run; what is no row is reported', async () => {
    const { runs, report } = await importText({
      'x.jsonl':
        '{"step": 0, "loss": 1}\n{"step": 1, "loss": 2}\n[1]\n{"step": 0, "test_acc": 0.5}\n{"step": 0, "loss": 3}\n{"step": 9223372036854775807, "loss": 4}\n{"step": 3, "lo',
    });
    expect(runs.map(({ metrics }) => metrics['train/loss'])).toEqual([
      [
        [0, null, 1],
        [1, null, 2],
      ],
      [
        [0, null, 3],
        [1, null, 4],
      ],
    ]);
    expect(runs[0]?.metrics['test/accuracy']).toEqual([[0, null, 0.5]]);
    expect(report.problems.map(({ place }) => place)).toEqual(['line 3', 'line 7', null]);
  });

  test('are told from other JSON', async () => {
    for (const text of ['{"a": 1}', '{\n"step": 1\n}', '{"name": "x", "version": "1"}']) {
      const { report } = await importText({ 'config.json': text });
      expect(report.unknownFiles).toEqual(['config.json']);
    }
  });

  test('whatever is damaged in them, an import ends', async () => {
    const valid =
      '{"env": {"a": [1, {"b": 2}]}}\n{"mode": "train", "epoch": 0.5, "iter": 50, "lr": [0.1], "loss": {"cls": NaN}}\n{"iteration": 60, "x": -Infinity, "time": "2024-01-02 03:04:05"}\n{"iteration": 50, "loss": 1e400}\n';
    await fc.assert(
      fc.asyncProperty(
        damaged([{ 'metrics.json': valid }, { 'x.jsonl': valid }]),
        async (files) => {
          expect(await importText(files)).toHaveProperty('report');
        },
      ),
      settings(2000),
    );
  }, 120_000);
});
