import { afterEach, describe, expect, test } from 'vitest';
import { createMemoryStore, openRun, type Store } from 'quark-sdk';
import { importRuns } from '../../../src/exchange/import/import-runs.ts';
import type { Importer } from '../../../src/exchange/import/sink/importer.ts';
import { blobInput, bytesInput, type InputFile } from '../../../src/codecs/input.ts';
import { readLines } from '../../../src/codecs/lines.ts';

const open: Store[] = [];

afterEach(async () => {
  for (const store of open.splice(0)) await store.close();
});

function memory(): Store {
  const store = createMemoryStore();
  open.push(store);
  return store;
}

/** A format of a test: each line is a metric name, a step and a value. */
const triples: Importer = {
  format: 'triples',
  title: 'Test',
  detect: ({ text }) => (text.startsWith('triples\n') ? 1 : 0),
  async read(files, context) {
    for (const file of files) {
      const text = new TextDecoder().decode(await file.slice(0, file.sizeBytes));
      const sink = await context.run({ identity: file.path, name: file.path, startedAtMs: 1000 });
      for (const [i, line] of text.split('\n').slice(1).entries()) {
        if (line === '!') throw new Error('the file ends here');
        const [name = '', step, value] = line.split('|');
        if (value === undefined)
          context.problem({ file: file.path, place: `line ${i + 2}`, reason: 'no triple' });
        else if (sink.pendingRows > 65_536) await sink.flush();
        if (value !== undefined)
          sink.push(sink.metric(name), Number(value), Number(step), Number.NaN, Number.NaN);
      }
    }
  },
};
const options = { importers: [triples] };

/** The same, read as a stream, with the time of the file. */
const lines: Importer = {
  format: 'lines',
  title: 'Test',
  detect: ({ text }) => (text.startsWith('lines\n') ? 1 : 0),
  async read(files, context) {
    for (const file of files) {
      const sink = await context.run({ identity: file.path, name: file.path });
      for await (const { text, number } of readLines(file.stream(), context.limits)) {
        const [name = '', step, value] = text.split('|');
        if (number > 1 && value !== undefined)
          sink.push(sink.metric(name), Number(value), Number(step), Number.NaN, Number.NaN);
        if (sink.pendingRows > 65_536) await sink.flush();
      }
    }
  },
};

