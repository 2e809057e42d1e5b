import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CsvReader } from '../../../../src/codecs/csv/csv-reader.ts';
import { importText } from '../../../support/imported.ts';
import { damaged, type Files } from '../../../support/mutations.ts';
import { runs as settings } from '../../../support/property.ts';

async function one(text: string, options = {}, path = 'metrics.csv') {
  const { report, runs } = await importText({ [path]: text }, options);
  const [run] = runs;
  if (run === undefined || runs.length !== 1)
    throw new Error(`${runs.length} runs: ${JSON.stringify(report)}`);
  return { ...run, report, problems: report.problems };
}

describe('a table', () => {
  test("of Lightning's CSVLogger: sparse rows, the same step in several, settings beside it", async () => {
    const { runs, report } = await importText({
      'lightning_logs/version_3/metrics.csv':
        'epoch,step,train_loss_epoch,train_loss_step,val_loss\r\n0,49,,1.5,\r\n0,99,,1.25,\r\n0,99,,,2\r\n0,99,1.375,,\r\n1,149,,1,',
      'lightning_logs/version_3/hparams.yaml':
        'lr: 0.001\nlayers:\n- 64\n- 32\nname: "a b"\nbig: 9223372036854775807\nnested:\n  on: true\n',
    });
    expect(report.problems).toEqual([]);
    const [run] = runs;
    expect(run?.name).toBe('version_3');
    expect(run?.metrics).toEqual({
      'train/loss': [[99, 0, 1.375]],
      'train/loss_step': [
        [49, 0, 1.5],
        [99, 0, 1.25],
        [149, 1, 1],
      ],
      'val/loss': [[99, 0, 2]],
    });
    expect(run?.reader.run.config).toEqual({
      lr: 0.001,
      layers: [64, 32],
      name: 'a b',
      big: '9223372036854775807',
      nested: { on: true },
    });
  });

  test('of Ultralytics: a padded header, epochs and no steps, a time that starts again where the run was gone on with', async () => {
    const { metrics, name, keys, reader } = await one(
      '   epoch,    time,   train/box_loss,  metrics/mAP50-95(B),  lr/pg0\n' +
        '       1,   10.5,            1.25,               0.5,   0.01\n' +
        '       2,     21,             nan,              0.75,   0.02\n' +
        '       3,      9,               1,             0.875,   0.03\n',
      {},
      'runs/detect/train4/results.csv',
    );
    expect(name).toBe('train4');
    expect(keys).toMatchObject({
      'metrics/mAP50-95(B)': 'metrics/mAP50-95_B',
      'lr/pg0': 'optimizer/lr_0',
    });
    expect(metrics).toEqual({
      time: [
        [null, 1, 10.5],
        [null, 2, 21],
        [null, 3, 9],
      ],
      'train/box_loss': [
        [null, 1, 1.25],
        [null, 2, Number.NaN],
        [null, 3, 1],
      ],
      'metrics/mAP50-95_B': [
        [null, 1, 0.5],
        [null, 2, 0.75],
        [null, 3, 0.875],
      ],
      'optimizer/lr_0': [
        [null, 1, 0.01],
        [null, 2, 0.02],
        [null, 3, 0.03],
      ],
    });
    const events = await reader.readEvents();
    expect(events.map(({ eventType, epoch, payload }) => [eventType, epoch, payload])).toEqual([
      ['run_resumed', 3, { column: 'time', from: 21, to: 9 }],
    ]);
  });

  test('with ; between the cells and decimal commas', async () => {
    const { metrics } = await one('epoch;loss;val_loss\n0;1,5;2\n1;1,25e-1;"1,75"\n');
    expect(metrics).toEqual({
      'train/loss': [
        [null, 0, 1.5],
        [null, 1, 0.125],
      ],
      'val/loss': [
        [null, 0, 2],
        [null, 1, 1.75],
      ],
    });
  });

  test('with quoted fields over lines, quotes in quotes, blank lines, comments and any line end', async () => {
    const { metrics, problems } = await one(
      '\ufeff# step,"note, of\r\nthe ""run""",loss\r\n\r\n1,"a,\nb",0.5\r2,"c ""d""","0.25"\n# end\n3,,1',
    );
    expect(metrics).toEqual({
      'train/loss': [
        [1, null, 0.5],
        [2, null, 0.25],
        [3, null, 1],
      ],
    });
    expect(problems).toEqual([
      {
        file: 'metrics.csv',
        place: 'column "note, of\r\nthe "run""',
        reason: '2 cells are text, which is no metric: left out.',
      },
    ]);
  });

  test('keeps what is not finite, leaves out what is not there, and takes no number for more than it is', async () => {
    const { metrics } = await one(
      'step,a,b,c,d,n\n0,nan,inf,,None,9223372036854775807\n1,NaN,-Infinity,,NA,1\n9223372036854775807,NaN,1e400,,,"tensor(2.5, device=\'cuda:0\')"\n',
    );
    expect(metrics['a']).toEqual([
      [0, null, Number.NaN],
      [1, null, Number.NaN],
      // A step that no double can count is unknown: the next one of the metric stands in.
      [2, null, Number.NaN],
    ]);
    expect(metrics['b']).toEqual([
      [0, null, Infinity],
      [1, null, -Infinity],
      [2, null, Infinity],
    ]);
    expect(metrics['n']).toEqual([
      [0, null, 2 ** 63],
      [1, null, 1],
      [2, null, 2.5],
    ]);
    expect(Object.keys(metrics).toSorted()).toEqual(['a', 'b', 'n']);
  });

  test('without steps and epochs counts its rows, so that sparse metrics stay beside each other', async () => {
    const { metrics } = await one('loss,val_loss\n3,\n2,\n1,5\n');
    expect(metrics).toEqual({
      'train/loss': [
        [0, null, 3],
        [1, null, 2],
        [2, null, 1],
      ],
      'val/loss': [[2, null, 5]],
    });
  });

  test('keeps fractions of epochs as a metric', async () => {
    const { metrics } = await one('step,epoch,loss\n10,0.0,1\n20,0.5,2\n30,1.0,3\n');
    expect(metrics['train/loss']).toEqual([
      [10, 0, 1],
      [20, 0, 2],
      [30, 1, 3],
    ]);
    expect(metrics['train/epoch']).toEqual([
      [20, 0, 0.5],
      [30, 1, 1],
    ]);
  });

  test('that was appended to: epochs that begin again are another run, those that go back a little are not', async () => {
    const { runs, report } = await importText({
      'log.csv':
        'epoch,loss\n0,5\n1,4\n2,3\n1,3.5\n2,2.5\n' +
        // Another training into the same file, without a header,
        '0,9\n1,8\n' +
        // one with the same header, and one that has more to say.
        'epoch,loss\n0,7\n1,6\nepoch,accuracy,loss\n0,0.5,4\n1,0.75,3\n',
    });
    expect(report.problems).toEqual([]);
    expect(
      runs.map(({ metrics }) => metrics['train/loss']?.map(([, epoch, value]) => [epoch, value])),
    ).toEqual([
      [
        [0, 5],
        [1, 4],
        [2, 3],
        [1, 3.5],
        [2, 2.5],
      ],
      [
        [0, 9],
        [1, 8],
      ],
      [
        [0, 7],
        [1, 6],
      ],
      [
        [0, 4],
        [1, 3],
      ],
    ]);
    expect(runs[3]?.metrics['train/accuracy']).toEqual([
      [null, 0, 0.5],
      [null, 1, 0.75],
    ]);
    expect(runs.map(({ name }) => name)).toEqual(['log', 'log#2', 'log#3', 'log#4']);
  });

  test('whose header stops matching: the rows are reported, not guessed', async () => {
    const { metrics, problems } = await one('epoch,loss\n0,5\n1,0.5,4\n2,0.6,3\n3,1,\n4\n5,1,,,\n');
    expect(metrics['train/loss']).toEqual([
      [null, 0, 5],
      [null, 3, 1],
      [null, 5, 1],
    ]);
    expect(problems.map(({ place, reason }) => [place, reason.slice(0, 36)])).toEqual([
      ['lines 3 to 4', '2 rows have 3 cells, the header has '],
      ['line 6', 'The row has 1 cells, the header has '],
    ]);
  });

  test('a summary row at the end with the first step is no run of its own', async () => {
    const { metrics } = await one('epoch,step,loss,test_acc\n0,10,1,\n1,20,2,\n0,0,,0.9\n');
    expect(metrics['test/accuracy']).toEqual([[0, 0, 0.9]]);
  });

  test('batches are steps of their epoch', async () => {
    const { metrics } = await one('Epoch,Batch,Gen Loss\n0,0,4\n0,1,3\n1,0,2\n1,1,1\n2,5,0\n');
    expect(metrics).toEqual({
      Gen_Loss: [
        [0, 0, 4],
        [1, 0, 3],
        [2, 1, 2],
        [3, 1, 1],
        [9, 2, 0],
      ],
    });
  });

  test('steps that begin again with every epoch count over the whole run', async () => {
    const { metrics } = await one('epoch,iter,loss\n1,50,1\n1,100,2\n2,50,3\n2,100,4\n3,50,5\n');
    expect(metrics['train/loss']?.map(([step]) => step)).toEqual([50, 100, 150, 200, 250]);
  });

  test('with instants in seconds, milliseconds and ISO text', async () => {
    const iso = await one(
      'timestamp,step,loss\n2024-01-02 03:04:05,0,1\n2024-01-02T05:04:06.5+02:00,1,1\n',
    );
    const start = Date.UTC(2024, 0, 2, 3, 4, 5);
    expect(iso.times['train/loss']).toEqual([start, start + 1500]);
    const unix = await one(
      `Wall time,Step,Value\n${start / 1000 + 0.25},0,1\n${start + 1000},1,1\n`,
    );
    expect(Object.values(unix.times)).toEqual([[start + 250, start + 1000]]);
    expect(Object.keys(unix.metrics)).toHaveLength(1);
  });

  test.each([
    ['run-train-tag-epoch_loss.csv', 'epoch_loss'],
    ['run-2024_01_02-tag-val_loss.csv', 'val/loss'],
    ['charts/train_loss.csv', 'train/loss'],
    ['run1/metrics.csv', 'value'],
  ])('of one series: %s names it %s', async (path, key) => {
    const { runs } = await importText({ [path]: 'step,value,timestamp\n0,2,\n1,1,\n' });
    expect(Object.keys(runs[0]?.metrics ?? {})).toEqual([key]);
  });

  test('in long form: a sample a row, as our own export has it', async () => {
    const { metrics } = await one(
      'sequence,timestamp,metric_key,step,epoch,value\r\n0,2024-01-02T03:04:05.000Z,train/loss,1,,0.5\r\n1,2024-01-02T03:04:05.000Z,val/loss,1,0,NaN\r\n2,2024-01-02T03:04:05.000Z,train/loss,2,,-Infinity\r\n',
    );
    expect(metrics).toEqual({
      'train/loss': [
        [1, null, 0.5],
        [2, null, -Infinity],
      ],
      'val/loss': [[1, 0, Number.NaN]],
    });
  });

  test('with a column that says train or val', async () => {
    const { metrics } = await one('epoch,phase,loss\n0,train,1\n0,val,2\n1,train,0.5\n1,val,1.5\n');
    expect(metrics['val/loss']).toEqual([
      [null, 0, 2],
      [null, 1, 1.5],
    ]);
    expect(metrics['train/loss']).toHaveLength(2);
  });

  test('without names has numbered columns', async () => {
    const { metrics } = await one('1,0.5\n2,0.25\n');
    expect(metrics).toEqual({
      column_1: [
        [0, null, 1],
        [1, null, 2],
      ],
      column_2: [
        [0, null, 0.5],
        [1, null, 0.25],
      ],
    });
  });

  test('with columns that the user names', async () => {
    const text = 'n,when,lap,loss,junk\n5,1700000000,2,1,9\n6,1700000001,3,2,9\n';
    const columns = { step: 'N', time: 'when', epoch: 'lap', ignore: ['junk'] };
    const { metrics, times } = await one(text, { columns });
    expect(metrics).toEqual({
      'train/loss': [
        [5, 2, 1],
        [6, 3, 2],
      ],
    });
    expect(times['train/loss']).toEqual([1_700_000_000_000, 1_700_000_001_000]);
    const { problems } = await one(text, { columns: { step: 'no such' } });
    expect(problems[0]?.reason).toBe('There is no column "no such" (columns.step).');
  });

  test('names that leave the same key stay different metrics, however many they are', async () => {
    const names = Array.from(
      { length: 3000 },
      (_, i) => `a${'?'.repeat(1 + (i % 60))}${'!'.repeat(Math.floor(i / 60))}`,
    );
    const { metrics } = await one(`step,${names.join(',')}\n1${',2'.repeat(3000)}\n`);
    expect(Object.keys(metrics)).toHaveLength(3000);
  });

  test('is told from other text', async () => {
    const others = [
      'Train: loss=1.5139, acc=0.4513\nTrain: loss=1.2, acc=0.5\n',
      'Hello, world\nthis, is\nprose, only\n',
      '[1, 2]\n[3, 4]\n',
      'from x import y, z\na = 1, 2\n',
    ];
    for (const [i, text] of others.entries()) {
      const { report } = await importText({ [`x${i}.txt`]: text });
      expect(report.runs.map(({ format }) => format)).not.toContain('csv');
    }
    // The data to train on, with its size and classes in the first line, is no log of a training.
    const data = '150,4,setosa,virginica\n5.1,3.5,1.4,0\n4.9,3.0,1.4,0\n';
    expect((await importText({ 'iris.csv': data })).report.unknownFiles).toEqual(['iris.csv']);
    // Nor is a file a table because it is called so.
    expect((await importText({ 'x.csv': '\u0000\u0001binary' })).report.unknownFiles).toEqual([
      'x.csv',
    ]);
  });

  test('has limits: columns, length of a row, runs in a file', async () => {
    const wide = await importText({ 'a.csv': 'a,b,c\n1,2,3\n' }, { limits: { maxColumns: 2 } });
    expect(wide.report.problems[0]?.reason).toMatch(/limits\.maxColumns/);
    const long = await importText(
      { 'a.csv': `step,loss\n1,2\n2,"${'x'.repeat(500)}"\n3,4\n4,"open\n5,6\n` },
      { limits: { maxLineBytes: 100 } },
    );
    expect(long.report.problems.map(({ place }) => place)).toEqual(['line 3', 'line 5']);
    expect(long.runs[0]?.metrics['train/loss']).toEqual([
      [1, null, 2],
      [3, null, 4],
      [5, null, 6],
    ]);
    const many = await importText(
      { 'a.csv': `step,loss\n${'0,1\n1,2\n'.repeat(5)}` },
      { limits: { maxRestarts: 3 } },
    );
    expect(many.runs).toHaveLength(3);
    expect(many.runs[2]?.metrics['train/loss']).toHaveLength(6);
    expect(many.report.problems[0]?.reason).toMatch(/limits\.maxRestarts/);
  });
});

