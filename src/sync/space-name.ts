/** The name of a space at the service, from the place that is recorded into. */

/** Where nothing names the place. */
export const DEFAULT_SPACE = 'default';

const MAX_CHARS = 128;

/**
 * The last part of a directory or storage URI, with "-" for what a name may not hold; never more of a path than that.
 * `default` where there is none.
 */
export function spaceOf(storage: string | undefined): string {
  if (storage === undefined) return DEFAULT_SPACE;
  const withoutQuery = /^[a-z][a-z0-9+.-]+:/i.test(storage)
    ? (storage.split('?')[0] ?? '')
    : storage;
  const path = withoutQuery.replace(/^[a-z][a-z0-9+.-]+:/i, '');
  const last = path.split(/[/\\]/).findLast((part) => part !== '' && part !== '.' && part !== '..');
  const name = decode(last ?? '')
    .split(/[/\\]/)
    .at(-1)
    ?.replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .replace(/[^A-Za-z0-9_-]+$/, '')
    .slice(0, MAX_CHARS);
  return name === undefined || name === '' ? DEFAULT_SPACE : name;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // "%" is a letter like any other in the name of a directory.
    return text;
  }
}