describe('an import', () => {
  test('makes a run of a file, with the names of metrics mapped and kept', async () => {
    const store = memory();
    const file = bytesInput(
      'a/log',
      'triples\nloss|0|2\nloss|1|1.5\nLearning Rate|0|0.1\nva l?/ü|x|3\nnothing',
    );
    const report = await importRuns([file], store, { ...options, project: 'p', tags: ['t'] });
    expect(report.problems).toEqual([{ file: 'a/log', place: 'line 6', reason: 'no triple' }]);
    const [run] = report.runs;
    expect(run).toMatchObject({
      format: 'triples',
      project: 'p',
      isNew: true,
      rowCount: 4,
      metrics: { 'train/loss': 'loss', 'optimizer/lr': 'Learning Rate', va_l: 'va l?/ü' },
    });
    const reader = await openRun(store, run?.runId ?? '');
    expect(reader.run.name).toBe(run?.name);
    expect(reader.run).toMatchObject({
      status: 'completed',
      projectName: 'p',
      tags: ['t'],
      startedAt: new Date(1000).toISOString(),
    });
    expect(reader.run.environment).toMatchObject({
      import: { format: 'triples', is_complete: true, files: ['a/log'] },
    });
    const records = await reader.readMetrics({ metricKey: 'train/loss' });
    expect(records.map(({ step, value, metadata }) => [step, value, metadata])).toEqual([
      [0, 2, { original_name: 'loss' }],
      [1, 1.5, null],
    ]);
    // A row without a place gets the next step of its metric.
    expect((await reader.readMetrics({ metricKey: 'va_l' })).map(({ step }) => step)).toEqual([0]);
  });

  test('two names never become one metric', async () => {
    const store = memory();
    const report = await importRuns(
      [bytesInput('log', 'triples\nloss|0|1\ntrain_loss|0|2\ntrain/loss|0|3\nTRAIN/LOSS|0|4')],
      store,
      options,
    );
    const reader = await openRun(store, report.runs[0]?.runId ?? '');
    const records = await reader.readMetrics();
    expect(new Set(records.map(({ metricKey }) => metricKey)).size).toBe(4);
    expect(records.map(({ value }) => value)).toEqual([1, 2, 3, 4]);
  });

  test('of the same files again writes nothing, of other files another run', async () => {
    const store = memory();
    const file = bytesInput('log', 'triples\nloss|0|1');
    const first = await importRuns([file], store, options);
    const second = await importRuns(
      [blobInput(new Blob(['triples\nloss|0|1']), 'log')],
      store,
      options,
    );
    expect(second.runs[0]).toMatchObject({ runId: first.runs[0]?.runId, isNew: false });
    const third = await importRuns([bytesInput('log', 'triples\nloss|0|2')], store, options);
    expect(third.runs[0]?.runId).not.toBe(first.runs[0]?.runId);
    const reader = await openRun(store, first.runs[0]?.runId ?? '');
    expect(await reader.readMetrics()).toHaveLength(1);
  });

  test('tells files apart that differ in their middle', async () => {
    for (const rowCount of [10_000, 400_000]) {
      const text = (middle: string): string => {
        const half = 'loss|0|1\n'.repeat(rowCount / 2);
        return `triples\n${half}${middle}${half}`;
      };
      const store = memory();
      const size = rowCount < 100_000 ? 1 : 8000; // in large files what is a few pages long may be missed
      for (const value of [1, 2, 1]) {
        const file = bytesInput('log', text(`loss|0|${value}\n`.repeat(size)));
        await importRuns([file], store, options);
      }
      expect(await store.listRuns()).toHaveLength(2);
    }
  });

  test('that was cut off goes on, with nothing lost and nothing twice', async () => {
    const rows = Array.from({ length: 150_000 }, (_, i) => `loss|${i}|${i / 2}`);
    const file = bytesInput('log', `triples\n${rows.join('\n')}`);
    const inner = memory();
    let appends = 0;
    const failing = new Proxy(inner, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (name !== 'appendSegments')
          return typeof value === 'function' ? value.bind(target) : value;
        return async (segments: Parameters<Store['appendSegments']>[0]) => {
          if (appends++ > 0) throw new Error('the disk is full');
          return target.appendSegments(segments.slice(0, 1));
        };
      },
    });
    await expect(importRuns([file], failing, options)).rejects.toThrow('the disk is full');
    const [run] = await inner.listRuns();
    expect(run?.status).toBe('interrupted');
    const report = await importRuns([file], inner, options);
    expect(report.runs[0]?.runId).toBe(run?.id);
    const columns = await (await openRun(inner, run?.id ?? '')).readMetricColumns();
    expect(columns.rowCount).toBe(rows.length);
    expect(columns.steps).toEqual(Float64Array.from(rows, (_, i) => i));
  });

  test('of a file that breaks in the middle keeps what came before and says so', async () => {
    const store = memory();
    const report = await importRuns(
      [bytesInput('log', 'triples\nloss|0|1\n!\nloss|1|1'), bytesInput('b', 'triples\nloss|0|1')],
      store,
      options,
    );
    expect(report.problems).toEqual([{ file: 'log', place: null, reason: 'the file ends here' }]);
    expect(report.runs.map(({ rowCount }) => rowCount)).toEqual([1, 1]);
  });

  test('of a file that cannot be read to its end can be gone on with when it can', async () => {
    const store = memory();
    const rows = Array.from({ length: 100_000 }, (_, i) => `loss|${i}|${i / 2}`);
    const file = bytesInput('log', `lines\n${rows.join('\n')}`);
    const broken: InputFile = {
      ...file,
      async *stream() {
        yield await file.slice(0, file.sizeBytes - 1000);
        throw new Error('the disk has a hole');
      },
    };
    const first = await importRuns([broken], store, { importers: [lines] });
    expect(first.problems).toEqual([{ file: 'log', place: null, reason: 'the disk has a hole' }]);
    expect(first.runs[0]).toMatchObject({ rowCount: 65_536, isNew: true, isComplete: false });
    const [run] = await store.listRuns();
    expect(run?.status).toBe('interrupted');
    const second = await importRuns([file], store, { importers: [lines] });
    expect(second.runs[0]).toMatchObject({ runId: run?.id, rowCount: 100_000, isComplete: true });
    const columns = await (await openRun(store, run?.id ?? '')).readMetricColumns();
    expect(columns.steps).toEqual(Float64Array.from(rows, (_, i) => i));
  });

  test('and another one of the same files at once make one run', async () => {
    const store = memory();
    const rows = Array.from({ length: 1000 }, (_, i) => `loss|${i}|${i / 2}`);
    const read = (): ReturnType<typeof importRuns> =>
      importRuns([bytesInput('log', `triples\n${rows.join('\n')}`)], store, options);
    const [first, second] = await Promise.all([read(), read()]);
    expect(second.runs[0]?.runId).toBe(first.runs[0]?.runId);
    expect(second.problems).toEqual([]);
    const reader = await openRun(store, first.runs[0]?.runId ?? '');
    expect(reader.run.status).toBe('completed');
    expect(await reader.readMetrics()).toHaveLength(1000);
  });

  test('keeps the time that rows without one were given first', async () => {
    const store = memory();
    const text = `lines\n${Array.from({ length: 70_000 }, (_, i) => `loss|${i}|1`).join('\n')}`;
    const at = (modifiedAtMs: number, isBroken: boolean): InputFile => {
      const file = bytesInput('log', text);
      if (!isBroken) return { ...file, modifiedAtMs };
      return {
        ...file,
        modifiedAtMs,
        async *stream() {
          yield await file.slice(0, file.sizeBytes - 10);
          throw new Error('gone');
        },
      };
    };
    await importRuns([at(1000, true)], store, { importers: [lines] });
    const report = await importRuns([at(5000, false)], store, { importers: [lines] });
    const reader = await openRun(store, report.runs[0]?.runId ?? '');
    const { timesMs } = await reader.readMetricColumns();
    expect(new Set(timesMs)).toEqual(new Set([1000]));
  });

  test('can be aborted, and tells how far it is', async () => {
    const controller = new AbortController();
    const seen: number[] = [];
    const files = [bytesInput('a', 'triples\nloss|0|1'), bytesInput('b', 'triples\nloss|0|1')];
    const onProgress = ({
      bytesRead,
      bytesTotal,
    }: {
      bytesRead: number;
      bytesTotal: number;
    }): void => {
      seen.push(bytesRead / bytesTotal);
    };
    await importRuns(files, memory(), { ...options, onProgress });
    expect(seen.at(-1)).toBe(1);
    expect(seen).toEqual(seen.toSorted((x, y) => x - y));
    const aborting = importRuns(files, memory(), {
      ...options,
      signal: controller.signal,
      onProgress: () => controller.abort(),
    });
    await expect(aborting).rejects.toMatchObject({ code: 'aborted' });
  });

  test('names the files it does not know, and refuses bad options', async () => {
    const store = memory();
    expect(await importRuns([bytesInput('x.bin', Uint8Array.of(1, 2))], store)).toMatchObject({
      runs: [],
      unknownFiles: ['x.bin'],
    });
    await expect(importRuns([], store, { format: 'docx' })).rejects.toThrow(/format.*one of/);
    await expect(importRuns([], store, { limits: { maxRuns: 0 } })).rejects.toThrow(
      /limits\.maxRuns/,
    );
    await expect(importRuns([], store, { limit: 3 } as object)).rejects.toThrow(/limit/);
    const many = [bytesInput('a', 'triples\nloss|0|1'), bytesInput('b', 'triples\nloss|0|1')];
    await expect(importRuns(many, store, { ...options, limits: { maxFiles: 1 } })).rejects.toThrow(
      /maxFiles/,
    );
    const limited = await importRuns(many, store, { ...options, limits: { maxRuns: 1 } });
    expect(limited.runs).toHaveLength(1);
    expect(limited.problems[0]?.reason).toMatch(/1 runs/);
  });
});