describe('the reader of rows', () => {
  const text = '\ufeffa,"b ""q""\nx", c \r\n1,-2.5e-3,\n"3",nan,"4,5"\r6,,7';

  function rowsOf(sizes: readonly number[], maxRowBytes = 1000): unknown[] {
    const reader = new CsvReader({ delimiter: ',', maxColumns: 10, maxRowBytes });
    const bytes = new TextEncoder().encode(text);
    const rows: unknown[] = [];
    const take = (): void => {
      while (reader.next())
        rows.push([
          reader.line,
          Array.from({ length: reader.cellCount }, (_, i) =>
            reader.kinds[i] === 1 ? reader.numbers[i] : reader.text(i),
          ),
        ]);
    };
    let at = 0;
    for (const size of sizes) {
      reader.feed(bytes.slice(at, at + size));
      at += size;
      take();
    }
    reader.feed(bytes.slice(at), true);
    take();
    return rows;
  }

  test('reads the same rows from pieces of any size', () => {
    const whole = rowsOf([]);
    expect(whole).toEqual([
      [1, ['a', 'b "q"\nx', 'c']],
      [3, [1, -0.0025, '']],
      [4, [3, Number.NaN, '4,5']],
      [5, [6, '', 7]],
    ]);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 40 }), (sizes) => {
        expect(rowsOf(sizes)).toEqual(whole);
      }),
      settings(500),
    );
  });
});

