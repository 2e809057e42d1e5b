/** Names that lead elsewhere: no border lets one in, and no writer of files is led out of its folder by one that is stored already. */
import {
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createMemoryStore, migrateStore, openStorage } from '../../src/index.ts';
import {
  exportMlflow,
  exportQuark,
  exportTableArrow,
  exportTableParquet,
  type TableName,
} from '../../src/exchange.ts';
import { parseKey } from '../../src/base/names.ts';
import { artifactTable } from '../../src/records/artifact.ts';
import { TABLES } from '../../src/records/tables.ts';
import type { TableDefinition } from '../../src/schema/table.ts';
import { CONTENT_CHECKS } from '../../src/service/limits/content-checks.ts';
import { openHttpStorage } from '../../src/wire/http-store.ts';
import { batchOfRows } from '../../src/segment/batch-ops.ts';
import { createSegment } from '../../src/segment/manifest.ts';
import type { RowBatch } from '../../src/codecs/arrow/vectors.ts';
import type { Store } from '../../src/store/store.ts';
import { handlerOf } from '../service/filled-store.ts';
import { anyHostileName, HOSTILE_NAMES } from '../support/hostile-names.ts';
import { importText } from '../support/imported.ts';
import { isWhole, runs } from '../support/property.ts';
import { bytesOf, recordRun, runWith, validBatch } from '../support/recorded-run.ts';
import { quark } from '../cli/fake-io.ts';

/** The names that are refused in each column of names; others say less of where a file is. */
const COLUMNS: readonly (readonly [table: TableName, column: string])[] = [
  ['metrics', 'metric_key'],
  ['events', 'event_type'],
  ['artifacts', 'artifact_key'],
  ['artifacts', 'artifact_name'],
  ['artifacts', 'namespace'],
  ['artifacts', 'id'],
  ['artifacts', 'artifact_type'],
  ['artifacts', 'payload_relative_path'],
  ['artifacts', 'metadata_relative_path'],
];
/** Columns of names that frameworks give, in which only control characters and the length are ruled. */
const MODULE_COLUMNS: readonly (readonly [table: TableName, column: string])[] = [
  ['layer_summaries', 'module_name'],
  ['parameter_summaries', 'module_name'],
  ['parameter_summaries', 'parameter_name'],
  ['parameter_distributions', 'module_name'],
  ['parameter_distributions', 'parameter_name'],
];

const PAYLOAD = Uint8Array.of(1, 2, 3);
const PAYLOAD_HASH = '039058c6f2c0cb492c533b0a4d14ef77cc0f78abccced5287d84a1a2011cfb81';

/** An artifact of which everything that could be part of a path is this name. */
function artifactNamed(name: string): object {
  return {
    timestamp: '2026-01-01',
    id: name,
    artifactType: name,
    namespace: null,
    artifactName: name,
    artifactKey: name,
    payloadFormat: 'bytes',
    payloadRelativePath: name,
    metadataRelativePath: name,
    sizeBytes: PAYLOAD.length,
    sha256: PAYLOAD_HASH,
  };
}

function tableOf(name: string): TableDefinition {
  const table = TABLES.get(name);
  if (table === undefined) throw new Error(name);
  return table;
}

const samples = new Map<TableName, RowBatch>();

/** A valid batch of the table, the same each time. */
function sampleOf(table: TableName): RowBatch {
  const known = samples.get(table);
  if (known !== undefined) return known;
  const [batch] = fc.sample(validBatch(tableOf(table), 4), { numRuns: 1, seed: 5 });
  if (batch === undefined) throw new Error(table);
  samples.set(table, batch);
  return batch;
}

/** A batch of the table in which every row has this name. */
function batchWith(table: TableName, column: string, name: string): RowBatch {
  const batch = sampleOf(table);
  const { rowCount } = batch;
  const columns = new Map(batch.columns);
  if (columns.get(column)?.kind === 'text')
    columns.set(column, { kind: 'text', values: Array<string>(rowCount).fill(name) });
  else columns.set(column, { kind: 'key', dictionary: [name], indices: new Int32Array(rowCount) });
  if (column === 'metric_key')
    for (const part of ['namespace', 'metric_name']) columns.delete(part);
  return { rowCount, columns };
}

/** A store as an older Quark may have left it. */
function storeWith(
  table: TableName,
  ...batches: readonly RowBatch[]
): ReturnType<typeof recordRun> {
  return recordRun([[table, batches]]);
}

async function rowCountOf(store: Store): Promise<number> {
  let rows = 0;
  for (const { id: runId } of await store.listRuns())
    for (const table of TABLES.keys())
      for (const { rowCount } of await store.listSegments({ runId, table })) rows += rowCount;
  return rows;
}

