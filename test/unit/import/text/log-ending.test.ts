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
