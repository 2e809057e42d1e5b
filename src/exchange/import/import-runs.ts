/** From files to runs in a store. */
import { inSpan } from '../../base/profiling.ts';
import { ProfileStep } from '../../base/profile-steps.ts';
import { checkNotAborted, checkOptionNames } from '../../base/assert.ts';
import { invalidInput, isQuarkError, messageOf, QuarkError } from '../../base/errors.ts';
import { checkLabel, toLabel } from '../../base/names.ts';
import { checkStore } from '../../store/whole-store.ts';
import { checkRoles, ROLE_NAMES, rolesAsStored, type AskedRoles } from '../../records/run-roles.ts';
import type { Store } from '../../store/store.ts';
import { IMPORTERS } from './importers.ts';
import type {
  ImportContext,
  ImportedRun,
  Importer,
  ImportFormatOptions,
  InputHead,
  RestoredRun,
  RunSink,
} from './sink/importer.ts';
import {
  fileName,
  folderOf,
  groupByFolder,
  watchInput,
  type InputFile,
  type InputWatch,
} from '../../codecs/input.ts';
import { CONVENTIONAL_KEYS, type KeyRule } from './sink/key-table.ts';
import { DEFAULT_IMPORT_LIMITS, type ImportLimits } from '../../codecs/limits.ts';
import { unpackInputs } from '../../codecs/archives/unpack-inputs.ts';
import { fingerprint } from './fingerprint.ts';
import { pointedBytes, reasonEmpty } from './nothing-inside.ts';
import { problemOfFile } from './sink/problems.ts';
import { finishRun, openRunFor } from './sink/imported-run.ts';
import { ImportProgressMeter, type ImportProgress } from './progress.ts';
import { checkImporters, confidenceOf, isWrongImporter } from './check-importers.ts';
import { Completions, type Completable } from './completions.ts';
import { ImportNotes, type ImportNoteLists } from './import-notes.ts';
import { idOf, readingOf } from './run-ids.ts';
import { KnownRun } from './sink/known-run.ts';
import { RunWriter, type WrittenRun } from './sink/run-writer.ts';
import { linearPatterns } from './text/user-patterns.ts';

/** Options of {@link importRuns}. */
export type ImportOptions = ImportFormatOptions & {
  /** Project of the runs; default: that of the format, else `imported`. */
  readonly project?: string | undefined;
  /** Format of all files; default: found by content. */
  readonly format?: string | undefined;
  /** Importers beside the known ones; they are asked first. */
  readonly importers?: readonly Importer[] | undefined;
  /** Rules for metric names, asked before the known ones. */
  readonly keyRules?: readonly KeyRule[] | undefined;
  /** Labels of every run. */
  readonly tags?: readonly string[] | undefined;
  /**
   * Metrics that play a role, by their keys as they are stored; each run remembers those it has, and what one does not have is a problem of
   * the report. Default: found by the names of all metrics.
   */
  readonly roles?: AskedRoles | undefined;
  /** Bounds of what is taken from files. */
  readonly limits?: Partial<ImportLimits> | undefined;
  /** Called now and then. */
  readonly onProgress?: ((progress: ImportProgress) => void) | undefined;
  /** Ends the import: it rejects with code `aborted`. Runs that were complete stay. */
  readonly signal?: AbortSignal | undefined;
};

/** A run of an import. */
export type ImportedRunReport = {
  readonly runId: string;
  readonly name: string;
  readonly project: string;
  readonly format: string;
  /** Paths of the files it came from. */
  readonly files: readonly string[];
  /** Metric samples. */
  readonly rowCount: number;
  /** Metric keys, with the names they had. */
  readonly metrics: Readonly<Record<string, string>>;
  /** False for a run that was in the store before, from the same files: nothing was written. */
  readonly isNew: boolean;
  /** False for a run whose files could not be read to their end: importing them again goes on with it. */
  readonly isComplete: boolean;
};

/** What an import did. */
export type ImportReport = ImportNoteLists & {
  readonly runs: readonly ImportedRunReport[];
};

const HEAD_BYTES = 65_536;
const MIN_CONFIDENCE = 0.05;
const OPTION_NAMES = [
  'project',
  'format',
  'importers',
  'keyRules',
  'tags',
  'roles',
  'limits',
  'onProgress',
  'signal',
  'columns',
  'patterns',
  'pattern',
];

