/**
 * Runs of an import whose files were read, on their way to be complete: their last segments are merged by other threads while the files
 * after them are read. Reports and notes are in the order of the files, however long each takes.
 */
import { loadPlatform } from '../../session/platforms/platform.ts';
import type { InputFile } from '../../codecs/input.ts';
import type { ImportNotes } from './import-notes.ts';
import type { ImportedRunReport } from './import-runs.ts';
import type { ImportProgressMeter } from './progress.ts';

/** Groups that are completed at a time, each with a window of rows in memory. */
const MOST = 4;

/** What is to be completed. */
export interface Completable {
  readonly runIds: readonly string[];
  /** @param isRead false when a file could not be read to its end */
  finish(isRead: boolean): Promise<readonly ImportedRunReport[]>;
}

/** A group of files that was read. */
type ReadGroup = {
  readonly group: readonly InputFile[];
  readonly notes: ImportNotes;
  readonly isRead: boolean;
};

type Outcome = { readonly runs: readonly ImportedRunReport[] } | { readonly error: unknown };

type Completion = ReadGroup & { readonly outcome: Promise<Outcome> };

/** The completions of one import. */
export class Completions {
  /** Runs of all groups that were read. */
  runCount = 0;
  readonly #notes: ImportNotes;
  readonly #progress: ImportProgressMeter;
  readonly #waiting: Completion[] = [];
  readonly #byRun = new Map<string, Promise<unknown>>();
  readonly #runs: ImportedRunReport[] = [];

  constructor(notes: ImportNotes, progress: ImportProgressMeter) {
    this.#notes = notes;
    this.#progress = progress;
  }

  /** Begins to complete a group; waits for those before it where they are too many, and where no other thread merges. */
  async begin(session: Completable, read: ReadGroup): Promise<void> {
    const { runIds } = session;
    this.runCount += runIds.length;
    const outcome = session.finish(read.isRead).then(
      (runs) => ({ runs }),
      (error: unknown) => ({ error }),
    );
    for (const runId of runIds) this.#byRun.set(runId, outcome);
    this.#waiting.push({ ...read, outcome });
    const { mergeWindow } = await loadPlatform();
    while (this.#waiting.length > (mergeWindow === undefined ? 0 : MOST)) await this.#next();
  }

  /** Waits until a run of this import is complete; at once where there is none of this id. */
  async of(runId: string): Promise<void> {
    await this.#byRun.get(runId);
  }

  /** Waits for all of them, however they end. */
  async settle(): Promise<void> {
    await Promise.all(this.#waiting.map(({ outcome }) => outcome));
  }

  /** The reports of all groups. @throws what the first group that failed did */
  async end(): Promise<readonly ImportedRunReport[]> {
    while (this.#waiting.length > 0) await this.#next();
    return this.#runs;
  }

  async #next(): Promise<void> {
    const next = this.#waiting.shift();
    if (next === undefined) return;
    const { group, notes, outcome } = next;
    const ended = await outcome;
    if ('error' in ended) throw ended.error;
    if (ended.runs.length === 0 && notes.problemCount === 0) notes.nothingIn(group[0]);
    this.#runs.push(...ended.runs);
    this.#notes.add(notes);
    this.#progress.finished(this.#runs.length);
  }
}