const VALID: readonly Files[] = [
  {
    'v/metrics.csv': 'epoch,step,train_loss,val_loss\n0,1,2.5,\n0,2,,nan\n1,3,"1.5",inf\n0,1,2,3\n',
    'v/hparams.yaml': "lr: 1e-3\nlayers:\n- 1\n- {a: [1, \"b\"]}\ntext: |\n  x\n  y\nq: 'it''s'\n",
  },
  { 'log.csv': 'epoch;acc;"lo\nss"\n0;0,5;1\n1;0,6;2\nepoch;acc\n0;1\n' },
  {
    'a.tsv':
      'timestamp\tstep\tphase\tloss\n2024-01-02 03:04:05\t1\ttrain\t2\n1700000000\t2\tval\t3\n',
  },
];

test('whatever is damaged in it, an import ends, and says what it left out', async () => {
  await fc.assert(
    fc.asyncProperty(damaged(VALID), async (files) => {
      const { report } = await importText(files);
      expect(
        report.problems.every(({ reason }) => reason !== '' && !reason.includes('undefined')),
      ).toBe(true);
    }),
    settings(800),
  );
}, 120_000);

test('steps that cannot be steps are reported, and do not disturb those that are', async () => {
  const { metrics, problems } = await one(
    'step,loss\n10,5\n20,4\n9223372036854775807,3\nabc,2\n-1,1\nnan,0.5\n30,0.25\n',
  );
  expect(metrics).toEqual({
    'train/loss': [
      [10, null, 5],
      [20, null, 4],
      [21, null, 3],
      [22, null, 2],
      [23, null, 1],
      [24, null, 0.5],
      [30, null, 0.25],
    ],
  });
  // A cell that says "nan" is how pandas writes one that is empty.
  expect(problems).toEqual([
    {
      file: 'metrics.csv',
      place: 'column "step"',
      reason: expect.stringMatching(/^3 cells are no whole numbers from 0 to 9007199254740991/),
    },
  ]);
});

test('a run lasts from its first instant to its last, whenever the file was written', async () => {
  const { reader } = await one(
    'time,step,loss\n2024-03-02T16:00:00Z,0,2\n2024-03-02T16:00:30Z,1,1\n',
  );
  expect(reader.run.startedAt).toBe('2024-03-02T16:00:00.000Z');
  expect(reader.run.endedAt).toBe('2024-03-02T16:00:30.000Z');
});
