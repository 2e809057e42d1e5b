/** Exports of Neptune, Comet, ClearML and Aim, as their tools write them. */
import { parquetWriteBuffer } from 'hyparquet-writer';
import { expect, test } from 'vitest';
import { importText } from '../../../support/imported.ts';

type Cell = readonly [path: string, type: string, step: number | null, value: number | string];
const T = 1_700_000_000_000;

/** A part as Neptune's exporter writes it. */
export function neptunePart(run: string, cells: readonly Cell[]): Uint8Array<ArrayBuffer> {
  const column = (type: string, kind: string): (number | string | null)[] =>
    cells.map(([, cell, , value]) =>
      cell === type || cell === `${type}_series`
        ? kind === 'number'
          ? Number(value)
          : String(value)
        : null,
    );
  return new Uint8Array(
    parquetWriteBuffer({
      columnData: [
        { name: 'project_id', data: cells.map(() => 'team/vision'), type: 'STRING' },
        { name: 'run_id', data: cells.map(() => run), type: 'STRING' },
        { name: 'attribute_path', data: cells.map(([path]) => path), type: 'STRING' },
        { name: 'attribute_type', data: cells.map(([, type]) => type), type: 'STRING' },
        { name: 'step', data: cells.map(([, , step]) => step), type: 'DOUBLE' },
        { name: 'timestamp', data: cells.map((_, i) => new Date(T + i * 1000)), type: 'TIMESTAMP' },
        {
          name: 'int_value',
          data: column('int', 'number').map((x) => (x === null ? null : BigInt(x))),
          type: 'INT64',
        },
        { name: 'float_value', data: column('float', 'number'), type: 'DOUBLE' },
        { name: 'string_value', data: column('string', 'text'), type: 'STRING' },
      ],
    }),
  );
}

test('Neptune: the parts of a run are one run, series are metrics, the rest is configuration', async () => {
  const { report, runs } = await importText({
    'data/vision_ab12/RUN-1_part_0.parquet': neptunePart('RUN-1', [
      ['sys/name', 'string', null, 'baseline'],
      ['parameters/lr', 'float', null, 0.1],
      ['parameters/layers', 'int', null, 3],
      ['parameters/optimizer', 'string', null, 'adam'],
      ['train/loss', 'float_series', 0, 2.5],
      ['train/loss', 'float_series', 1, 1.5],
      ['monitoring/cpu', 'float_series', 0, 40],
      ['model', 'file', null, ''],
    ]),
    'data/vision_ab12/RUN-1_part_1.parquet': neptunePart('RUN-1', [
      ['train/loss', 'float_series', 2, 1.25],
      ['val/loss', 'float_series', 2, 1.75],
    ]),
    'data/vision_ab12/RUN-2_part_0.parquet': neptunePart('RUN-2', [
      ['train/loss', 'float_series', 0, 9],
    ]),
  });
  expect(report.problems.map(({ reason }) => reason)).toEqual([
    '1 values of the type "file" are left out.',
  ]);
  expect(runs.map(({ name }) => name)).toEqual(['RUN-1', 'RUN-2']);
  expect(report.runs[0]).toMatchObject({ project: 'vision', rowCount: 5 });
  expect(runs[0]?.metrics).toEqual({
    'train/loss': [
      [0, null, 2.5],
      [1, null, 1.5],
      [2, null, 1.25],
    ],
    'val/loss': [[2, null, 1.75]],
    'system/cpu': [[0, null, 40]],
  });
  expect(runs[0]?.reader.run).toMatchObject({
    config: {
      'parameters/lr': 0.1,
      'parameters/layers': 3,
      'parameters/optimizer': 'adam',
    },
    environment: { 'neptune/name': 'baseline' },
  });
  expect(runs[0]?.times['train/loss']?.[0]).toBe(T + 4000);
});

const row = (name: string, step: number, value: unknown, context: string | null = null): string =>
  JSON.stringify({
    metricName: name,
    metricValue: value,
    timestamp: T + step * 1000,
    step,
    epoch: null,
    runContext: context,
  });