describe("Hugging Face's trainer_state.json", () => {
  test('is read with bare NaN, several evaluation sets and the summary row at the end', async () => {
    const store = memory();
    const state = `{
      "best_metric": NaN, "global_step": 3, "log_history": [
        {"epoch": 0.5, "step": 1, "loss": 2.5, "learning_rate": 0.01, "grad_norm": "NaN"},
        {"epoch": 1.0, "step": 2, "loss": NaN, "learning_rate": 0.005},
        {"epoch": 1.0, "step": 2, "eval_loss": 2.0, "eval_math_loss": 3.0, "eval_runtime": 1.5},
        "no row",
        {"epoch": 1.0, "step": 2, "train_runtime": 12.5, "train_loss": 2.4, "total_flos": 1e15}
      ]}`;
    const report = await importRuns(
      [bytesInput('out/checkpoint-2/trainer_state.json', state)],
      store,
    );
    expect(report.problems).toEqual([
      {
        file: 'out/checkpoint-2/trainer_state.json',
        place: 'log_history[3]',
        reason: 'It is no object.',
      },
    ]);
    const [run] = report.runs;
    expect(run).toMatchObject({ name: 'checkpoint-2', format: 'hugging_face_trainer' });
    const reader = await openRun(store, run?.runId ?? '');
    const values = async (metricKey: string) =>
      (await reader.readMetrics({ metricKey })).map(({ step, epoch, value }) => [
        step,
        epoch,
        value,
      ]);
    expect(await values('train/loss')).toEqual([
      [1, 0, 2.5],
      [2, 1, Number.NaN],
    ]);
    expect(await values('optimizer/lr')).toEqual([
      [1, 0, 0.01],
      [2, 1, 0.005],
    ]);
    expect(await values('train/grad_norm')).toEqual([[1, 0, Number.NaN]]);
    expect(await values('val/loss')).toEqual([[2, 1, 2]]);
    expect(await values('val/math_loss')).toEqual([[2, 1, 3]]);
    expect(await values('summary/train_loss')).toEqual([[2, 1, 2.4]]);
    expect(await values('train/epoch')).toEqual([
      [1, 0, 0.5],
      [2, 1, 1],
      [2, 1, 1],
    ]);
    expect(reader.run.config).toMatchObject({ best_metric: 'NaN', global_step: 3 });
  });
});
