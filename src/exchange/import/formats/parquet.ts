/**
 * Parquet: our own tables, Trackio's exports, and any table whose columns are metrics, as with CSV. The footer says which it is, so all of
 * them are one format.
 */
import { columnsOf } from '../tables/csv-columns.ts';
import type { InputFile } from '../../../codecs/input.ts';
import type { ImportContext, ImportedRun, Importer } from '../sink/importer.ts';
import { readParquetFooter, type ParquetFooter } from '../../../codecs/parquet/parquet-footer.ts';
import { hasNumbers, ParquetRows } from '../../../codecs/parquet/parquet-rows.ts';
import { isNeptune, neptunePartOf, readNeptune } from '../tables/neptune-parquet.ts';
import { parquetBatches } from '../tables/parquet-table.ts';
import {
  eachFile,
  groupTables,
  importQuarkTable,
  isTableName,
  quarkTableFacts,
} from '../tables/quark-tables.ts';
import { runNameOf } from '../sink/run-names.ts';
import { TableImport } from '../tables/table-import.ts';

/** Columns that name the run a row belongs to. */
const RUN_NAMES = ['run_name', 'run_id', 'run', 'experiment_name'];
/** Columns of Trackio's that are no metrics. */
const TRACKIO_COLUMNS = [
  'id',
  'log_id',
  'space_id',
  'run_id',
  'project_name',
  'project',
  'created_at',
];
const TRACKIO_PARTS = /_(?:system|configs)$/;

/** Parquet. */
export const parquet: Importer = {
  format: 'parquet',
  title: "Parquet (Quark's export, Trackio's, Neptune's, any table of metrics)",
  detect({ bytes }) {
    return [0x50, 0x41, 0x52, 0x31].every((byte, i) => bytes[i] === byte) ? 1 : 0;
  },
  group(files) {
    const paths = new Set(files.map(({ path }) => path));
    const runs = new Map<string, InputFile[]>();
    for (const file of files) {
      const run = neptunePartOf(file.path);
      if (run !== undefined) runs.set(run, [...(runs.get(run) ?? []), file]);
    }
    const others = files.filter(({ path }) => neptunePartOf(path) === undefined);
    const groups = groupTables(others, isTableName);
    // Trackio keeps system metrics and configurations of a project beside it.
    const baseOf = (path: string): string =>
      path.replace(/\.[^.]*$/, '').replace(TRACKIO_PARTS, '');
    const isPart = ([file, other]: readonly InputFile[]): boolean =>
      file !== undefined &&
      other === undefined &&
      TRACKIO_PARTS.test(file.path.replace(/\.[^.]*$/, '')) &&
      paths.has(`${baseOf(file.path)}.parquet`);
    const parts = groups.filter(isPart).flat();
    return groups
      .filter((group) => !isPart(group))
      .map((group) => [
        ...group,
        ...parts.filter(({ path }) =>
          group.some((file) => file.path === `${baseOf(path)}.parquet`),
        ),
      ])
      .concat([...runs.values()]);
  },
  read: (files, context) =>
    eachFile(files, context, async (file) => {
      const footer = await readParquetFooter(file, context.limits);
      if (footer.metadata.has('quark:table')) await readOurs(file, footer, context);
      else await readTable(file, footer, context, files[0] ?? file);
    }),
};

async function readOurs(
  file: InputFile,
  footer: ParquetFooter,
  context: ImportContext,
): Promise<void> {
  const facts = quarkTableFacts(footer.metadata);
  const batches = parquetBatches(facts.table, file, footer, context.limits, (place, reason) =>
    context.problem({ file: file.path, place, reason }),
  );
  await importQuarkTable(file, context, facts, batches);
}

