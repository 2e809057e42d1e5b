/** Texts of a run that people write. */
import { invalidInput } from '../base/errors.ts';
import { checkLabel, checkStorable } from '../base/names.ts';

const MAX_NOTES_CHARS = 65_536;

/** Text of people, of several lines; null for none. @throws {QuarkError} `invalid_input` */
export function checkProse(field: string, value: unknown): string | null {
  if (value === undefined || value === null || value === '') return null;
  checkStorable(field, value);
  if (typeof value === 'string' && value.length <= MAX_NOTES_CHARS) return value;
  throw invalidInput(field, value, `text of at most ${MAX_NOTES_CHARS} characters`);
}

/** @throws {QuarkError} `invalid_input` naming the label */
export function checkLabels(
  field: string,
  labels: Iterable<string> | null | undefined,
): readonly string[] {
  if (labels === undefined || labels === null) return [];
  if (typeof labels === 'string' || typeof labels !== 'object' || !(Symbol.iterator in labels))
    throw invalidInput(field, labels, 'a list of texts');
  return [...new Set(Array.from(labels, (label, i) => checkLabel(`${field}[${i}]`, label)))];
}
