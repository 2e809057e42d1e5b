/** Mirrors: a run is sent to other programs while it goes on, each record once, whatever fails. */
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock, type Clock } from '../../../src/base/clock.ts';
import { ArtifactStore } from '../../../src/instruments/artifacts/artifact-store.ts';
import { loadArtifact } from '../../../src/instruments/artifacts/load-artifact.ts';
import { MediaLogger } from '../../../src/instruments/media/media-logger.ts';
import { readArtifacts } from '../../../src/read/artifacts.ts';
import { openRun } from '../../../src/read/run-reader.ts';
import { exportTensorBoard } from '../../../src/exchange/export/tensorboard-export.ts';
import { MetricsLogger } from '../../../src/session/metrics-logger.ts';
import type { RecordingProblem } from '../../../src/session/storing/recording-health.ts';
import { TrainingSession } from '../../../src/session/training-session.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import type { Store } from '../../../src/store/store.ts';
import {
  finishMirror,
  functionSink,
  lineSink,
  mirrorRun,
  mlflowSink,
  tensorBoardSink,
  type SinkBatch,
} from '../../../src/tracker.ts';
import { FastClock } from '../../support/fast-clock.ts';
import { importText } from '../../support/imported.ts';
import { MlflowServer } from '../../support/mlflow-server.ts';
import { runs } from '../../support/property.ts';

let folder = '';
let server: MlflowServer;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quark-mirrors-'));
  server = await MlflowServer.start();
  vi.spyOn(console, 'warn').mockReturnValue();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const start = (
  store: Store,
  problems: RecordingProblem[] = [],
  clock: Clock = systemClock,
): Promise<TrainingSession> =>
  TrainingSession.startRun({
    project: 'digits',
    storage: store,
    handleSignals: false,
    config: { lr: 0.1, optimizer: { name: 'sgd' } },
    clock,
    onRecordingProblem: (problem) => problems.push(problem),
  });

/** The event file of a run, through our own importer. */
async function eventsOf(runId: string): Promise<Awaited<ReturnType<typeof importText>>['runs'][0]> {
  const [name = ''] = readdirSync(join(folder, runId));
  const content = new Uint8Array(readFileSync(join(folder, runId, name)));
  const { runs: found } = await importText({ [name]: content });
  const [run] = found;
  if (run === undefined) throw new Error('The event file has no run.');
  return run;
}

/** The events of a file of TensorBoard, undecoded. */
function recordsOf(file: Buffer): Buffer[] {
  const records: Buffer[] = [];
  for (let at = 0; at < file.length; at += Number(file.readBigUInt64LE(at)) + 16)
    records.push(file.subarray(at + 12, at + 12 + Number(file.readBigUInt64LE(at))));
  return records;
}

/** Two images, a sound, a distribution, and a sample. */
async function logMedia(session: TrainingSession): Promise<void> {
  const media = new MediaLogger(session);
  const gray = (value: number) => ({
    data: new Uint8Array(4).fill(value),
    width: 2,
    height: 2,
    channels: 1 as const,
  });
  await media.logImage('samples/first', gray(0), { step: 3 });
  await media.logImage('samples/first', gray(255), { step: 4 });
  await media.logAudio('voice', Float32Array.of(0, 0.5, -0.5), { sampleRate: 8000, step: 5 });
  await media.logDistribution('weights', [-1, 0, 0.25, 0.5, 8], { step: 7 });
  new MetricsLogger(session).log('loss', 1, { step: 0 });
}

