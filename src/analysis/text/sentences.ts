/** Numbers within sentences. */

/** A number with three digits. */
export function say(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size >= 1e9 || (size > 0 && size < 1e-3)) return value.toExponential(1);
  return String(Number(value.toPrecision(3)));
}

/** A share as a percentage. */
export function sayShare(value: number): string {
  return `${say(value * 100)} %`;
}

/** Other layers that are affected, too. */
export function sayOthers(count: number): string {
  return count === 1 ? 'one other layer' : `${count} other layers`;
}

/** The first names of a list, and how many more there are. */
export function sayNames(names: readonly string[], most: number): string {
  const more = names.length - most;
  return `${names.slice(0, most).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** A part of a sentence that is there on a condition. */
export function when(isSo: boolean, part: string): string {
  return isSo ? part : '';
}

/** An option of the command line with its value, quoted where the shell needs that. */
export function sayOption(option: string, value: string): string {
  return `${option} ${/^[\w./:@%+-]+$/u.test(value) ? value : `'${value.replaceAll("'", String.raw`'\''`)}'`}`;
}