test.each([
  [
    'one file',
    {
      'metrics.jsonl': [
        row('loss', 1, '2.5', 'train'),
        row('loss', 2, '1.5', 'train'),
        row('loss', 2, 1.75, 'validate'),
        row('sys.cpu.percent.avg', 2, '40'),
        row('note', 2, 'x'),
      ],
    },
  ],
  [
    'a file for each metric',
    {
      'metrics_summary.jsonl': ['{"metric": "loss", "count": 0}', '{"metric": "val", "count": 1}'],
      'metrics/metric_00000.jsonl': [row('loss', 1, 2.5, 'train'), row('loss', 2, 1.5, 'train')],
      'metrics/metric_00001.jsonl': [
        row('loss', 2, 1.75, 'validate'),
        row('sys.cpu.percent.avg', 2, 40),
      ],
    },
  ],
])('Comet, %s, with the files beside it', async (_, files) => {
  const folder = 'workspace/project/calm_river_1';
  const named = Object.entries(files).map(
    ([path, lines]) => [`${folder}/${path}`, lines.join('\n')] as const,
  );
  const { report, runs } = await importText({
    ...Object.fromEntries(named),
    [`${folder}/metadata.json`]:
      '{"experimentKey": "k1", "experimentName": "calm river", "projectName": "digits", "startTimeMillis": 1700000000000, "cometDownloadVersion": "1"}',
    [`${folder}/parameters.json`]:
      '[{"name": "lr", "valueMax": "0.1", "valueCurrent": "0.1"}, {"name": "optimizer", "valueCurrent": "adam"}]',
    [`${folder}/others.jsonl`]: '{"name": "Name", "valueCurrent": "calm river"}\n',
    [`${folder}/system_details.json`]: '{"pythonVersion": "3.11", "osType": "Linux"}',
  });
  expect([report.problems, report.unknownFiles]).toEqual([[], []]);
  expect(runs).toHaveLength(1);
  expect(report.runs[0]).toMatchObject({ name: 'calm river', project: 'digits', format: 'comet' });
  expect(runs[0]?.metrics).toEqual({
    'train/loss': [
      [1, null, 2.5],
      [2, null, 1.5],
    ],
    'val/loss': [[2, null, 1.75]],
    'system/cpu.percent.avg': [[2, null, 40]],
  });
  expect(runs[0]?.reader.run).toMatchObject({
    config: { lr: 0.1, optimizer: 'adam', Name: 'calm river' },
    environment: { comet: { system: { pythonVersion: '3.11' } } },
  });
});

test('Comet, the answer of its API as one list', async () => {
  const { runs } = await importText({
    'metrics.json': `[${row('loss', 1, '2.5')}, ${row('loss', 2, '1.5')}]`,
  });
  expect(runs[0]?.metrics).toEqual({
    'train/loss': [
      [1, null, 2.5],
      [2, null, 1.5],
    ],
  });
});

test('ClearML: a graph and its lines, alone or within a task', async () => {
  const scalars = {
    loss: { train: { name: 'train', x: [1, 2], y: [2.5, 1.5] }, validation: { x: [2], y: [1.75] } },
    lr: { lr: { x: [1, 2], y: [0.1, null] } },
    ':monitor:gpu': { gpu_0_utilization: { x: [1], y: [99] } },
  };
  const expected = {
    'train/loss': [
      [1, null, 2.5],
      [2, null, 1.5],
    ],
    'val/loss': [[2, null, 1.75]],
    'optimizer/lr': [[1, null, 0.1]],
    'system/gpu/gpu_0_utilization': [[1, null, 99]],
  };
  const alone = await importText({ 'task/scalars.json': JSON.stringify(scalars, null, 2) });
  expect(alone.report.problems.map(({ reason }) => reason)).toEqual([
    '1 values are no numbers: left out.',
  ]);
  expect(alone.runs[0]?.metrics).toEqual(expected);
  const task = await importText({
    'task.json': JSON.stringify({
      id: 't1',
      name: 'digits',
      parameters: { 'Args/lr': 0.1 },
      scalars,
    }),
  });
  expect(task.report.runs[0]).toMatchObject({ name: 'digits', format: 'clearml' });
  expect(task.runs[0]?.metrics).toEqual(expected);
  expect(task.runs[0]?.reader.run.config).toEqual({ 'Args/lr': 0.1 });
});

test('Aim: data frames of its SDK, a run for each hash, contexts in front', async () => {
  const { report, runs } = await importText({
    'metrics.csv': `,idx,step,value,epoch,time,run.hash,run.hparams.lr,run.hparams.name,metric.name,metric.context.subset
0,0,1,2.5,0,2024-01-02 03:04:05.500000,abc,0.1,a,loss,train
1,1,2,1.5,0,2024-01-02 03:04:06,abc,0.1,a,loss,train
2,0,2,1.75,0,2024-01-02 03:04:06,abc,0.1,a,loss,val
3,0,1,40.0,,2024-01-02 03:04:06,abc,0.1,a,__system__cpu,
4,0,1,9.5,0,2024-01-02 03:04:06,def,0.2,"b, c",loss,train
5,0,1,,0,2024-01-02 03:04:06,def,0.2,"b, c",loss,train
`,
  });
  expect(report.problems.map(({ reason }) => reason)).toEqual([
    '1 rows have no name or no number: left out.',
  ]);
  expect(runs.map(({ name, metrics, reader }) => [name, metrics, reader.run.config])).toEqual([
    [
      'abc',
      {
        'train/loss': [
          [1, 0, 2.5],
          [2, 0, 1.5],
        ],
        'val/loss': [[2, 0, 1.75]],
        'system/cpu': [[1, null, 40]],
      },
      { 'hparams.lr': 0.1, 'hparams.name': 'a' },
    ],
    ['def', { 'train/loss': [[1, 0, 9.5]] }, { 'hparams.lr': 0.2, 'hparams.name': 'b, c' }],
  ]);
  expect(runs[0]?.times['train/loss']?.[0]).toBe(Date.UTC(2024, 0, 2, 3, 4, 5, 500));
});
