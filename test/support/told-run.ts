/** Two runs with all that the page of a run shows: what the program printed, a profile, its code, a parent, notes, an alert. */
import { editRun, EventLogger, MetricsLogger, TrainingSession, type Store } from 'quark-sdk';
import { captureConsole } from 'quark-sdk/console';
import { MediaLogger } from 'quark-sdk/media';
import { Profiler, Timers } from 'quark-sdk/profiler';

/** Notes with everything that Markdown has, and what it must not do. */
export const NOTES = `## What this was

The **baseline** with a *cosine* schedule, see [the paper](https://example.org/paper) and \`train.ts\`.

- [x] train
- [ ] compare with \`adam\`

| rate | loss |
| ---- | ---- |
| 1e-3 | 0.31 |
| 3e-4 | 0.28 |

> Diverges above 1e-2.

<script>globalThis.wasHacked = true</script> [click](javascript:globalThis.wasHacked=true) ![spy](https://example.org/spy.png)
`;

/** Ids of the recorded runs. */
export type ToldRuns = {
  readonly parentId: string;
  readonly runId: string;
  readonly childId: string;
};

/** Records them. `lineCount`: lines that the program prints, which are captured and go nowhere else. */
export async function recordToldRuns(store: Store, lineCount: number): Promise<ToldRuns> {
  const { error, log, warn } = console;
  const nowhere = (): void => undefined;
  Object.assign(console, { error: nowhere, log: nowhere, warn: nowhere });
  try {
    return await recordLine(store, lineCount);
  } finally {
    Object.assign(console, { error, log, warn });
  }
}

async function recordLine(store: Store, lineCount: number): Promise<ToldRuns> {
  const parentId = await recordPlain(store, undefined, 'first try');
  const session = await TrainingSession.startRun({
    project: 'digits',
    storage: store,
    name: 'cosine schedule, rate 1e-3',
    notes: NOTES,
    description: 'Does a cosine schedule help?',
    groups: ['schedules'],
    jobType: 'train',
    tags: ['baseline', 'workers=8'],
    config: { optimizer: { name: 'adam', rate: 0.001 }, batchSize: 32 },
    parentRunId: parentId,
    handleSignals: false,
  });
  const capture = captureConsole(session, { flushIntervalMs: 50 });
  printLines(lineCount);
  await capture.flush();
  const profiler = new Profiler(session);
  const timers = new Timers(session);
  const metrics = new MetricsLogger(session);
  await profiler.scope('Model Loading', async (scope) => {
    await scope.scope('Read weights', () => pause(5));
    await pause(2);
  });
  for (let epoch = 0; epoch < 5; epoch += 1)
    await profiler.scope('Epoch', async (scope) => {
      await scope.scope('Evaluation', () => pause(2));
      for (let step = epoch * 40; step < epoch * 40 + 40; step += 1) {
        timers.time('batch', () => undefined);
        metrics.log('train/loss', 2 * Math.exp(-step / 80), { step, epoch });
        metrics.log('val/loss', 2 * Math.exp(-step / 80) + (step > 100 ? (step - 100) / 60 : 0), {
          step,
          epoch,
        });
      }
      await pause(3);
    });
  await profiler.close();
  await new MediaLogger(session).logCode();
  await capture.stop();
  new EventLogger(session).log('runtime_error', {
    severity: 'error',
    step: 199,
    payload: { message: 'CUDA out of memory', stack: 'at train' },
  });
  await session.endRun('failed');
  const childId = await recordPlain(store, session.runId, 'second try');
  return { parentId, runId: session.runId, childId };
}

async function recordPlain(
  store: Store,
  parentRunId: string | undefined,
  name: string,
): Promise<string> {
  const session = await TrainingSession.startRun({
    project: 'digits',
    storage: store,
    parentRunId,
    handleSignals: false,
  });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 30; step += 1) metrics.log('train/loss', 1 / (step + 1), { step });
  await session.endRun();
  await editRun(store, session.runId, { name });
  return session.runId;
}

function printLines(count: number): void {
  for (let line = 0; line < count; line += 1) {
    if (line % 50 === 7) console.warn(`warning ${line}: the queue is empty`);
    else if (line % 100 === 3)
      console.error(`error ${line}: \u001b[31;1mcould not read\u001b[0m the file`);
    else
      console.log(
        `\u001b[32mstep ${line}\u001b[0m loss \u001b[1m${(2 * Math.exp(-line / 500)).toFixed(4)}\u001b[0m`,
      );
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
