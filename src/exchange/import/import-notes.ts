/** What an import tells of besides its runs: problems, losses that were not read, files of no known format. */
import type { InputFile } from '../../codecs/input.ts';
import type { ImportProblem, InputHead, UnknownFile, UnreadLosses } from './sink/importer.ts';
import { problemAt, problemOfFile } from './sink/problems.ts';
import { unreadText } from './text/unread-losses.ts';
import { describeUnknown } from './unrecognised.ts';

/** The notes of an import, as its report has them. */
export type ImportNoteLists = {
  /** What could not be read; the rest was imported. */
  readonly problems: readonly ImportProblem[];
  /** Problems beyond the limit of those that are listed. */
  readonly unlistedProblemCount: number;
  /** Text logs with losses that were not read, and the patterns that would read them. Each is among the problems, too. */
  readonly unread: readonly UnreadLosses[];
  /** Files of no known format. */
  readonly unknownFiles: readonly string[];
  /** The first of them, as many as problems are listed: what was seen in each, and what to do. */
  readonly unknown: readonly UnknownFile[];
};

/** Collects the notes of one import. */
export class ImportNotes {
  problemCount = 0;
  readonly #most: number;
  readonly #problems: ImportProblem[] = [];
  readonly #unread: UnreadLosses[] = [];
  readonly #unknownFiles: string[] = [];
  readonly #unknown: UnknownFile[] = [];

  /** @param most of each list but that of the names of unknown files */
  constructor(most: number) {
    this.#most = most;
  }

  problem(found: ImportProblem): void {
    this.problemCount++;
    if (this.#problems.length < this.#most) this.#problems.push(found);
  }

  nothingIn(file: InputFile | undefined): void {
    this.problem(problemOfFile(file?.path ?? '', 'There is nothing to import in it.'));
  }

  unread(lines: UnreadLosses): void {
    if (this.#unread.length < this.#most) this.#unread.push(lines);
    this.problem(problemAt(lines.file, `line ${lines.firstLineNumber}`, unreadText(lines)));
  }

  unknown(head: InputHead): void {
    this.#unknownFiles.push(head.file.path);
    if (this.#unknown.length < this.#most) this.#unknown.push(describeUnknown(head));
  }

  /** Adds the notes of a part of the import, as if they came now. */
  add(part: ImportNotes): void {
    for (const found of part.#problems) this.problem(found);
    this.problemCount += part.problemCount - part.#problems.length;
    for (const lines of part.#unread)
      if (this.#unread.length < this.#most) this.#unread.push(lines);
  }

  report(): ImportNoteLists {
    return {
      problems: this.#problems,
      unlistedProblemCount: this.problemCount - this.#problems.length,
      unread: this.#unread,
      unknownFiles: this.#unknownFiles,
      unknown: this.#unknown,
    };
  }
}