/**
 * Imports runs. The format of each file is found by its content; files that are packed (gzip, ZIP, TAR) are read as what is in them, and have its run ids. Importing the same files again changes nothing: a run that is
 * in the store stays as it is. Other `columns`, `patterns` or `keyRules` read other rows, and make runs of their own.
 *
 * @throws {QuarkError} `invalid_input` naming the option; `aborted`
 * @throws {SessionStoreError} when the store failed; importing again goes on where it stopped
 * @example
 * ```js
 * import { createMemoryStore } from 'quark-sdk';
 * import { bytesInput, importRuns } from 'quark-sdk/exchange';
 *
 * const file = bytesInput('history.csv', 'epoch,loss,val_loss\n0,0.9,1.0\n1,0.5,0.7\n'); // Keras' CSVLogger
 * const { runs, problems } = await importRuns([file], createMemoryStore(), { project: 'digits' });
 * const [{ format, metrics, project, rowCount }] = runs;
 * console.log(format, project, rowCount, Object.keys(metrics)); // csv digits 4 [ 'train/loss', 'val/loss' ]
 * console.log(problems); // []
 * ```
 */
export function importRuns(
  given: readonly InputFile[],
  store: Store,
  options: ImportOptions = {},
): Promise<ImportReport> {
  return inSpan(ProfileStep.IMPORT, () => importAll(given, store, options));
}

async function importAll(
  given: readonly InputFile[],
  store: Store,
  options: ImportOptions,
): Promise<ImportReport> {
  checkStore(store);
  const settings = checkOptions(given, options);
  const notes = new ImportNotes(settings.limits.maxProblems);
  const files = await unpackInputs(given, {
    limits: settings.limits,
    signal: options.signal,
    problem: (file, reason) => notes.problem(problemOfFile(file, reason)),
  });
  const progress = new ImportProgressMeter(files, options.onProgress);
  const byImporter = await sort(files, settings, notes);
  const completions = new Completions(notes, progress);
  try {
    for (const [importer, found] of byImporter) {
      const groups = importer.group?.(found) ?? found.map((file) => [file]);
      // Whatever comes in is answered for.
      if (groups.length === 0) notes.nothingIn(found[0]);
      for (const group of groups) {
        checkNotAborted(options.signal);
        progress.at(group[0]?.path ?? '');
        const own = new ImportNotes(settings.limits.maxProblems);
        const { runCount: runsBefore } = completions;
        const parts = { importer, group, store, settings, notes: own, progress, runsBefore };
        const session = new GroupImport({ ...parts, completions });
        const isRead = await readGroup(session, parts, files);
        progress.wasRead(group);
        await completions.begin(session, { group, notes: own, isRead });
      }
    }
  } finally {
    await completions.settle();
  }
  return { runs: await completions.end(), ...notes.report() };
}

/** Reads a group of files. False when a file could not be read to its end. */
async function readGroup(
  session: GroupImport,
  { group, importer, notes, progress, settings }: GroupImportParts,
  files: readonly InputFile[],
): Promise<boolean> {
  let failure: { readonly error: unknown } | undefined;
  const watch: InputWatch = {
    signal: settings.options.signal,
    read: (file, bytes) => progress.read(file, bytes),
    failed: (error) => (failure ??= { error }),
  };
  try {
    await importer.read(
      group.map((file) => watchInput(file, watch)),
      session.context(files),
    );
  } catch (error) {
    if (isQuarkError(error, 'aborted') || isQuarkError(error, 'store_failed')) throw error;
    notes.problem(problemOfFile(group[0]?.path ?? '', messageOf(error)));
  }
  return failure === undefined;
}

type Settings = {
  readonly options: ImportOptions;
  readonly limits: ImportLimits;
  readonly importers: readonly Importer[];
  readonly keyRules: readonly KeyRule[];
};

type OpenRun = {
  readonly described: ImportedRun;
  readonly runId: string;
  readonly sink: RunSink;
  readonly writer: RunWriter | undefined;
  readonly project: string;
};

/** What the import of a group of files works with. */
type GroupImportParts = {
  readonly importer: Importer;
  readonly group: readonly InputFile[];
  readonly store: Store;
  readonly settings: Settings;
  readonly notes: ImportNotes;
  readonly progress: ImportProgressMeter;
  readonly runsBefore: number;
};

/** The runs of one group of files. */
class GroupImport implements Completable {
  readonly #parts: GroupImportParts & { readonly completions: Completions };
  readonly #runs = new Map<string, OpenRun>();
  readonly #restored: RestoredRun[] = [];
  #fingerprint: string | undefined;

  constructor(parts: GroupImportParts & { readonly completions: Completions }) {
    this.#parts = parts;
  }

