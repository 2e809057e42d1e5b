import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import {
  isQuarkError,
  listRuns,
  MetricsLogger,
  openRun,
  openStorage,
  TrainingSession,
} from 'quark-sdk';
import { DataDiagnostics } from 'quark-sdk/probes';
import { CompareFeed } from '../../../dashboard/compare/compare-feed.ts';
import { RunFeed } from '../../../dashboard/series/run-feed.ts';
import { importOf, runNames } from '../../../dashboard/parts/run-name.ts';
import { pickedFiles, takeDrop, walkEntries } from '../../../dashboard/dropped/entries.ts';
import { ImportClient } from '../../../dashboard/worker/import-client.ts';
import { hostImports } from '../../../dashboard/worker/import-host.ts';
import type { Line } from '../../../dashboard/parts/line.ts';
import { summaryOf } from './run-summaries.ts';

const inWorker = (runId: string) => ({ uri: undefined, access: {}, runId });

const soon = async (): Promise<void> => undefined;

const file = (name: string, text: string): File => new File([text], name, { lastModified: 1000 });

/** What a browser gives for a folder, a hundred entries at a time. */
function folder(name: string, below: readonly FileSystemEntry[]): FileSystemDirectoryEntry {
  return {
    isFile: false,
    isDirectory: true,
    name,
    createReader: () => {
      let at = 0;
      return {
        readEntries: (resolve: (entries: FileSystemEntry[]) => void) => {
          const some = below.slice(at, at + 100);
          at += some.length;
          queueMicrotask(() => resolve(some));
        },
      };
    },
  } as unknown as FileSystemDirectoryEntry;
}

function entryOf(one: File): FileSystemFileEntry {
  return {
    isFile: true,
    isDirectory: false,
    name: one.name,
    file: (resolve: (file: File) => void) => queueMicrotask(() => resolve(one)),
  } as unknown as FileSystemFileEntry;
}

const unreadable = {
  isFile: true,
  isDirectory: false,
  name: 'locked.csv',
  file: (_: unknown, reject: (error: Error) => void) => reject(new Error('Not allowed.')),
} as unknown as FileSystemFileEntry;

describe('what is dropped', () => {
  it('is walked through, folder by folder, in the order of names', async () => {
    const many = Array.from({ length: 230 }, (_, at) =>
      entryOf(file(`f${String(at).padStart(3, '0')}.csv`, '')),
    );
    const tree = folder('runs', [
      folder('b', many.toReversed()),
      entryOf(file('a.csv', '')),
      folder('node_modules', [entryOf(file('x.json', ''))]),
      unreadable,
    ]);
    const { files, problems } = await walkEntries([tree, entryOf(file('z.csv', ''))], soon);
    expect(files).toHaveLength(232);
    expect(files.slice(0, 2).map(({ path }) => path)).toEqual(['runs/a.csv', 'runs/b/f000.csv']);
    expect(files.at(-1)?.path).toBe('z.csv');
    expect(problems).toEqual([{ file: 'runs/locked.csv', place: null, reason: 'Not allowed.' }]);
  });

  it('ends at a limit of files and of depth, and says so', async () => {
    const { files, problems } = await walkEntries(
      [
        folder(
          'many',
          ['a', 'b', 'c', 'd'].map((name) => entryOf(file(name, ''))),
        ),
      ],
      soon,
      2,
    );
    expect(files.map(({ path }) => path)).toEqual(['many/a', 'many/b']);
    expect(problems).toMatchObject([
      { file: 'many/c', reason: 'Only the first 2 files were taken.' },
    ]);
    let deep: FileSystemEntry = entryOf(file('bottom.csv', ''));
    for (let at = 0; at < 70; at += 1) deep = folder('d', [deep]);
    const found = await walkEntries([deep], soon);
    expect(found.files).toEqual([]);
    expect(found.problems[0]?.reason).toMatch(/deeper than 64/);
  });

  it('is taken as files where a browser knows no entries', () => {
    const one = file('a.csv', '');
    const items = [
      { kind: 'string', getAsFile: () => null, webkitGetAsEntry: () => null },
      { kind: 'file', getAsFile: () => one, webkitGetAsEntry: () => null },
      { kind: 'file', getAsFile: () => null, webkitGetAsEntry: () => entryOf(one) },
    ];
    const taken = takeDrop({ items, files: [] } as unknown as DataTransfer);
    expect(taken.files).toEqual([one]);
    expect(taken.entries).toHaveLength(1);
  });

  it('keeps the paths of a picked folder, in order', () => {
    const inFolder = (path: string): File =>
      Object.defineProperty(file(path.slice(path.lastIndexOf('/') + 1), ''), 'webkitRelativePath', {
        value: path,
      });
    const plain = Object.defineProperty(file('a.csv', ''), 'webkitRelativePath', { value: '' });
    const { files } = pickedFiles([
      inFolder('runs/b/metrics.csv'),
      inFolder('runs/.git/config'),
      inFolder('runs/a.csv'),
      plain,
    ]);
    expect(files.map(({ path }) => path)).toEqual(['a.csv', 'runs/a.csv', 'runs/b/metrics.csv']);
  });
});