describe('TensorBoard', () => {
  it('has every sample, text and histogram, and our importer reads them back', async () => {
    const store = createMemoryStore();
    const session = await start(store);
    const mirror = mirrorRun(session, tensorBoardSink({ directory: folder }));
    const metrics = new MetricsLogger(session);
    const artifacts = new ArtifactStore(session);
    for (let step = 0; step < 100; step++) metrics.log('train/loss', 1 / (step + 1), { step });
    metrics.log('train/loss', Number.NaN, { step: 100 });
    await artifacts.store('text', 'notes', 'begun', { step: 3 });
    await artifacts.logHistogram('weights', { bins: [0, 1, 2], counts: [3, 4], step: 5 });
    await session.flush();
    await mirror.flush();
    expect(mirror.status).toMatchObject({ state: 'working', samples: 101 });
    for (let step = 101; step < 120; step++) metrics.log('val/loss', step, { step });
    await session.endRun();
    expect(mirror.status).toMatchObject({ state: 'ended', samples: 120, error: null });
    const run = await eventsOf(session.runId);
    expect(run.metrics['train/loss']).toHaveLength(101);
    expect(run.metrics['train/loss']?.[99]).toEqual([99, null, Math.fround(0.01)]);
    expect(run.metrics['val/loss']).toHaveLength(19);
    expect(run.reader.run.config).toMatchObject({ lr: 0.1, 'optimizer.name': 'sgd' });
    const { records } = await readArtifacts(run.reader);
    expect(records.map(({ artifactType }) => artifactType).sort()).toEqual(['histogram', 'text']);
  });

  it('has distributions, images and sounds, under their keys and steps', async () => {
    const store = createMemoryStore();
    const session = await start(store);
    mirrorRun(session, tensorBoardSink({ directory: folder }));
    await logMedia(session);
    await session.endRun();
    const { reader } = await eventsOf(session.runId);
    // Event by event what an export of the run has: its images and sounds are tested there.
    const [name = ''] = readdirSync(join(folder, session.runId));
    const mirrored = recordsOf(readFileSync(join(folder, session.runId, name)));
    const pieces: Uint8Array[] = [];
    for await (const piece of exportTensorBoard(await openRun(store, session.runId)))
      pieces.push(piece);
    const exported = recordsOf(Buffer.concat(pieces));
    for (const [tag, count] of [
      ['samples/first', 2],
      ['voice', 1],
    ] as const) {
      const ofTag = (events: readonly Buffer[]) => events.filter((event) => event.includes(tag));
      expect(ofTag(mirrored)).toHaveLength(count);
      expect(ofTag(mirrored)).toEqual(ofTag(exported));
    }
    const { records } = await readArtifacts(reader, { artifactType: 'histogram' });
    const counted = await loadArtifact(reader, records[0] ?? '');
    if (typeof counted !== 'object' || counted === null || !('counts' in counted))
      throw new Error('no histogram');
    expect((counted['counts'] as number[]).reduce((sum, count) => sum + count, 0)).toBe(5);
    expect(records).toMatchObject([{ artifactKey: 'weights', step: 7 }]);
  });

  it('has each record once after kills between the batch and its note, and torn ends', async () => {
    const step = fc.record({
      samples: fc.integer({ min: 1, max: 20 }),
      end: fc.constantFrom('whole', 'not noted', 'torn', 'not written'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 4 }), async (steps) => {
        const store = createMemoryStore();
        let session = await start(store);
        let next = 0;
        for (const { end, samples } of steps) {
          const sink = tensorBoardSink({ directory: folder });
          const metrics = new MetricsLogger(session);
          for (let i = 0; i < samples; i++) metrics.log('train/loss', next, { step: next++ });
          await session.flush();
          const write = sink.write.bind(sink);
          let isKilled = false;
          sink.write = async (batch) => {
            const memory = await (end === 'not written' ? null : write(batch));
            if (end === 'whole') return memory ?? null;
            isKilled = true;
            throw new Error('killed');
          };
          const mirror = mirrorRun(session, sink);
          await mirror.flush();
          expect(isKilled).toBe(end !== 'whole');
          if (end === 'torn') {
            const [name = ''] = readdirSync(join(folder, session.runId));
            const file = join(folder, session.runId, name);
            const bytes = readFileSync(file);
            truncateSync(file, bytes.byteLength - 7);
          }
          const { runId } = session;
          await session.endRun('interrupted');
          session = await TrainingSession.resumeRun({
            storage: store,
            runId,
            handleSignals: false,
          });
        }
        await session.endRun();
        expect(
          await finishMirror(store, session.runId, tensorBoardSink({ directory: folder })),
        ).toMatchObject({ state: 'ended', samples: next });
        const { metrics } = await eventsOf(session.runId);
        expect(metrics['train/loss']?.map(([at]) => at)).toEqual(
          Array.from({ length: next }, (_, i) => i),
        );
      }),
      runs(16),
    );
  });

  it('begins anew where the file was removed, and loses nothing', async () => {
    const store = createMemoryStore();
    const session = await start(store);
    const metrics = new MetricsLogger(session);
    const mirror = mirrorRun(session, tensorBoardSink({ directory: folder }));
    metrics.log('train/loss', 1, { step: 0 });
    await session.flush();
    await mirror.flush();
    await session.endRun();
    rmSync(join(folder, session.runId), { recursive: true });
    await finishMirror(store, session.runId, tensorBoardSink({ directory: folder }));
    expect((await eventsOf(session.runId)).metrics).toEqual({ 'train/loss': [[0, null, 1]] });
  });

  it('tells where the folder is a file, and training goes on', async () => {
    const problems: RecordingProblem[] = [];
    const store = createMemoryStore();
    writeFileSync(join(folder, 'file'), '');
    const session = await start(store, problems);
    const mirror = mirrorRun(session, tensorBoardSink({ directory: join(folder, 'file') }));
    new MetricsLogger(session).log('loss', 1, { step: 0 });
    await session.endRun();
    expect(mirror.status.state).toBe('failing');
    expect(problems.map(({ kind }) => kind)).toEqual(['mirror_failed']);
    expect(session.status).toBe('completed');
    expect(session.recordingStatus().state).toBe('recording');
  });
});