  get runIds(): readonly string[] {
    return [
      ...this.#restored.map(({ runId }) => runId),
      ...[...this.#runs.values()].map(({ runId }) => runId),
    ];
  }

  context(files: readonly InputFile[]): ImportContext {
    const { options, limits } = this.#parts.settings;
    return {
      limits,
      signal: options.signal,
      options: {
        ...(options.columns === undefined ? {} : { columns: options.columns }),
        ...(options.patterns === undefined ? {} : { patterns: options.patterns }),
        ...(options.pattern === undefined ? {} : { pattern: options.pattern }),
      },
      run: async (run) => (await this.#open(run)).sink,
      target: { store: this.#parts.store, project: options.project, tags: options.tags ?? [] },
      restored: (run) => {
        if (this.#parts.runsBefore + this.#restored.length >= limits.maxRuns)
          throw tooManyRuns(limits.maxRuns);
        this.#restored.push(run);
      },
      tables: async (run) => (await this.#open(run)).writer,
      problem: (found) => this.#parts.notes.problem(found),
      unread: (lines) => this.#parts.notes.unread(lines),
      files,
    };
  }

  async #open(described: ImportedRun): Promise<OpenRun> {
    const open = this.#runs.get(described.identity);
    if (open !== undefined) return open;
    const { limits, options, keyRules } = this.#parts.settings;
    if (this.#parts.runsBefore + this.#runs.size >= limits.maxRuns)
      throw tooManyRuns(limits.maxRuns);
    this.#fingerprint ??= await fingerprint(this.#parts.group);
    const { format } = this.#parts.importer;
    // Another mapping of columns or names makes other rows, which are another run.
    const reading = readingOf(options);
    const runId = idOf(`${format}\n${described.identity}\n${this.#fingerprint}${reading}`);
    const project = options.project ?? toLabel(described.project ?? '') ?? 'imported';
    const startedAtMs =
      timeOf(described.startedAtMs) ?? timeOf(this.#parts.group[0]?.modifiedAtMs) ?? Date.now();
    // The same files again, a moment ago: known once their run is complete.
    await this.#parts.completions.of(runId);
    const found = await openRunFor(this.#parts.store, {
      runId,
      project,
      startedAtMs,
      described,
      format,
      files: this.#parts.group,
      tags: options.tags ?? [],
    });
    const writer = found.isComplete
      ? undefined
      : new RunWriter({
          store: this.#parts.store,
          runId,
          format,
          startedAtMs: found.startedAtMs,
          limits,
          keyRules,
          problem: (reason) =>
            this.#parts.notes.problem(problemOfFile(this.#parts.group[0]?.path ?? '', reason)),
        });
    const opened: OpenRun = { described, runId, project, writer, sink: writer ?? new KnownRun() };
    this.#runs.set(described.identity, opened);
    return opened;
  }

  /**
   * Completes the runs, also when what was read ended in something that is not of the format.
   *
   * @param isRead false when a file could not be read to its end. That may be different next time: the runs stay open for it.
   */
  async finish(isRead: boolean): Promise<readonly ImportedRunReport[]> {
    const reports: ImportedRunReport[] = this.#restored.map(({ metricKeys, ...run }) => ({
      ...run,
      format: this.#parts.importer.format,
      files: this.#parts.group.map(({ path }) => path),
      metrics: Object.fromEntries(metricKeys.map((key) => [key, key])),
      isComplete: run.isComplete && isRead,
    }));
    for (const { rowCount } of this.#restored) this.#parts.progress.rows(rowCount);
    for (const { described, runId, project, writer } of this.#runs.values()) {
      const written = isRead ? await writer?.finish() : undefined;
      if (written !== undefined) {
        const { roles, tags = [] } = this.#parts.settings.options;
        await finishRun(this.#parts.store, runId, this.#withRoles(written, roles), tags);
      }
      const rowCount = written?.rowCount ?? (await writer?.leave()) ?? 0;
      this.#parts.progress.rows(rowCount);
      reports.push({
        runId,
        name: described.name,
        project,
        format: this.#parts.importer.format,
        files: this.#parts.group.map(({ path }) => path),
        rowCount,
        metrics: written?.names ?? {},
        isNew: writer !== undefined,
        isComplete: isRead || writer === undefined,
      });
    }
    return reports;
  }

  /** Roles of metrics that the run has; the others are problems. */
  #withRoles(written: WrittenRun, roles: AskedRoles = {}): WrittenRun {
    const keys = Object.keys(written.names);
    const own = ROLE_NAMES.filter((role) => {
      const key = roles[role];
      if (typeof key !== 'string') return key === null;
      if (keys.includes(key)) return true;
      const some = keys.slice(0, 10).join(', ');
      this.#parts.notes.problem({
        file: this.#parts.group[0]?.path ?? '',
        place: null,
        reason: `The run has no metric ${JSON.stringify(key)} for the role ${role}; it has: ${some}.`,
      });
      return false;
    });
    const stored = rolesAsStored(Object.fromEntries(own.map((role) => [role, roles[role]])));
    return { ...written, environment: { ...written.environment, ...stored } };
  }
}

/** Which importer reads which files. */
async function sort(
  files: readonly InputFile[],
  { importers, options }: Settings,
  notes: ImportNotes,
): Promise<ReadonlyMap<Importer, InputFile[]>> {
  const byImporter = new Map<Importer, InputFile[]>();
  const paths = new Set(files.map(({ path }) => path));
  const hasFile = (path: string): boolean => paths.has(path);
  const namesIn = namesByFolder(files);
  const asked =
    options.format === undefined
      ? undefined
      : importers.find(({ format }) => format === options.format);
  for (const file of files) {
    checkNotAborted(options.signal);
    try {
      const bytes = await file.slice(0, HEAD_BYTES);
      const text = new TextDecoder().decode(bytes);
      const head: InputHead = { file, bytes, text, hasFile, namesIn, options };
      const pointer = pointedBytes(text);
      const importer = pointer === undefined ? (asked ?? best(importers, head)) : undefined;
      if (importer === undefined) {
        const reason = reasonEmpty(text, {
          sizeBytes: file.sizeBytes,
          isWhole: bytes.length >= file.sizeBytes,
          pointer,
        });
        if (reason === undefined) notes.unknown(head);
        else notes.problem(problemOfFile(file.path, reason));
        continue;
      }
      const found = byImporter.get(importer);
      if (found === undefined) byImporter.set(importer, [file]);
      else found.push(file);
    } catch (error) {
      if (isQuarkError(error, 'aborted') || isWrongImporter(error)) throw error;
      notes.problem(problemOfFile(file.path, messageOf(error)));
    }
  }
  return byImporter;
}

/** Names of files by their folder. The table is made when the first importer asks. */
function namesByFolder(files: readonly InputFile[]): InputHead['namesIn'] {
  let names: Map<string, readonly string[]> | undefined;
  return (folder) => {
    names ??= new Map(
      groupByFolder(files).map((group) => [
        folderOf(group[0]?.path ?? ''),
        group.map(({ path }) => fileName(path)),
      ]),
    );
    return names.get(folder) ?? [];
  };
}

function best(importers: readonly Importer[], head: InputHead): Importer | undefined {
  let found: Importer | undefined;
  let confidence = MIN_CONFIDENCE;
  for (const importer of importers) {
    const sure = confidenceOf(importer, head);
    if (sure > confidence) {
      found = importer;
      confidence = sure;
    }
  }
  return found;
}

function tooManyRuns(maxRuns: number): QuarkError {
  return new QuarkError(
    'invalid_input',
    `An import may have ${maxRuns} runs. Import the rest by itself.`,
  );
}

function timeOf(ms: number | null | undefined): number | undefined {
  return typeof ms === 'number' && Math.abs(ms) <= 8.64e15 ? ms : undefined;
}

function checkOptions(files: readonly InputFile[], options: ImportOptions): Settings {
  checkOptionNames('options', options, OPTION_NAMES);
  const limits = { ...DEFAULT_IMPORT_LIMITS, ...options.limits };
  checkOptionNames('limits', limits, Object.keys(DEFAULT_IMPORT_LIMITS));
  for (const [name, value] of Object.entries(limits)) {
    if (!Number.isSafeInteger(value) || value < 1)
      throw invalidInput(`limits.${name}`, value, 'a positive integer');
  }
  if (!Array.isArray(files)) throw invalidInput('files', files, 'a list of files');
  if (files.length > limits.maxFiles)
    throw invalidInput(
      'files.length',
      files.length,
      `at most ${limits.maxFiles} (limits.maxFiles)`,
    );
  if (options.project !== undefined) checkLabel('project', options.project);
  for (const [i, tag] of (options.tags ?? []).entries()) checkLabel(`tags[${i}]`, tag);
  checkRoles('roles', options.roles);
  linearPatterns(options.pattern);
  const importers = [...checkImporters(options.importers), ...IMPORTERS];
  if (options.format !== undefined && !importers.some(({ format }) => format === options.format)) {
    const known = importers.map(({ format }) => `"${format}"`).join(', ');
    throw invalidInput('format', options.format, `one of ${known}`);
  }
  return {
    options,
    limits,
    importers,
    keyRules: [...(options.keyRules ?? []), ...CONVENTIONAL_KEYS],
  };
}