const ALL_COLUMNS = [...COLUMNS, ...MODULE_COLUMNS];
const CONTROLS = ['a\0b', 'a\nb', '\u001b[2Jx', 'x '.repeat(300)];

describe.each(ALL_COLUMNS)('%s.%s', (table, column) => {
  const at = ALL_COLUMNS.findIndex(([of, name]) => of === table && name === column);
  // Types take dots and slashes in any order, and are never paths.
  const allNames =
    column.endsWith('_type') || MODULE_COLUMNS.some(([, other]) => other === column)
      ? CONTROLS
      : HOSTILE_NAMES;
  // Each name is met in some column of the plain run.
  const names = allNames.filter((_, i) => isWhole || i % 3 === at % 3);

  test('a service refuses such names before anything is written', async () => {
    for (const name of names) {
      const store = createMemoryStore();
      const fetch = handlerOf(store, { writable: true, checks: CONTENT_CHECKS });
      const remote = await openHttpStorage('http://quark.example/', { fetch });
      await recordRun([], remote);
      const identity = { runId: 'run_one', table, writerId: 'w', batchNumber: 0 };
      const good = createSegment(
        tableOf('metrics'),
        { ...identity, table: 'metrics' },
        batchWith('metrics', 'metric_key', 'loss'),
      );
      const bad = createSegment(
        tableOf(table),
        { ...identity, batchNumber: 1 },
        batchWith(table, column, name),
      );
      await expect(remote.appendSegments([good, bad])).rejects.toMatchObject({
        code: 'invalid_input',
        details: { field: expect.stringMatching(`^(?:${column}|keys)$`), rule: expect.any(String) },
      });
      await expect(remote.replaceTable('run_one', table, [bad])).rejects.toMatchObject({
        code: 'invalid_input',
      });
      expect(await rowCountOf(store)).toBe(0);
    }
  });

  test('a .quark file, Arrow and Parquet bring none of them in; what is fine comes', async () => {
    for (const name of names) {
      const reader = await storeWith(table, batchWith(table, column, name));
      const files = {
        'run.quark': await bytesOf(exportQuark(reader)),
        [`a/${table}.arrow`]: await bytesOf(exportTableArrow(reader, table)),
        [`p/${table}.parquet`]: await bytesOf(exportTableParquet(reader, table)),
      };
      for (const [path, bytes] of Object.entries(files)) {
        const { report, runs: imported } = await importText({ [path]: bytes });
        expect(report.problems.map(({ reason }) => reason).join(' '), `${path} ${name}`).toMatch(
          /left out/i,
        );
        for (const { reader: back } of imported) expect(await rowCountOf(back.store)).toBe(0);
      }
    }
  });
});

test('names of runs, projects and labels are ruled at the service and in .quark files', async () => {
  const store = createMemoryStore();
  const fetch = handlerOf(store, { writable: true, checks: CONTENT_CHECKS });
  const remote = await openHttpStorage('http://quark.example/', { fetch });
  const bad = [
    { projectName: 'a\nb' },
    { projectName: ' ' },
    { tags: ['\u001b[2J'] },
    { tags: [''] },
  ];
  for (const change of bad) {
    const run = runWith(change);
    await expect(recordRun([], remote, run)).rejects.toMatchObject({ code: 'invalid_input' });
    const reader = await recordRun([], createMemoryStore(), run).catch(() => undefined);
    if (reader === undefined) continue;
    const { report } = await importText({ 'run.quark': await bytesOf(exportQuark(reader)) });
    expect(report.problems[0]?.reason).toMatch(/must be non-blank text/);
    expect(report.runs).toEqual([]);
  }
  expect(await store.listRuns()).toEqual([]);
});

test('any key that "log" takes passes the service and every file, and no other does', async () => {
  const isKey = (name: string): boolean => {
    try {
      parseKey('metric', name);
      return true;
    } catch {
      return false;
    }
  };
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.stringMatching(
          /^[A-Za-z0-9][A-Za-z0-9._-]{0,5}(?:\/[A-Za-z0-9][A-Za-z0-9._-]{0,5}){0,3}$/,
        ),
        anyHostileName,
        fc.string({ maxLength: 8 }),
      ),
      async (name) => {
        const batch = batchWith('metrics', 'metric_key', name);
        const reader = await storeWith('metrics', batch);
        const target = createMemoryStore();
        const fetch = handlerOf(target, { writable: true, checks: CONTENT_CHECKS });
        const remote = await openHttpStorage('http://quark.example/', { fetch });
        const sent = await recordRun([['metrics', [batch]]], remote).then(
          () => true,
          () => false,
        );
        expect(sent).toBe(isKey(name));
        for (const [path, pieces] of [
          ['run.quark', exportQuark(reader)],
          ['metrics.arrow', exportTableArrow(reader, 'metrics')],
          ['metrics.parquet', exportTableParquet(reader, 'metrics')],
        ] as const) {
          const { runs: imported } = await importText({ [path]: await bytesOf(pieces) });
          const rows = imported[0] === undefined ? 0 : await rowCountOf(imported[0].reader.store);
          expect(rows, path).toBe(isKey(name) ? batch.rowCount : 0);
        }
      },
    ),
    runs(60),
  );
});

