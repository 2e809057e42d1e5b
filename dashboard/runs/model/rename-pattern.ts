/** New names of many runs by a pattern: `{name}-lr{config.lr}`, or a text in their names that is replaced by another. */
import type { FoundRun, RunValue } from 'quark-sdk/workspace';

/** How names are made. */
export type RenamePattern = {
  /** What is replaced, wherever a name has it; empty: the whole name. */
  readonly find: string;
  /** What is put there: text, with the fields of {@link patternFields} in braces. */
  readonly write: string;
};

/** A run with another name than before. */
export type NameChange = {
  readonly runId: string;
  readonly before: string;
  readonly after: string;
};

/** What a pattern does. */
export type Renaming = {
  /** In the order in which the runs are numbered. */
  readonly changes: readonly NameChange[];
  /** Runs that would have no name, or one that is too long or has several lines: they stay as they are. */
  readonly refused: number;
  /** Names that several of all these runs would have. */
  readonly repeated: number;
};

const MAX_NAME_CHARS = 512;
const FIELD = /\{([^{}]+)\}/gu;
const CONTROL = /\p{Cc}/u;

/** The paths of values that a pattern names, without `{name}` and `{n}`, which every run has. */
export function patternFields(write: string): readonly string[] {
  const names = Array.from(write.matchAll(FIELD), ([, name = '']) => name.trim());
  return [...new Set(names)].filter((name) => name !== '' && name !== 'name' && name !== 'n');
}

/**
 * The names that a pattern gives. Runs are numbered from 1, the oldest first.
 *
 * @param rows with the values of {@link patternFields}
 */
export function renamingBy({ find, write }: RenamePattern, rows: readonly FoundRun[]): Renaming {
  const oldestFirst = rows.toSorted(
    (a, b) => a.startedAtMs - b.startedAtMs || (a.id < b.id ? -1 : 1),
  );
  const changes: NameChange[] = [];
  const counts = new Map<string, number>();
  let refused = 0;
  for (const [at, row] of oldestFirst.entries()) {
    const before = row.name ?? row.project;
    const made = write.replace(FIELD, (_, name: string) => fieldText(row, name.trim(), at + 1));
    const wanted = (find === '' ? made : before.replaceAll(find, () => made)).trim();
    const isName = wanted !== '' && wanted.length <= MAX_NAME_CHARS && !CONTROL.test(wanted);
    const after = isName ? wanted : before;
    if (!isName) refused += 1;
    counts.set(after, (counts.get(after) ?? 0) + 1);
    if (after !== before) changes.push({ runId: row.id, before, after });
  }
  const repeated = [...counts.values()].filter((count) => count > 1).length;
  return { changes, refused, repeated };
}

function fieldText(row: FoundRun, name: string, number: number): string {
  if (name === 'n') return String(number);
  if (name === 'name') return row.name ?? row.project;
  const value: RunValue | undefined = Object.hasOwn(row.values, name)
    ? row.values[name]
    : undefined;
  if (value === undefined) return '';
  return typeof value === 'object' ? value.join(', ') : String(value);
}
