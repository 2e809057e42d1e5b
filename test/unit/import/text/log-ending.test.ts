/** Logs that end with an error: the run has failed, and its last event says why. */
import { expect, test } from 'vitest';
import { AnalyzerEngine } from 'quark-sdk/analysis';
import { importText } from '../../../support/imported.ts';

const MEMORY =
  'torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 23.69 GiB total capacity)';

const losses = (count: number): string =>
  Array.from({ length: count }, (_, i) => `step=${i} loss=${4 - i / count}\n`).join('');

const traceback = (error: string, rank = ''): string =>
  [
    'Traceback (most recent call last):',
    '  File "train.py", line 211, in <module>',
    '    loss.backward()',
    '    ^^^^^^^^^^^^^^^',
    error,
  ]
    .map((line) => `${rank}${line}\n`)
    .join('');

async function endOf(text: string): Promise<readonly string[]> {
  const { runs } = await importText({ 'train.log': text });
  return Promise.all(
    runs.map(async ({ reader }) => {
      const events = await reader.readEvents();
      const payload = events.findLast(({ eventType }) => eventType.startsWith('run_'))?.payload;
      const message = payload?.['message'];
      return typeof message === 'string' ? `${reader.run.status} ${message}` : reader.run.status;
    }),
  );
}

test('a traceback after the last values: failed, with the line of the error', async () => {
  expect(await endOf(losses(4) + traceback(MEMORY))).toEqual([`failed ${MEMORY}`]);
  expect(await endOf(losses(4) + traceback('KeyError: 17', '[rank3]: '))).toEqual([
    'failed KeyError: 17',
  ]);
  const { runs } = await importText({ 'train.log': losses(4) + traceback('KeyError: 17') });
  expect(Object.keys(runs[0]?.metrics ?? {})).toEqual(['train/loss']);
  expect(await endOf(losses(4) + traceback('KeyboardInterrupt'))).toEqual([
    'interrupted KeyboardInterrupt',
  ]);
});

test('of errors one after another the last counts, but not the one of torchrun about a rank', async () => {
  const chained = `${traceback("KeyError: 'a'")}\nDuring handling of the above exception, another exception occurred:\n\n${traceback('ValueError: no a')}`;
  expect(await endOf(losses(4) + chained)).toEqual(['failed ValueError: no a']);
  const child = 'torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ';
  expect(await endOf(losses(4) + traceback(MEMORY) + traceback(child))).toEqual([
    `failed ${MEMORY}`,
  ]);
});

test('an error that the program went on after is none of its end', async () => {
  const error = traceback('ValueError: no such picture');
  expect(await endOf(losses(4) + error + 'step=4 loss=2\n')).toEqual(['completed']);
  expect(await endOf(`${losses(4)}${error}Training finished.\n`)).toEqual(['completed']);
  expect(
    await endOf(`${losses(4)}Exception ignored in: <function Pool.__del__>\n${error}`),
  ).toEqual(['completed']);
  expect(await endOf(error + losses(4))).toEqual(['completed']);
});

test('a log in which the program was started again: the first run failed, the second did not', async () => {
  expect(await endOf(losses(4) + traceback(MEMORY) + losses(6))).toEqual([
    `failed ${MEMORY}`,
    'completed',
  ]);
});

test('a bar that waits when the error comes is of the run that failed', async () => {
  const bar = (done: number): string =>
    `Epoch 1: ${done}0%|█████     | ${done}0/100 [00:12<00:12, 31.2it/s, loss=${3 - done / 10}]\n`;
  expect(await endOf(bar(1) + bar(5) + traceback(MEMORY))).toEqual([`failed ${MEMORY}`]);
});

test('the analysis says it first', async () => {
  const { runs } = await importText({ 'train.log': losses(40) + traceback(MEMORY) });
  const [run] = runs;
  if (run === undefined) throw new Error('no run');
  const { alerts } = await new AnalyzerEngine(run.reader).analyze();
  const [first] = alerts;
  expect(first).toMatchObject({ ruleId: 'run_end', severity: 'critical' });
  expect(first?.title).toBe('The run ran out of memory');
});

