/** What the exporter of Neptune writes: a row for each value of an attribute, the runs of a project in Parquet files of some parts each. */
import type { ParquetRows } from '../../../codecs/parquet/parquet-rows.ts';
import { CELL_ABSENT } from '../../../codecs/table-rows.ts';
import type { InputFile } from '../../../codecs/input.ts';
import type { ImportContext, RunSink } from '../sink/importer.ts';

const COLUMNS = [
  'project_id',
  'run_id',
  'attribute_path',
  'attribute_type',
  'step',
  'timestamp',
  'int_value',
  'float_value',
  'string_value',
  'bool_value',
] as const;
const NEEDED: readonly (typeof COLUMNS)[number][] = [
  'run_id',
  'attribute_path',
  'attribute_type',
  'float_value',
];
const PART = /^(.*)_part_\d+\.parquet$/;
/** Facts that Neptune itself has of a run. */
const SYSTEM = 'sys/';
const TYPES_OF_VALUES: Readonly<Record<string, (typeof COLUMNS)[number]>> = {
  float: 'float_value',
  int: 'int_value',
  string: 'string_value',
  bool: 'bool_value',
};

/** Whether a table is one of Neptune's. */
export function isNeptune(names: readonly string[]): boolean {
  return NEEDED.every((name) => names.includes(name));
}

/** What the parts of one run share of their paths; undefined for a file that is no part. */
export function neptunePartOf(path: string): string | undefined {
  return PART.exec(path)?.[1];
}

/** Reads one part; its run goes on in the next. */
export async function readNeptune(
  rows: ParquetRows,
  file: InputFile,
  context: ImportContext,
): Promise<void> {
  const names = rows.leaves.map(({ name }) => name);
  const index = Object.fromEntries(COLUMNS.map((name) => [name, names.indexOf(name)]));
  const at = (name: (typeof COLUMNS)[number]): number => index[name] ?? -1;
  const text = (name: (typeof COLUMNS)[number]): string =>
    at(name) < 0 || rows.kinds[at(name)] === CELL_ABSENT ? '' : rows.text(at(name));
  const number = (name: (typeof COLUMNS)[number]): number =>
    at(name) < 0 || rows.kinds[at(name)] === CELL_ABSENT
      ? Number.NaN
      : (rows.numbers[at(name)] ?? Number.NaN);
  const leftOut = new Map<string, number>();
  for await (const _ of rows.spans()) {
    while (rows.next()) {
      const sink = await context.run({
        identity: text('run_id'),
        name: text('run_id'),
        project: text('project_id').split('/').at(-1) ?? null,
        tags: ['neptune'],
      });
      const type = text('attribute_type');
      const path = text('attribute_path');
      const column = TYPES_OF_VALUES[type];
      if (type === 'float_series')
        sink.push(
          sink.metric(metricName(path)),
          number('float_value'),
          number('step'),
          Number.NaN,
          number('timestamp'),
        );
      else if (column !== undefined)
        setFact(sink, path, type === 'float' || type === 'int' ? number(column) : text(column));
      else if (type !== 'string_set' && type !== 'datetime')
        leftOut.set(type, (leftOut.get(type) ?? 0) + 1);
      if (sink.isFull) await sink.flush();
    }
  }
  for (const [type, count] of leftOut)
    context.problem({
      file: file.path,
      place: null,
      reason: `${count} values of the type "${type.slice(0, 60)}" are left out.`,
    });
}

/** Measures of the machine are apart from those of the training. */
function metricName(path: string): string {
  return path.replace(/^(?:monitoring|runtime)\//, 'system/');
}

function setFact(sink: RunSink, path: string, value: string | number): void {
  if (path.startsWith(SYSTEM)) {
    sink.environment({ [`neptune/${path.slice(SYSTEM.length)}`]: value });
    if (path === 'sys/failed' && value === 'true') sink.status('failed');
  } else sink.config({ [path]: value });
}