test('migrateStore holds what it rewrites against the grammar, before the first change', async () => {
  const { store, run } = await storeWith('metrics', batchWith('metrics', 'metric_key', 'loss'));
  const older = async (name: string): Promise<void> => {
    const identity = {
      runId: run.id,
      table: 'metrics',
      writerId: `w_${name.length}`,
      batchNumber: 0,
    };
    const { bytes, manifest } = createSegment(
      tableOf('metrics'),
      identity,
      batchWith('metrics', 'metric_key', name),
    );
    await store.appendSegments([{ bytes, manifest: { ...manifest, schemaVersion: 0 } }]);
  };
  await older('fine');
  await older('../../x');
  const before = await store.listSegments({ runId: run.id, table: 'metrics' });
  const failure = await migrateStore(store).catch((error: unknown) => error);
  expect(failure).toMatchObject({
    code: 'schema_migration',
    details: { field: 'metric_key', rule: expect.any(String) },
  });
  expect(await store.listSegments({ runId: run.id, table: 'metrics' })).toEqual(before);
});

describe('paths of an MLflow export', () => {
  const pathsOf = async (
    keys: readonly string[],
    portableNames: boolean,
  ): Promise<{ readonly paths: string[]; readonly problems: string[] }> => {
    const names = [...new Set(keys)];
    const reader = await recordRun([
      ['metrics', names.map((name) => batchWith('metrics', 'metric_key', name))],
      ['artifacts', [batchOfRows(artifactTable, names.map(artifactNamed))]],
    ]);
    await reader.store.putBlob(PAYLOAD_HASH, PAYLOAD);
    const problems: string[] = [];
    const paths: string[] = [];
    const options = { portableNames, onProblem: (reason: string) => void problems.push(reason) };
    for await (const { path } of exportMlflow(reader, options)) paths.push(path);
    expect(paths[0]).toMatch(/^\d{18}\/meta\.yaml$/);
    expect(paths[1]).toContain('/run_one/');
    return { paths, problems };
  };

  test.each([false, true])(
    'lie in the folder and are no two the same (portable: %s)',
    async (portable) => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.oneof(anyHostileName, fc.constantFrom('a', 'A', 'a/b', 'aux/loss', 'x.')), {
            minLength: 1,
            maxLength: 8,
          }),
          async (keys) => {
            const { paths } = await pathsOf(keys, portable);
            const fold = (path: string): string => (portable ? path.toLowerCase() : path);
            const files = new Set(paths.map(fold));
            expect(files.size).toBe(paths.length);
            for (const path of paths)
              for (const [i, part] of path.split('/').entries()) {
                expect(part).toMatch(/^[A-Za-z0-9_.\- ]+$/);
                expect(['.', '..']).not.toContain(part);
                if (i > 0) expect(files).not.toContain(fold(path.split('/').slice(0, i).join('/')));
                if (!portable) continue;
                expect(part).not.toMatch(/[. ]$/);
                expect(part).not.toMatch(/^(?:con|nul|aux)(?:\.|$)/i);
              }
          },
        ),
        runs(60),
      );
    },
  );

  test('are the keys themselves where they can be, and a note says where not', async () => {
    const { paths, problems } = await pathsOf(['aux/loss', 'Loss', 'loss', '../../x', 'x.'], false);
    const metrics = paths.flatMap((path) => path.split('/metrics/')[1] ?? []);
    expect(metrics).toEqual(['aux/loss', 'Loss', 'loss', '___/___/x', 'x.']);
    expect(problems).toEqual([
      'Metric "../../x" is in metrics/___/___/x: its key cannot be the path of a file.',
    ]);
    const artifacts = paths.flatMap((path) => path.split('/artifacts/')[1] ?? []);
    expect(artifacts).toContain('___/___/x/.._.._x/payload.bin');
    const portable = await pathsOf(['aux/loss', 'Loss', 'loss'], true);
    expect(portable.paths.flatMap((path) => path.split('/metrics/')[1] ?? [])).toEqual([
      '_aux/loss',
      'Loss',
      'loss_',
    ]);
  });
});

