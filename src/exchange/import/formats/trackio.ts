/**
 * Trackio's databases: a table of metrics, one row a call of `log`, with configurations, system metrics and alerts beside it. The SQLite
 * file is read by hand, so that a page can do it too; what lies in a write-ahead log beside it (`-wal`) is part of it.
 */
import { messageOf } from '../../../base/errors.ts';
import { fileName, type InputFile } from '../../../codecs/input.ts';
import type { ImportContext, Importer, RunSink } from '../sink/importer.ts';
import { parseLenientJson } from '../../../codecs/json/lenient-json.ts';
import { isSqlite, SqliteFile, type SqliteRow } from '../../../codecs/sqlite/sqlite-file.ts';
import { leavesOf } from '../messages/wandb-items.ts';
import { wandbHistogramOf, wandbNumberOf } from '../messages/wandb-parts.ts';

const WAL_MAGIC = 0x377f;
const MAX_TEXT_CHARS = 10_000;
const HAS_ZONE = /(?:Z|[+-]\d\d:?\d\d)$/;

/** Trackio. */
export const trackio: Importer = {
  format: 'trackio',
  title: 'Trackio databases (SQLite)',
  detect({ file, bytes, text, hasFile }) {
    const isWal =
      file.path.endsWith('-wal') && (bytes[0] ?? 0) * 256 + (bytes[1] ?? 0) === WAL_MAGIC;
    if (isWal) return hasFile(file.path.slice(0, -'-wal'.length)) ? 0.9 : 0;
    if (!isSqlite(bytes)) return 0;
    if (/CREATE TABLE\s+"?metrics"?/.test(text) && text.includes('run_name')) return 1;
    // The tables of a new database may only be in its log.
    return hasFile(`${file.path}-wal`) ? 0.5 : 0;
  },
  group(files) {
    const logs = new Map(files.filter(isLog).map((file) => [file.path, file]));
    return files.flatMap((file) => {
      if (isLog(file)) return [];
      const log = logs.get(`${file.path}-wal`);
      return [log === undefined ? [file] : [file, log]];
    });
  },
  async read([file, log], context) {
    if (file === undefined) return;
    const problem = (location: string, reason: string): void =>
      context.problem({ file: file.path, place: location, reason });
    const database = await SqliteFile.open(file, log, context.limits, problem);
    await new TrackioReader(file, database, context, problem).read();
  },
};

class TrackioReader {
  readonly #file: InputFile;
  readonly #database: SqliteFile;
  readonly #context: ImportContext;
  readonly #problem: (location: string, reason: string) => void;
  readonly #project: string;

  constructor(
    file: InputFile,
    database: SqliteFile,
    context: ImportContext,
    problem: (location: string, reason: string) => void,
  ) {
    this.#file = file;
    this.#database = database;
    this.#context = context;
    this.#problem = problem;
    this.#project = fileName(file.path).replace(/\.db$/, '');
  }

  async read(): Promise<void> {
    const metrics = (await this.#database.columns()).get('metrics');
    if (metrics === undefined || !metrics.includes('metrics') || !metrics.includes('run_name')) {
      this.#context.problem({
        file: this.#file.path,
        place: null,
        reason: 'The database has no table "metrics" as Trackio makes it.',
      });
      return;
    }
    await this.#each('metrics', 'metrics', (row, values, sink) => this.#log(row, values, sink, ''));
    await this.#each('system_metrics', 'metrics', (row, values, sink) =>
      this.#log(row, values, sink, 'system/'),
    );
    await this.#each('configs', 'config', (_, values, sink) => sink.config(values));
    for await (const row of this.#database.rows('alerts')) {
      const level = textOf(row, 'level');
      const sink = await this.#run(row);
      sink.event({
        eventType: 'trackio_alert',
        severity: level === 'error' ? 'error' : level === 'info' ? 'info' : 'warning',
        step: numberIn(row, 'step'),
        timeMs: timeOf(row),
        payload: {
          title: textOf(row, 'title').slice(0, MAX_TEXT_CHARS),
          text: textOf(row, 'text').slice(0, MAX_TEXT_CHARS),
        },
      });
    }
  }

  /** Calls back with the rows of a table whose `column` is a JSON object. */
  async #each(
    table: string,
    column: string,
    take: (
      row: SqliteRow,
      values: Readonly<Record<string, unknown>>,
      sink: RunSink,
    ) => void | Promise<void>,
  ): Promise<void> {
    let count = 0;
    for await (const row of this.#database.rows(table)) {
      count++;
      try {
        const values = parseLenientJson(textOf(row, column), this.#context.limits.maxDepth);
        if (typeof values !== 'object' || values === null || Array.isArray(values))
          throw new Error('It is no object.');
        const sink = await this.#run(row);
        await take(row, values as Readonly<Record<string, unknown>>, sink);
        if (sink.isFull) await sink.flush();
      } catch (error) {
        if (!isBadInput(error)) throw error;
        this.#problem(`row ${count} of ${table}`, messageOf(error));
      }
    }
  }

  #run(row: SqliteRow): Promise<RunSink> {
    const name = textOf(row, 'run_name');
    const id = textOf(row, 'run_id');
    const project = textOf(row, 'project_name');
    return this.#context.run({
      identity: `${project}\n${id === '' ? name : id}`,
      name: name === '' ? id : name,
      project: project === '' ? this.#project : project,
      startedAtMs: timeOf(row),
      tags: ['trackio'],
    });
  }

  async #log(
    row: SqliteRow,
    values: Readonly<Record<string, unknown>>,
    sink: RunSink,
    prefix: string,
  ): Promise<void> {
    const step = numberIn(row, 'step');
    const timeMs = timeOf(row);
    const epoch = Math.floor(wandbNumberOf(values['epoch']) ?? Number.NaN);
    for (const [name, value] of leavesOf(values, '')) {
      const number = wandbNumberOf(value);
      if (number !== undefined) {
        sink.push(sink.metric(`${prefix}${name}`), number, step, epoch, timeMs);
        continue;
      }
      const type: unknown =
        typeof value === 'object' && value !== null ? Reflect.get(value, '_type') : '';
      const bins =
        typeof type === 'string' &&
        type.endsWith('histogram') &&
        typeof value === 'object' &&
        value !== null
          ? wandbHistogramOf(value, this.#context.limits)
          : null;
      if (bins !== null) await sink.artifact('histogram', name, bins, { step, epoch, timeMs });
      else if (typeof value === 'string')
        sink.event({
          eventType: 'trackio_text',
          step,
          epoch,
          timeMs,
          payload: { name: name.slice(0, 1000), text: value.slice(0, MAX_TEXT_CHARS) },
        });
    }
  }
}

function isLog(file: InputFile): boolean {
  return file.path.endsWith('-wal');
}

function textOf(row: SqliteRow, column: string): string {
  const value = row.get(column);
  return typeof value === 'string' ? value : '';
}

function numberIn(row: SqliteRow, column: string): number {
  const value = row.get(column);
  return typeof value === 'number' ? value : Number.NaN;
}

/** ISO times; early versions left the zone out. */
function timeOf(row: SqliteRow): number {
  const text = textOf(row, 'timestamp') || textOf(row, 'created_at');
  return Date.parse(HAS_ZONE.test(text) ? text : `${text}Z`);
}

function isBadInput(error: unknown): boolean {
  return (
    error instanceof Error &&
    (error.message === 'It is no object.' || ('code' in error && error.code === 'invalid_input'))
  );
}
