/** What an importer is, and what it tells of a run. A format is one importer in a file of its own. */
import type { JsonObject } from '../../../base/json.ts';
import type { EventSeverity } from '../../../records/literals.ts';
import type { RunStatus } from '../../../records/literals.ts';
import type { TableDefinition } from '../../../schema/table.ts';
import type { RowBatch } from '../../../codecs/arrow/vectors.ts';
import type { Store } from '../../../store/store.ts';
import type { InputFile } from '../../../codecs/input.ts';
import type { ImportLimits } from '../../../codecs/limits.ts';

/** The beginning of a file, by which its format is told. */
export type InputHead = {
  readonly file: InputFile;
  /** Up to 64 KiB. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The same as text; bytes that are not UTF-8 become U+FFFD. */
  readonly text: string;
  /** Whether the import has a file of this path: some files are only known by their neighbours. */
  readonly hasFile: (path: string) => boolean;
  /** The names of the files of the import in a folder ("" for those in none); empty for a folder it has not. */
  readonly namesIn: (folder: string) => readonly string[];
  /** Options of this import for this format, as the user gave them. */
  readonly options: ImportFormatOptions;
};

/** What cannot be read, and why. The rest is imported. */
export type ImportProblem = {
  /** Path of the file. */
  readonly file: string;
  /** Where in it: `line 17`, `byte 4096`, `record 3`; null for the file as a whole. */
  readonly place: string | null;
  /** For people. */
  readonly reason: string;
};

/** Lines of a text log with a number beside the name of a loss that were not read. */
export type UnreadLosses = {
  /** Path of the file. */
  readonly file: string;
  readonly lineCount: number;
  /** The first of them, up to 300 characters. */
  readonly firstLine: string;
  /** Its number, from 1. */
  readonly firstLineNumber: number;
  /** Values of losses that were read from the file. */
  readonly readCount: number;
  /** Patterns that read these lines, for `pattern` of the options and `--pattern`; empty where none could be made. */
  readonly patterns: readonly string[];
};

/** A file of no known format. */
export type UnknownFile = {
  /** Path of the file. */
  readonly file: string;
  /** Its size, and what is in it: `12 bytes, a PNG picture`. */
  readonly seen: string;
  /** What can be done. */
  readonly advice: string;
};

/** How an importer describes a run before its first row. */
export type ImportedRun = {
  /** What tells this run from the others of the same files: its id in the other tool, a path. */
  readonly identity: string;
  /** The name people know it by. */
  readonly name: string;
  /** Project it belonged to; null where the format has none. */
  readonly project?: string | null | undefined;
  /** When it was started, in UTC epoch milliseconds; default: its first row's time, else that of the file. */
  readonly startedAtMs?: number | null | undefined;
  readonly tags?: readonly string[] | undefined;
};

/** Where a row belongs. NaN for what is not known; a row with neither step nor epoch gets the next step of its key. */
export type RowPosition = {
  readonly step: number;
  readonly epoch: number;
  /** UTC epoch milliseconds. */
  readonly timeMs: number;
};

/** An event of an imported run. */
export type ImportedEvent = {
  readonly eventType: string;
  readonly severity?: EventSeverity | undefined;
  readonly step?: number | null | undefined;
  readonly epoch?: number | null | undefined;
  readonly timeMs?: number | undefined;
  readonly payload?: JsonObject | undefined;
};

/** Takes the rows of one run. Calls are cheap; `flush` and `end` write. */
export interface RunSink {
  /**
   * The number of a metric for `push`, by its name in the other tool. The name is mapped to the conventional key; the original is kept.
   * Returns -1 for a name that cannot be recorded, which is reported once.
   */
  metric(name: string): number;
  /** Adds one sample. A step or epoch that is no non-negative integer is left out. */
  push(metric: number, value: number, step: number, epoch: number, timeMs: number): void;
  /** Adds an event. */
  event(event: ImportedEvent): void;
  /** Merges values into the configuration of the run. What is no JSON becomes text. */
  config(values: Readonly<Record<string, unknown>>): void;
  /** Merges facts about machine and software. */
  environment(values: Readonly<Record<string, unknown>>): void;
  /** Adds labels. */
  tags(tags: readonly string[]): void;
  /** Keeps bytes, text or JSON as an artifact. */
  artifact(
    type: string,
    name: string,
    payload: Uint8Array<ArrayBuffer> | string | JsonObject,
    position?: Partial<RowPosition>,
  ): Promise<void>;
  /** Says how the run ended; the default is `completed`. */
  status(status: Exclude<RunStatus, 'running'>): void;
  /** Rows that wait to be written. */
  readonly pendingRows: number;
  /** Back pressure: over 65,536 rows, or segments as large, wait. Call {@link flush} before the next `push` then. */
  readonly isFull: boolean;
  /** Writes what waits. */
  flush(): Promise<void>;
}

