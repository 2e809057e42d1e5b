/** How importers say what cannot be read. */
import type { InputFile } from '../../../codecs/input.ts';
import type { ImportContext, ImportProblem } from './importer.ts';

/** A problem of a file as a whole. */
export function problemOfFile(file: string, reason: string): ImportProblem {
  return { file, place: null, reason };
}

/** A problem of a file at a line of it, or another location. */
export function problemAt(file: string, location: string, reason: string): ImportProblem {
  return { file, place: location, reason };
}

/** Reports what cannot be read of a file, and where: `line 17`, `cell 3`; null for the file as a whole. */
export function reportProblem(
  { problem }: Pick<ImportContext, 'problem'>,
  { path }: Pick<InputFile, 'path'>,
  location: string | null,
  reason: string,
): void {
  problem({ file: path, place: location, reason });
}