const CSV = (count: number, slope: number): string =>
  ['step,loss,acc', ...Array.from({ length: count }, (_, at) => `${at},${at * slope},0.5`)].join(
    '\n',
  );

describe('the worker that imports', () => {
  const ports: MessagePort[] = [];
  const started = (): ImportClient => {
    const { port1, port2 } = new MessageChannel();
    ports.push(port1, port2);
    hostImports(port1 as unknown as Line);
    return new ImportClient(port2 as unknown as Line, 'files:test');
  };
  afterEach(() => {
    for (const port of ports.splice(0)) port.close();
  });

  it('tells of runs and progress, and is a store of what it read', async () => {
    const client = started();
    const seen: string[] = [];
    let progressed = 0;
    const report = await client.import(
      [
        { file: file('metrics.csv', CSV(1000, 2)), path: 'one/metrics.csv' },
        { file: file('metrics.csv', CSV(500, 3)), path: 'two/metrics.csv' },
        { file: file('noise.bin', '\u0000\u0001'), path: 'noise.bin' },
        {
          file: file('trainer_state.json', '{"log_history": [{"step": 1,'),
          path: 'trainer_state.json',
        },
      ],
      {
        onRun: (runId) => seen.push(runId),
        onProgress: () => {
          progressed += 1;
        },
      },
      soon,
    );
    expect(report.runs.map(({ rowCount }) => rowCount)).toEqual([2000, 1000]);
    expect(seen.toSorted()).toEqual(report.runs.map(({ runId }) => runId).toSorted());
    expect(progressed).toBeGreaterThan(0);
    expect(report.unknownFiles).toContain('noise.bin');
    expect(report.problems.map((problem) => problem.file)).toContain('trainer_state.json');

    const runId = report.runs[0]?.runId ?? '';
    const names = (await listRuns(client.store)).map(({ run }) => importOf(run)?.name);
    expect(new Set(names)).toEqual(new Set(['one', 'two']));
    const feed = await RunFeed.open(client.store, runId);
    expect(feed.series.get('train/loss')?.values).toEqual(
      Float64Array.from({ length: 1000 }, (_, at) => at * 2),
    );
    // Readers of the SDK see the same through the store.
    const { rowCount } = await (await openRun(client.store, runId)).readMetricColumns();
    expect(rowCount).toBe(2000);
    await expect(client.store.reclaimSpace()).rejects.toMatchObject({ code: 'store_failed' });
    await expect(openRun(client.store, 'run_none')).rejects.toMatchObject({
      code: 'run_not_found',
    });
  });

  it('shows rows while it reads on, and keeps them when it is cancelled', async () => {
    const client = started();
    const text = CSV(200_000, 1);
    const importing = client.import(
      [{ file: file('long.csv', text.repeat(6)), path: 'long.csv' }],
      {},
      soon,
    );
    let rows = 0;
    while (rows === 0) {
      const [first] = await listRuns(client.store);
      if (first !== undefined) {
        const { rowCount } = await (await openRun(client.store, first.run.id)).readMetricColumns();
        rows = rowCount;
        expect(importOf(first.run)?.isComplete).toBe(false);
      }
    }
    await client.cancel();
    const error: unknown = await importing.then(
      () => undefined,
      (failure: unknown) => failure,
    );
    expect(isQuarkError(error, 'aborted')).toBe(true);
    expect(await listRuns(client.store)).not.toHaveLength(0);
    // The next import is not cancelled by what ended the one before.
    const next = await client.import(
      [{ file: file('b.csv', CSV(10, 1)), path: 'b.csv' }],
      {},
      soon,
    );
    expect(next.runs).toHaveLength(1);
  });

  it('puts what was dropped into another store, the same runs', async () => {
    const client = started();
    const dropped = await client.import(
      [{ file: file('metrics.csv', CSV(100, 2)), path: 'one/metrics.csv' }],
      {},
      soon,
    );
    const kept = await client.keep('memory:kept', {});
    expect(kept.runs.map(({ runId }) => runId)).toEqual(dropped.runs.map(({ runId }) => runId));
    const store = await openStorage('memory:kept');
    const reader = await openRun(store, kept.runs[0]?.runId ?? '');
    expect((await reader.readMetricColumns()).rowCount).toBe(200);
  });

  it('fails what waits when it is gone', async () => {
    const { port1 } = new MessageChannel();
    ports.push(port1);
    const client = new ImportClient(port1 as unknown as Line, 'files:gone');
    const asking = client.store.listRuns();
    client.fail(new Error('gone'));
    await expect(asking).rejects.toThrow('gone');
  });

  it('analyses a run where it is, and one of another store', async () => {
    const client = started();
    const lines = ['step,loss'];
    for (let step = 0; step < 500; step += 1)
      lines.push(
        `${step},${step < 300 ? 2 * Math.exp(-step / 60) + 0.3 : 0.3 * 1.06 ** (step - 300)}`,
      );
    const text = lines.join('\n');
    const { runs } = await client.import([{ file: file('a.csv', text), path: 'a.csv' }], {}, soon);
    const runId = runs[0]?.runId ?? '';
    const found = await client.analyze(inWorker(runId));
    expect(found.phases.map(({ phaseName }) => phaseName)).toContain('divergence');
    expect(found.phaseAxis).toBe('step');
    expect(found.groups.map(({ cause }) => cause.ruleId)).toContain('loss_divergence');
    expect(found.verdict[0]).toMatch(/^Health is \d+ of 100/u);
    expect(found.healthScores.map(({ scoreKey }) => scoreKey)).toContain('overall');
    await client.keep('memory:analysed', {});
    const other = await client.analyze({ ...inWorker(runId), uri: 'memory:analysed' });
    expect(other.groups.map(({ cause }) => cause.ruleId)).toEqual(
      found.groups.map(({ cause }) => cause.ruleId),
    );
    await expect(client.analyze(inWorker('run_none'))).rejects.toMatchObject({
      code: 'run_not_found',
    });
    // Logs of other tools have no batches.
    expect(await client.findBatches(inWorker(runId))).toMatchObject({ batchCount: 0, spikes: [] });
    const report = await client.report(inWorker(runId));
    expect(report.markdown).toMatch(/^# /);
    expect(report.html).toContain('<!doctype html>');
    const { columns, ...console } = await client.readConsole(inWorker(runId), 10, -Infinity);
    expect(console).toMatchObject({ droppedLines: 0, storedLines: 0, problems: [] });
    expect(columns.text).toBe('');
  });

  it('looks through the batches of a run of another store', async () => {
    const store = await openStorage('memory:batches');
    const session = await TrainingSession.startRun({
      project: 'batches',
      config: {},
      storage: store,
      handleSignals: false,
    });
    const metrics = new MetricsLogger(session);
    const diagnostics = new DataDiagnostics(session);
    for (let step = 0; step < 600; step += 1) {
      const loss = step === 400 ? 6 : 0.3 + 2 * Math.exp(-step / 80) + 0.01 * Math.sin(step * step);
      metrics.log('train/loss', loss, { step });
      diagnostics.logBatch(loss, { step, sampleIds: [`s${step}`], labels: [step % 2] });
    }
    await diagnostics.close();
    await session.endRun();
    const found = await started().findBatches({
      ...inWorker(session.runId),
      uri: 'memory:batches',
    });
    expect(found).toMatchObject({ batchCount: 600, testedSampleCount: 0, classes: [] });
    expect(found.batches[0]).toMatchObject({ step: 400, loss: 6, sampleIds: ['s400'] });
    expect(found.spikes).toMatchObject([
      { metricKey: 'train/loss', step: 400, peak: 6, batch: { sampleIds: ['s400'] } },
    ]);
  });

  it('gives runs to compare, by the loss that most of them have', async () => {
    const client = started();
    const { runs } = await client.import(
      [
        { file: file('metrics.csv', CSV(100, 2)), path: 'a/metrics.csv' },
        { file: file('metrics.csv', CSV(50, 3)), path: 'b/metrics.csv' },
        { file: file('metrics.csv', 'step,speed\n1,2\n2,3'), path: 'c/metrics.csv' },
      ],
      {},
      soon,
    );
    const ids = runs.map(({ runId }) => runId);
    const feed = new CompareFeed(client.store);
    feed.show([...ids, 'run_none']);
    expect(await feed.poll()).toBe(true);
    expect(feed.metric).toBe('train/loss');
    expect(feed.runIds).toEqual(ids);
    expect(feed.failures.has('run_none')).toBe(true);
    expect(ids.map((runId) => feed.get(runId)?.length)).toEqual([100, 50, undefined]);
    expect(ids.map((runId) => feed.nameOf(runId))).toEqual(['a', 'b', 'c']);
    expect(feed.extent('step')).toEqual({ min: 0, max: 99 });
    expect(feed.separates('epoch')).toBe(false);
    expect(await feed.poll()).toBe(false);
    feed.choose('speed');
    await feed.poll();
    expect(ids.map((runId) => feed.get(runId)?.length)).toEqual([undefined, undefined, 2]);
    feed.show(ids.slice(0, 1));
    await feed.poll();
    expect(feed.runIds).toEqual(ids.slice(0, 1));
  });
});

describe('names of runs', () => {
  const imported = (id: string, name: string, path: string) => ({
    ...summaryOf(id).run,
    environment: { import: { name, format: 'csv', is_complete: true, files: [path] } },
  });

  it('are told apart by where their files lie, else by their ids', () => {
    const names = runNames([
      imported('run_a00000001', 'version_0', 'sweep/adam/version_0/metrics.csv'),
      imported('run_b00000002', 'version_0', 'sweep/sgd/version_0/metrics.csv'),
      imported('run_c00000003', 'loss', 'sweep/loss.csv'),
      imported('run_e00000005', 'twice', 'sweep/all.csv'),
      imported('run_f00000006', 'twice', 'sweep/all.csv'),
      summaryOf('run_d00000004', { projectName: 'digits' }).run,
    ]);
    expect([...names.values()]).toEqual([
      'adam/version_0',
      'sgd/version_0',
      'loss',
      'twice 00000005',
      'twice 00000006',
      'digits',
    ]);
  });

  it('are those of the project where a run was recorded', () => {
    expect(importOf(summaryOf('run_x').run)).toBeUndefined();
    expect(runNames([summaryOf('run_x', { projectName: 'digits' }).run]).get('run_x')).toBe(
      'digits',
    );
  });
});