/**
 * Takes rows of any table as columns, for formats that hold records of ours.
 *
 * @internal
 */
export interface TableSink extends RunSink {
  /** Adds rows. Values are checked already; `run_id` and `sequence` are left out. */
  rows(table: TableDefinition, batch: RowBatch): void;
}

/**
 * A run that was put into the store as it was in another.
 *
 * @internal
 */
export type RestoredRun = {
  readonly runId: string;
  readonly name: string;
  readonly project: string;
  /** Metric samples that are new. */
  readonly rowCount: number;
  readonly metricKeys: readonly string[];
  /** Whether anything was written. */
  readonly isNew: boolean;
  readonly isComplete: boolean;
};

/** What an importer works with. */
export interface ImportContext {
  readonly limits: ImportLimits;
  readonly signal: AbortSignal | undefined;
  /** Options of this import for this format, as the user gave them. */
  readonly options: ImportFormatOptions;
  /** Begins a run, or goes on with one of the same identity that was begun in this import. */
  run(run: ImportedRun): Promise<RunSink>;
  /**
   * The same for formats that hold records of ours; undefined when the run is in the store already.
   *
   * @internal
   */
  tables(run: ImportedRun): Promise<TableSink | undefined>;
  /**
   * Where the runs go, for formats that hold them as a store does.
   *
   * @internal
   */
  readonly target: {
    readonly store: Store;
    readonly project: string | undefined;
    readonly tags: readonly string[];
  };
  /**
   * Tells of a run that was put there.
   *
   * @internal
   */
  restored(run: RestoredRun): void;
  /** Reports what cannot be read. */
  problem(problem: ImportProblem): void;
  /**
   * Tells of losses of a text log that were not read.
   *
   * @internal
   */
  unread(lines: UnreadLosses): void;
  /** All files of the import, for formats that are several. */
  readonly files: readonly InputFile[];
}

/** Options that some formats have. */
export type ImportFormatOptions = {
  /** CSV and TSV: which column is what; default: found by name. */
  readonly columns?: {
    readonly step?: string | undefined;
    readonly epoch?: string | undefined;
    readonly time?: string | undefined;
    /** Columns to leave out. */
    readonly ignore?: readonly string[] | undefined;
  };
  /** Text logs: patterns beside the known ones. See `TextLogPattern`. */
  readonly patterns?: readonly TextLogPattern[];
  /**
   * Text logs: patterns as text, such as `loss is (?<loss>\\S+)`, asked before all others. Groups mean what they mean in
   * `TextLogPattern`. They are matched in time linear in the line, of which the first 2,000 characters count; there is no lookahead,
   * lookbehind or back reference. `(?i)` in front ignores case.
   */
  readonly pattern?: string | readonly string[] | undefined;
};

/**
 * How lines of a text log are understood. Named groups of the expression are metrics by their names, but for `step`, `epoch`, `time` (an
 * instant), `phase` (the namespace: `train`, `val`) and `epoch_steps` (steps of an epoch, where `step` begins again with every epoch: the
 * steps then go on over the whole run). Groups `key` and `value` (with the flag `g`) take any pair. Where a line says neither step nor
 * epoch, those of the line before count.
 */
export type TextLogPattern = {
  /** Name of the pattern, for reports. */
  readonly name: string;
  readonly pattern: RegExp;
  /** Applied to what follows the match of `pattern`, again and again: its groups `key` and `value` are one metric each time. */
  readonly pairs?: RegExp | undefined;
  /** Put before the names of metrics, with a "/". */
  readonly namespace?: string | undefined;
};

/** Reads one format. */
export interface Importer {
  /** Short and stable: `csv`, `tensorboard`. */
  readonly format: string;
  /** For people. */
  readonly title: string;
  /** How sure it is that the file is of this format, by its content first and its name second: 0 (no) to 1 (nothing else has it). */
  detect(head: InputHead): number;
  /** Files that belong together, such as the event files of one run; default: each by itself. */
  group?(files: readonly InputFile[]): readonly (readonly InputFile[])[];
  /** Reads a group of files. What cannot be read is a problem, not an error: it throws only when nothing of the group can be read. */
  read(files: readonly InputFile[], context: ImportContext): Promise<void>;
}
