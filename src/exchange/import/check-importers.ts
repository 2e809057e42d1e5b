/** Importers of users: what is wrong with one is said before anything is read. */
import { invalidInput, isQuarkError } from '../../base/errors.ts';
import { IMPORTERS } from './importers.ts';
import type { Importer, InputHead } from './sink/importer.ts';

const FIELD = 'importers';
const FORMAT = /^[a-z][a-z0-9_]{0,60}$/;

/**
 * Checks the importers of an option.
 *
 * @throws {QuarkError} `invalid_input` naming the member that is wrong
 */
export function checkImporters(given: readonly Importer[] | undefined): readonly Importer[] {
  if (given === undefined) return [];
  if (!Array.isArray(given)) throw invalidInput(FIELD, given, 'a list of importers');
  const taken = new Set(IMPORTERS.map(({ format }) => format));
  for (const [i, importer] of given.entries()) {
    const name = `${FIELD}[${i}]`;
    if (typeof importer !== 'object' || importer === null)
      throw invalidInput(name, importer, 'an object with format, title, detect and read');
    const { detect, format, group, read, title } = importer;
    if (typeof format !== 'string' || !FORMAT.test(format))
      throw invalidInput(`${name}.format`, format, 'a name of a-z, 0-9 and _, such as my_log');
    if (taken.has(format))
      throw invalidInput(`${name}.format`, format, 'a name that no other importer has');
    taken.add(format);
    if (typeof title !== 'string' || title === '')
      throw invalidInput(`${name}.title`, title, 'what people call the format');
    if (typeof detect !== 'function')
      throw invalidInput(
        `${name}.detect`,
        detect,
        'a function that says how sure it is, from 0 to 1',
      );
    if (typeof read !== 'function')
      throw invalidInput(`${name}.read`, read, 'a function that reads files into a run');
    if (group !== undefined && typeof group !== 'function')
      throw invalidInput(`${name}.group`, group, 'a function that gives lists of files');
  }
  return given;
}

/**
 * How sure an importer is of a file.
 *
 * @throws {QuarkError} `invalid_input` when it answers with something that is no such number
 */
export function confidenceOf(importer: Importer, head: InputHead): number {
  const sure: unknown = importer.detect(head);
  if (typeof sure === 'number' && sure >= 0 && sure <= 1) return sure;
  throw invalidInput(
    `${FIELD}: ${importer.format}.detect`,
    sure,
    'a number from 0 (no) to 1 (certain)',
  );
}

/** Whether an error says that an importer is wrong, which no other file makes right. */
export function isWrongImporter(error: unknown): boolean {
  return isQuarkError(error, 'invalid_input') && String(error.details['field']).startsWith(FIELD);
}
