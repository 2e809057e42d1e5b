/** Tables whose cells have units, as nvidia-smi writes them. */
import { expect, test } from 'vitest';
import { amountIn, nameWithUnit } from '../../../../src/exchange/import/tables/amounts.ts';
import { importText } from '../../../support/imported.ts';

const T = Date.UTC(2024, 0, 2, 3, 4, 5);

test('nvidia-smi: numbers with their units in the names, a device by its index, and the times', async () => {
  const { report, runs } = await importText({
    'smi.csv': `timestamp, index, utilization.gpu [%], memory.used [MiB], temperature.gpu, power.draw [W]
2024/01/02 03:04:05.000, 0, 45 %, 1234 MiB, 50, 100.50 W
2024/01/02 03:04:05.000, 1, 5 %, 4 MiB, 40, [N/A]
2024/01/02 03:04:06.000, 0, 55 %, 1235 MiB, 51, 101.50 W
2024/01/02 03:04:06.000, 1, 6 %, 4 MiB, 41, [N/A]
`,
  });
  expect(report.problems).toEqual([
    {
      file: 'smi.csv',
      place: 'column "power.draw [W]"',
      reason: '2 cells are text, which is no metric: left out.',
    },
  ]);
  expect(runs[0]?.metrics).toEqual({
    'gpu/0/utilization.gpu_percent': [
      [0, null, 45],
      [2, null, 55],
    ],
    'gpu/0/memory.used_MiB': [
      [0, null, 1234],
      [2, null, 1235],
    ],
    'gpu/0/temperature.gpu': [
      [0, null, 50],
      [2, null, 51],
    ],
    'gpu/0/power.draw_W': [
      [0, null, 100.5],
      [2, null, 101.5],
    ],
    'gpu/1/utilization.gpu_percent': [
      [1, null, 5],
      [3, null, 6],
    ],
    'gpu/1/memory.used_MiB': [
      [1, null, 4],
      [3, null, 4],
    ],
    'gpu/1/temperature.gpu': [
      [1, null, 40],
      [3, null, 41],
    ],
  });
  expect(runs[0]?.times['gpu/0/temperature.gpu']).toEqual([T, T + 1000]);
});

test('units in the cells of any table; another unit in the same column is left out and told', async () => {
  const { report, runs } = await importText({
    'x.csv':
      'step,loss,elapsed,speed\n1,2.5,3 s,10 it/s\n2,1.5,4 s,11 it/s\n3,1.25,1 min,12 it/s\n',
  });
  expect(Object.keys(runs[0]?.metrics ?? {})).toEqual([
    'train/loss',
    'elapsed_s',
    'speed_it_per_s',
  ]);
  expect(runs[0]?.metrics['elapsed_s']).toEqual([
    [1, null, 3],
    [2, null, 4],
  ]);
  expect(report.problems).toMatchObject([{ place: 'column "elapsed"' }]);
});

test('a word that is no unit makes a text of a cell', () => {
  for (const text of [
    '3 apples',
    '12.5.1',
    'A100 40 GB',
    '5 of 7',
    '1 2',
    '% 5',
    '',
    'v1.5',
    '3 B2',
  ])
    expect([text, amountIn(text)]).toEqual([text, undefined]);
  expect(amountIn(' 45 %')).toEqual({ value: 45, unit: '%' });
  expect(amountIn('-1.5e3 W')).toEqual({ value: -1500, unit: 'W' });
  expect(nameWithUnit('memory_MiB', 'MiB')).toBe('memory_MiB');
  expect(nameWithUnit('plain')).toBe('plain');
});

test('a loss of both sides has conventional names, or neither has', async () => {
  const { runs } = await importText({
    'a.csv': 'step,Loss/train,Loss/val,Loss/test,Accuracy/train,Accuracy/val\n1,3,2,1,0.5,0.25\n',
  });
  expect(Object.keys(runs[0]?.metrics ?? {})).toEqual([
    'train/loss',
    'val/loss',
    'test/loss',
    'Accuracy/train',
    'Accuracy/val',
  ]);
});

test('steps that count samples say so', async () => {
  const { runs } = await importText({
    'mnist.log':
      'Train Epoch: 1 [0/60000 (0%)]\tLoss: 2.5\nTrain Epoch: 1 [640/60000 (1%)]\tLoss: 1.5\n',
    'plain.log': 'step 1 loss 2.5\nstep 2 loss 1.5\n',
  });
  expect(runs.map(({ reader }) => reader.run.environment['step_unit'])).toEqual([
    'samples',
    undefined,
  ]);
});