async function readTable(
  file: InputFile,
  footer: ParquetFooter,
  context: ImportContext,
  main: InputFile,
): Promise<void> {
  const rows = new ParquetRows(file, footer, context.limits, (place, reason) =>
    context.problem({ file: file.path, place, reason }),
  );
  const names = rows.leaves.map(({ name }) => name);
  if (isNeptune(names)) return readNeptune(rows, file, context);
  const lower = names.map((name) => name.toLowerCase());
  const runColumn = RUN_NAMES.map((name) => lower.indexOf(name)).find((found) => found >= 0) ?? -1;
  const isTrackio = lower[runColumn] === 'run_name' && lower.includes('timestamp');
  const base = main === file ? '' : file.path.replace(/\.[^.]*$/, '');
  if (base.endsWith('_configs')) return readConfigs(rows, runColumn, main, context);
  const columns = columnsFor(rows, runColumn, isTrackio, context);
  const table = (run: ImportedRun): TableImport => {
    const made = new TableImport({
      file,
      context,
      run,
      config: {},
      unit: 'row',
      ...(base.endsWith('_system') ? { prefix: 'system/' } : {}),
    });
    made.use(columns);
    return made;
  };
  const tables = new Map<string, TableImport>();
  for await (const _ of rows.spans()) {
    while (rows.next()) {
      const run = runColumn < 0 ? '' : rows.text(runColumn);
      let target = tables.get(run);
      if (target === undefined) {
        if (tables.size >= context.limits.maxRuns)
          throw new Error(`It has more than ${context.limits.maxRuns} runs (limits.maxRuns).`);
        tables.set(run, (target = table(describe(main, run, isTrackio))));
      }
      const sink = target.sinkFor(rows) ?? (await target.begin());
      target.add(rows, sink);
      if (sink.isFull) await sink.flush();
    }
  }
  for (const made of tables.values()) made.finish();
  reportLists(footer, file, context);
  if (tables.size === 0)
    context.problem({ file: file.path, place: null, reason: 'There are no rows in it.' });
}

/** Names decide, and types: an instant that has no name for it is the time of its row, and no metric. */
function columnsFor(
  rows: ParquetRows,
  runColumn: number,
  isTrackio: boolean,
  context: ImportContext,
): ReturnType<typeof columnsOf> {
  const { leaves } = rows;
  const names = leaves.map(({ name }) => name);
  const asked = context.options.columns;
  const instants = leaves
    .filter(({ logical }) => logical === 'timestamp' || logical === 'date')
    .map(({ name }) => name);
  const ignore = [
    ...(asked?.ignore ?? []),
    ...(runColumn < 0 ? [] : [names[runColumn] ?? '']),
    ...(isTrackio ? TRACKIO_COLUMNS : []),
    ...leaves.filter((leaf) => leaf.logical === 'json').map(({ name }) => name),
  ];
  const found = columnsOf(names, { ...asked, ignore });
  const [instant] = instants;
  const time = found.time >= 0 || instant === undefined ? {} : { time: instant };
  const isTaken = (name: string): boolean => name !== names[found.time] && name !== instant;
  return columnsOf(names, { ...asked, ...time, ignore: [...ignore, ...instants.filter(isTaken)] });
}

function describe(file: InputFile, run: string, isTrackio: boolean): ImportedRun {
  const stem = runNameOf(file.path);
  if (run === '') return { identity: file.path, name: stem };
  return {
    identity: `${file.path}\n${run}`,
    name: run,
    ...(isTrackio ? { project: stem, tags: ['trackio'] } : {}),
  };
}

/** A row of settings for each run. */
async function readConfigs(
  rows: ParquetRows,
  runColumn: number,
  main: InputFile,
  context: ImportContext,
): Promise<void> {
  for await (const _ of rows.spans()) {
    while (rows.next()) {
      const run = runColumn < 0 ? '' : rows.text(runColumn);
      const sink = await context.run(describe(main, run, true));
      const values = rows.leaves.flatMap((leaf, i): (readonly [string, unknown])[] => {
        if (i === runColumn || rows.kinds[i] === 0 || TRACKIO_COLUMNS.includes(leaf.name))
          return [];
        const isTruth = leaf.type === 'BOOLEAN';
        if (isTruth) return [[leaf.name, rows.text(i) === 'true']];
        return [[leaf.name, hasNumbers(leaf) ? rows.numbers[i] : rows.text(i)]];
      });
      sink.config(Object.fromEntries(values));
    }
  }
}

function reportLists(footer: ParquetFooter, file: InputFile, context: ImportContext): void {
  const lists = new Set(
    footer.leaves.filter((leaf) => leaf.maxRepetition > 0).map(({ top }) => top),
  );
  for (const name of lists)
    context.problem({
      file: file.path,
      place: `column "${name.slice(0, 100)}"`,
      reason: 'Its cells are lists, which are no metric: left out.',
    });
}
