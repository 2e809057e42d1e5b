/** How far an import is. */
import type { InputFile } from '../../codecs/input.ts';

/** How far an import is. */
export type ImportProgress = {
  readonly bytesRead: number;
  readonly bytesTotal: number;
  readonly runCount: number;
  readonly rowCount: number;
  /** Path of the file that is read. */
  readonly file: string;
};

/** Counts what an import has done, and tells. */
export class ImportProgressMeter {
  readonly #listener: ((progress: ImportProgress) => void) | undefined;
  readonly #bytesTotal: number;
  #bytesDone = 0;
  #bytesOfGroup = 0;
  #runCount = 0;
  #rowCount = 0;
  #file = '';

  constructor(
    files: readonly InputFile[],
    listener: ((progress: ImportProgress) => void) | undefined,
  ) {
    this.#listener = listener;
    this.#bytesTotal = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  }

  at(file: string): void {
    this.#file = file;
    this.#tell();
  }

  read(file: string, bytes: number): void {
    this.#file = file;
    this.#bytesOfGroup += bytes;
    this.#tell();
  }

  rows(count: number): void {
    this.#rowCount += count;
  }

  /** All of a group was read; its runs may not be complete yet. */
  wasRead(group: readonly InputFile[]): void {
    this.#bytesDone += group.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    this.#bytesOfGroup = 0;
  }

  finished(runCount: number): void {
    this.#runCount = runCount;
    this.#tell();
  }

  #tell(): void {
    this.#listener?.({
      bytesRead: Math.min(this.#bytesTotal, this.#bytesDone + this.#bytesOfGroup),
      bytesTotal: this.#bytesTotal,
      runCount: this.#runCount,
      rowCount: this.#rowCount,
      file: this.#file,
    });
  }
}