describe('MLflow', () => {
  it('has metrics, parameters, texts as tags, and the status, within the limits of its API', async () => {
    const store = createMemoryStore();
    const session = await start(store);
    const mirror = mirrorRun(session, mlflowSink({ url: server.url }));
    const metrics = new MetricsLogger(session);
    for (let step = 0; step < 2500; step++)
      metrics.log('train/loss', 1 / (step + 1), { step, timestamp: 1_700_000_000_000.7 });
    metrics.log('bad', Number.NaN, { step: 1 });
    metrics.log('bad', Number.NEGATIVE_INFINITY, { epoch: 2 });
    await new ArtifactStore(session).store('text', 'notes', 'x'.repeat(9000), { step: 3 });
    await session.endRun('failed');
    expect(mirror.status).toMatchObject({ state: 'ended', samples: 2502 });
    const { run } = server;
    expect(run.status).toBe('FAILED');
    expect(server.experiments.get('digits')).toBe(run.experiment);
    expect(Object.fromEntries(run.params)).toEqual({ lr: '0.1', 'optimizer.name': 'sgd' });
    expect(run.tags.get('quark.run_id')).toBe(session.runId);
    expect(run.tags.get('notes')).toHaveLength(5000);
    expect(run.metrics).toHaveLength(2502);
    expect(run.metrics.filter(({ key }) => key === 'bad')).toMatchObject([
      { value: Number.NaN, step: 1 },
      { value: Number.NEGATIVE_INFINITY, step: 2 },
    ]);
    expect(run.metrics[7]).toEqual({
      key: 'train/loss',
      value: 1 / 8,
      step: 7,
      timestamp: 1_700_000_000_000,
    });
  });

  it('has each sample once, whatever requests fail, are half done, or lose their answers', async () => {
    const faults = fc.array(
      fc.constantFrom(undefined, undefined, 'refuse', 'lose answer', 'half'),
      { maxLength: 12 },
    );
    await fc.assert(
      fc.asyncProperty(
        faults,
        fc.array(fc.nat({ max: 8 }), { maxLength: 4 }),
        async (wanted, batches) => {
          server.runs.clear();
          server.experiments.clear();
          const store = createMemoryStore();
          const problems: RecordingProblem[] = [];
          const session = await start(store, problems);
          const mirror = mirrorRun(session, mlflowSink({ url: server.url }));
          const left = [...wanted];
          server.fault = () => left.shift();
          const metrics = new MetricsLogger(session);
          let next = 0;
          for (const samples of [...batches, 1]) {
            for (let i = 0; i < samples; i++) metrics.log('loss', next / 7, { step: next++ });
            await session.flush();
            await mirror.flush();
          }
          server.fault = undefined;
          await session.endRun();
          await finishMirror(store, session.runId, mlflowSink({ url: server.url }));
          expect(server.run.metrics.map(({ step }) => step).sort((a, b) => a - b)).toEqual(
            Array.from({ length: next }, (_, i) => i),
          );
          expect(server.run.status).toBe('FINISHED');
          expect(session.recordingStatus().state).toBe('recording');
        },
      ),
      runs(30),
    );
  });

  it('has images and sounds as artifacts, once, also where answers are lost', async () => {
    const store = createMemoryStore();
    const session = await start(store, [], new FastClock());
    const left = ['lose answer', 'refuse', undefined, 'lose answer'] as const;
    let put = 0;
    server.fault = (path) => (path.startsWith('mlflow-artifacts/') ? left[put++] : undefined);
    const mirror = mirrorRun(session, mlflowSink({ url: server.url }));
    await logMedia(session);
    await session.flush();
    await expect.poll(() => server.run.artifacts.size).toBe(3);
    await expect.poll(() => mirror.status.state).toBe('working');
    await session.endRun();
    const { artifacts, metrics, tags } = server.run;
    expect([...artifacts.keys()].sort()).toEqual([
      expect.stringMatching(/^audio\/voice%step%5%timestamp%\d+%art-[a-z\d]+\.wav$/),
      expect.stringMatching(/^images\/samples#first%step%3%timestamp%\d+%art-[a-z\d]+\.png$/),
      expect.stringMatching(/^images\/samples#first%step%4%timestamp%\d+%art-[a-z\d]+\.png$/),
    ]);
    expect(
      [...artifacts.values()].map((bytes) => Buffer.from(bytes.slice(1, 4)).toString()),
    ).toEqual(expect.arrayContaining(['PNG', 'PNG', 'IFF']));
    expect(tags.get('mlflow.loggedImages')).toBe('True');
    expect(metrics).toMatchObject([{ key: 'loss', value: 1 }]);
  });

  it('leaves images and sounds out where the server does not serve artifacts, and says so once', async () => {
    const store = createMemoryStore();
    server.artifactRoot = 's3://bucket/';
    const session = await start(store);
    mirrorRun(session, mlflowSink({ url: server.url }));
    await logMedia(session);
    await session.endRun();
    expect(server.run.artifacts.size).toBe(0);
    expect(server.run.metrics).toHaveLength(1);
    expect(vi.mocked(console.warn).mock.calls).toEqual([
      [expect.stringContaining('does not take artifacts')],
    ]);
  });

  it('goes on by itself when a server that was away is there again', async () => {
    const store = createMemoryStore();
    const problems: RecordingProblem[] = [];
    const port = Number(new URL(server.url).port);
    await server.stop();
    const session = await start(store, problems, new FastClock());
    const mirror = mirrorRun(session, mlflowSink({ url: `http://127.0.0.1:${port}` }));
    new MetricsLogger(session).log('loss', 1, { step: 0 });
    await session.flush();
    await expect.poll(() => mirror.status.state).toBe('failing');
    server = await MlflowServer.start(port);
    await expect.poll(() => mirror.status.state).toBe('working');
    expect(server.run.metrics).toHaveLength(1);
    expect(problems.map(({ kind }) => kind)).toEqual(['mirror_failed', 'mirror_resumed']);
    await session.endRun();
    expect(server.run.status).toBe('FINISHED');
  });
});

describe('functions and lines', () => {
  it('give a line a step, and texts without what moves a cursor', async () => {
    const lines: string[] = [];
    const store = createMemoryStore();
    const session = await start(store);
    mirrorRun(
      session,
      lineSink((line) => lines.push(line)),
    );
    const metrics = new MetricsLogger(session);
    metrics.logMany({ loss: 0.123456789, accuracy: 1 }, { step: 1 });
    metrics.log('val/loss', 2, { epoch: 3 });
    await new ArtifactStore(session).store('text', 'notes', 'a\u001b[2Jb\nc', { step: 4 });
    await session.endRun();
    expect(lines).toEqual([
      'step 1: loss 0.123457, accuracy 1',
      'epoch 3: val/loss 2',
      'step 4: notes: a [2Jb c',
    ]);
  });

  it('say which batch is repeated, and send no other twice', async () => {
    const store = createMemoryStore();
    const session = await start(store, [], new FastClock());
    const seen: (readonly [rows: number, isRepeated: boolean])[] = [];
    let fails = 2;
    const sink = functionSink('queue', ({ isRepeated, scalars }: SinkBatch) => {
      seen.push([scalars.rowCount, isRepeated]);
      if (fails-- > 0) throw new Error('full');
    });
    const mirror = mirrorRun(session, sink);
    new MetricsLogger(session).logMany({ a: 1, b: 2 }, { step: 0 });
    await session.flush();
    await expect.poll(() => mirror.status).toMatchObject({ state: 'working', samples: 2 });
    await session.endRun();
    expect(seen).toEqual([
      [2, false],
      [2, true],
      [2, true],
    ]);
  });

  it('have their notes until the run is purged', async () => {
    const store = createMemoryStore();
    const session = await start(store);
    mirrorRun(
      session,
      functionSink('queue', () => undefined),
    );
    new MetricsLogger(session).log('a', 1, { step: 0 });
    await session.endRun();
    expect(await store.notes?.list('mirrors/')).toHaveLength(1);
    await store.deleteRun(session.runId);
    await store.purgeDeletedRuns(Date.now() + 90 * 86_400_000);
    expect(await store.notes?.list('mirrors/')).toHaveLength(0);
  });

  it('refuse what is no sink', async () => {
    const session = await start(createMemoryStore());
    expect(() => functionSink('Queue', () => undefined)).toThrow('name must be');
    // @ts-expect-error a sink has write()
    expect(() => mirrorRun(session, {})).toThrow('sink');
    await session.endRun();
  });
});