const FAILED: Readonly<Record<string, string>> = {
  Killed: 'Killed',
  '/bin/bash: line 1: 12345 Killed                  python train.py': 'Killed',
  'srun: error: node01: task 0: Killed': 'Killed',
  'Segmentation fault (core dumped)': 'Segmentation fault',
  './run.sh: line 3:  4242 Segmentation fault      (core dumped) python train.py':
    'Segmentation fault',
  'RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0)':
    'RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0)',
  'slurmstepd: error: Detected 1 oom-kill event(s) in StepId=123.batch.':
    'Detected 1 oom-kill event(s) in StepId=123.batch.',
  "terminate called after throwing an instance of 'c10::Error'\n  what():  CUDA error: an illegal memory access":
    'CUDA error: an illegal memory access',
  'RangeError: Invalid array length\n    at Array.push (<anonymous>)\n\nNode.js v20.1.0':
    'RangeError: Invalid array length',
  'Loss is nan, stopping training': 'Loss is nan, stopping training',
  'Process finished with exit code 137': 'Process finished with exit code 137',
};

const INTERRUPTED: Readonly<Record<string, string>> = {
  'slurmstepd: error: *** JOB 12345 ON n1 CANCELLED AT 2024-01-01T00:00:00 DUE TO TIME LIMIT ***':
    '*** JOB 12345 ON n1 CANCELLED AT 2024-01-01T00:00:00 DUE TO TIME LIMIT ***',
  '=>> PBS: job killed: walltime 3620 exceeded limit 3600':
    'PBS: job killed: walltime 3620 exceeded limit 3600',
  KeyboardInterrupt: 'KeyboardInterrupt',
  '^C': 'KeyboardInterrupt',
  Terminated: 'Terminated',
};

test('what shells, schedulers and programs without a traceback print at the end says how the run ended', async () => {
  for (const [line, message] of Object.entries(FAILED))
    expect(await endOf(`${losses(4)}${line}\n`)).toEqual([`failed ${message}`]);
  for (const [line, message] of Object.entries(INTERRUPTED))
    expect(await endOf(`${losses(4)}${line}\n`)).toEqual([`interrupted ${message}`]);
});

test('the shell around a process that was killed says "finished"; the errors of one that was told to end say nothing', async () => {
  expect(await endOf(`${losses(4)}Killed\nJob finished at 12:00\n`)).toEqual(['failed Killed']);
  const [limit = ''] = Object.keys(INTERRUPTED);
  expect(await endOf(`${losses(4)}${limit}\n${traceback('OSError: closed')}`)).toEqual([
    `interrupted ${INTERRUPTED[limit]}`,
  ]);
});

test('what a program goes on after, talks about, or measures is no end', async () => {
  const lines = [
    'Killed 3 workers that did not answer',
    'The epoch was terminated early',
    'ValidationError: 0.25',
    'OSError: no such picture, skipped\nUsing the next one',
    'wandb: Run finished',
    'Process finished with exit code 0',
    'CUDA out of memory: the batch is skipped',
    'no segmentation fault was seen',
  ];
  for (const line of lines) expect(await endOf(`${losses(4)}${line}\n`)).toEqual(['completed']);
  for (const line of Object.keys(FAILED))
    expect(await endOf(`${losses(4)}${line}\nstep=4 loss=2\n`)).toEqual(['completed']);
});

test('the analysis says why a run was stopped, and what fits that', async () => {
  const said = async (line: string) => {
    const { runs } = await importText({ 'train.log': `${losses(40)}${line}\n` });
    const [run] = runs;
    if (run === undefined) throw new Error('no run');
    const { alerts, healthScores } = await new AnalyzerEngine(run.reader).analyze();
    expect(healthScores[0]?.status).not.toBe('healthy');
    return [alerts[0]?.title, alerts[0]?.fact];
  };
  const [limit = ''] = Object.keys(INTERRUPTED);
  expect(await said(limit)).toEqual([
    'The run reached its time limit',
    `The run was interrupted after step 39: ${INTERRUPTED[limit]}.`,
  ]);
  expect(await said('Killed')).toEqual([
    'The run was killed',
    'The run failed after step 39: Killed.',
  ]);
});