describe('files of an export', () => {
  let home = '';
  /** A folder with the store, which each test copies. */
  let template = '';
  let id = '';
  beforeAll(async () => {
    template = mkdtempSync(join(tmpdir(), 'quark-hostile-store-'));
    id = await hostileStore(template);
  });
  afterAll(() => rmSync(template, { recursive: true, force: true }));
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'quark-hostile-names-'));
    cpSync(template, join(home, 'work'), { recursive: true });
    mkdirSync(join(home, 'outside'));
    writeFileSync(join(home, 'outside', 'kept'), 'kept');
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  /** Everything below a folder with its content, but for what lies in `work/out`. */
  const outside = (): Record<string, string> => {
    const found: Record<string, string> = {};
    const visit = (folder: string): void => {
      for (const name of readdirSync(folder)) {
        const path = join(folder, name);
        if (path === join(home, 'work', 'out') || path === join(home, 'work', '.quark')) continue;
        const stat = lstatSync(path);
        if (stat.isDirectory()) visit(path);
        else found[path] = stat.isSymbolicLink() ? readlinkSync(path) : readFileSync(path, 'utf8');
      }
    };
    visit(home);
    return found;
  };

  const hostileStore = async (folder: string): Promise<string> => {
    const store = await openStorage(folder);
    const names = [...HOSTILE_NAMES, 'train/loss', 'Train/loss', 'aux/loss', 'a', 'a/b'];
    const batches: [TableName, RowBatch[]][] = ALL_COLUMNS.map(([table, column]) => [
      table,
      names.map((name) => batchWith(table, column, name)),
    ]);
    const byTable = new Map<TableName, RowBatch[]>();
    for (const [table, list] of batches)
      byTable.set(table, [...(byTable.get(table) ?? []), ...list]);
    const config = Object.fromEntries(names.map((name) => [name, { [name]: 1 }]));
    byTable.get('artifacts')?.push(batchOfRows(artifactTable, names.map(artifactNamed)));
    const { run } = await recordRun([...byTable], store, runWith({ config }));
    await store.putBlob(PAYLOAD_HASH, PAYLOAD);
    await store.close();
    return run.id;
  };

  test.each(['quark', 'parquet', 'csv', 'jsonl', 'arrow', 'tensorboard', 'mlflow'])(
    '%s: a run with such names is exported, and nothing outside is made or changed',
    async (format) => {
      const before = outside();
      const cwd = join(home, 'work');
      const out = format === 'quark' ? 'out/run.quark' : 'out';
      const done = await quark(['export', id, `--format=${format}`, '--out', out], { cwd });
      expect(done.stderr).not.toMatch(/^error/m);
      expect(done.code).toBe(0);
      expect(outside()).toEqual(before);
      if (format === 'mlflow') expect(done.stderr).toMatch(/warning: Metric .* is in metrics\//);
      const shown = await quark(['metrics', id, '--csv'], { cwd });
      expect(shown.stdout).toContain('train/loss');
    },
  );

  test('a link in the destination that leads out of it is refused; one that stays inside is used', async () => {
    const cwd = join(home, 'work');
    const first = await quark(['export', id, '--format=mlflow', '--out', 'out', '--json'], { cwd });
    const [experiment = ''] = readdirSync(join(cwd, 'out'));
    expect(first.code).toBe(0);
    for (const link of [experiment, join(experiment, id), join(experiment, id, 'metrics')]) {
      const out = join(cwd, 'out');
      rmSync(out, { recursive: true });
      mkdirSync(join(out, link, '..'), { recursive: true });
      symlinkSync(join(home, 'outside'), join(out, link));
      const before = outside();
      const refused = await quark(['export', id, '--format=mlflow', '--out', 'out', '--force'], {
        cwd,
      });
      expect(refused).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/outside of what --out names/),
      });
      expect(outside()).toEqual(before);
    }
    const out = join(cwd, 'out');
    rmSync(out, { recursive: true });
    mkdirSync(join(out, 'elsewhere'), { recursive: true });
    symlinkSync(join(out, 'elsewhere'), join(out, experiment));
    expect((await quark(['export', id, '--format=mlflow', '--out', 'out'], { cwd })).code).toBe(0);
    expect(readdirSync(join(out, 'elsewhere'))).toContain(id);
  });

  test('a link in the place of a file is replaced with --force, never followed', async () => {
    const cwd = join(home, 'work');
    mkdirSync(join(cwd, 'out'));
    const victim = join(home, 'outside', 'kept');
    for (const [name, target] of [
      ['run.quark', victim],
      ['dangling.quark', join(home, 'outside', 'new')],
    ] as const) {
      symlinkSync(target, join(cwd, 'out', name));
      const before = outside();
      const refused = await quark(['export', id, '--out', join('out', name)], { cwd });
      expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/is there already/) });
      const forced = await quark(['export', id, '--out', join('out', name), '--force'], { cwd });
      expect(forced.code).toBe(0);
      expect(outside()).toEqual(before);
      expect(lstatSync(join(cwd, 'out', name)).isFile()).toBe(true);
    }
  });
});
