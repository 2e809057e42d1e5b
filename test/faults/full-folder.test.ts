/** A training in Node whose disk is full, or whose folder may not be written: it goes on, and all is stored once that works. */
import { spawnSync } from 'node:child_process';
import { chmod, mkdtemp, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import {
  MetricsLogger,
  openRun,
  openStorage,
  TrainingSession,
  type RecordingProblem,
} from 'quark-sdk';

const DISK_MB = 32;
const STEPS = 3000;
const NOBODY = 65_534;

let directory: string;
let isMounted: boolean;

beforeAll(async () => {
  vi.spyOn(console, 'warn').mockImplementation(() => undefined);
  directory = await mkdtemp(join(tmpdir(), 'quark-full-'));
  isMounted =
    process.platform === 'linux' &&
    spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MB}m`, 'tmpfs', directory]).status === 0;
});

afterAll(async () => {
  vi.restoreAllMocks();
  if (isMounted) spawnSync('umount', ['-l', directory]);
  await rm(directory, { recursive: true, force: true });
});

type Moment = 'start' | 'middle' | 'end';

/** A training that is stopped from recording at a moment; then recording works again, and everything has to be there. */
async function expectAllOf(
  folder: string,
  moment: Moment,
  stop: () => Promise<void>,
  mend: () => Promise<void>,
) {
  const model = { weights: new Float32Array(3) };
  const problems: RecordingProblem[] = [];
  let session: TrainingSession | undefined;
  let rows = STEPS;
  if (moment === 'start') await stop();
  const options = {
    project: 'p',
    storageDir: folder,
    handleSignals: false,
    onRecordingProblem: (problem: RecordingProblem) => void problems.push(problem),
  };
  const result = await TrainingSession.run(options, async (started) => {
    session = started;
    const metrics = new MetricsLogger(started);
    for (let step = 0; step < STEPS; step++) {
      metrics.log('loss', step, { step });
      if (step !== STEPS / 2) continue;
      if (moment === 'middle') await stop();
      await metrics.flush();
      await started.addTag('half');
    }
    if (moment === 'end') await stop();
    // The log of SQLite may have room in the blocks that it holds already: rows come until there is none.
    while (started.recordingStatus().state !== 'stopped') {
      for (const end = rows + 1000; rows < end; rows++) metrics.log('loss', rows, { step: rows });
      await metrics.flush();
    }
    return model;
  });
  expect(result).toBe(model);
  expect(problems[0]?.kind).toBe('stopped');
  expect(session?.recordingStatus()).toMatchObject({ state: 'stopped', droppedRows: 0 });
  await mend();
  // It is tried again after some seconds; a machine that is busy takes longer.
  await vi.waitFor(
    () => expect(session?.recordingStatus()).toMatchObject({ state: 'recording', bufferedRows: 0 }),
    { timeout: 90_000, interval: 100 },
  );
  expect(problems.map(({ kind }) => kind)).toEqual(
    problems.map((_, i) => (i % 2 === 0 ? 'stopped' : 'resumed')),
  );
  const store = await openStorage(folder);
  const reader = await openRun(store, session?.runId ?? '');
  expect(reader.run).toMatchObject({ status: 'completed', tags: ['half'] });
  const { values } = await reader.readMetricColumns();
  expect(Array.from(values)).toEqual(Array.from({ length: rows }, (_, i) => i));
  const types = (await reader.readEvents()).map(({ eventType }) => eventType);
  for (const type of ['run_started', 'run_ended'])
    expect(types.filter((other) => other === type)).toHaveLength(1);
  await store.close();
}

for (const moment of ['start', 'middle', 'end'] as const)
  test(`a disk that is full at the ${moment}`, async (context) => {
    if (!isMounted) context.skip('a small file system could not be mounted here');
    const ballast = join(directory, 'ballast');
    const fill = async (): Promise<void> => {
      const { bavail, bsize } = await statfs(directory);
      // The recording may have taken some of it meanwhile: the rest is written, and the disk is full.
      await writeFile(ballast, Buffer.alloc(bavail * bsize)).catch(() => undefined);
    };
    const folder = join(directory, moment);
    vi.mocked(console.warn).mockClear();
    await expectAllOf(folder, moment, fill, () => rm(ballast));
    // One line says that it stopped: the file, the bytes that are free, what becomes of the rows, what to do.
    const lines = vi.mocked(console.warn).mock.calls.map(([line]) => String(line));
    expect(lines.filter((line) => line.includes('has stopped'))).toHaveLength(1);
    expect(lines[0]).toMatch(/The disk is full|cannot be made|cannot be written/);
    if (moment !== 'start') {
      expect(lines[0]).toMatch(new RegExp(`${folder}.*\\d+ bytes are free.*Free some space`));
      expect(lines[0]).toContain('up to maxBufferedRows of each writer');
    }
    await rm(folder, { recursive: true });
  }, 120_000);

test('a folder that may not be written at the start', async (context) => {
  const { seteuid } = process;
  if (seteuid === undefined || process.geteuid?.() !== 0)
    context.skip('the user of this process cannot be changed');
  const folder = await mkdtemp(join(tmpdir(), 'quark-read-only-'));
  try {
    await chmod(folder, 0o555);
    process.seteuid?.(NOBODY);
    await expectAllOf(
      join(folder, 'runs'),
      'start',
      async () => undefined,
      async () => {
        process.seteuid?.(0);
        await chmod(folder, 0o777);
        process.seteuid?.(NOBODY);
      },
    );
  } finally {
    process.seteuid?.(0);
    await rm(folder, { recursive: true, force: true });
  }
}, 120_000);
