/**
 * Search of runs: by the fields that a store filters by, and by the run documents,
 * which stores do not open.
 */
import { invalidInput } from '../../base/errors.ts';
import type { RunFilter, Store, StoredRun } from '../../store/store.ts';
import { nextTask } from '../../base/next-task.ts';
import { ANSWER_TARGET_BYTES, MAX_RUNS_PER_PAGE } from '../../wire/protocol.ts';

/** Conditions on a run document. All conditions are joined by "and". */
export type RunSearch = {
  /** Text in the id, the project, the commit, a tag, or a name or value of the configuration; whatever the case. */
  readonly text?: string;
  readonly config: readonly ConfigCondition[];
};

const OPERATORS = ['<=', '>=', '!=', '=', '<', '>'] as const;

/** A value of the configuration compared with another. */
export type ConfigCondition = {
  /** Names from the outermost object inwards. */
  readonly path: readonly string[];
  readonly operator: (typeof OPERATORS)[number];
  readonly value: unknown;
};

/** Runs and where to go on. */
export type RunPage = {
  readonly runs: readonly StoredRun[];
  /** The `offset` of the next page; null where there is none. It counts runs that the store's own filter lets through. */
  readonly next: number | null;
};

/** Documents that one request opens: about 50 ms of work. A search over more goes on with `next`. */
const MAX_OPENED = 10_000;
/** Characters of the documents that one request opens; an answer is closed sooner. */
const MAX_OPENED_CHARS = 4 * ANSWER_TARGET_BYTES;
/** Runs that are read at a time, until it is known how long their documents are; one may have millions of characters. */
const FIRST_RUNS = 32;
/** Whatever those before were like. */
const MAX_RUNS_AT_ONCE = 128;
const MAX_CONDITIONS = 16;
const MAX_TEXT_CHARS = 512;
/** Values deeper than what Quark writes are not searched. */
const MAX_DEPTH = 64;

/**
 * A condition such as `lr<0.1`, `optimizer.name=adam` or `layers!=[2,3]`. The value is JSON, or text where it is not.
 *
 * @throws {QuarkError} `invalid_input`
 */
export function parseConfigCondition(text: string): ConfigCondition {
  const match = /^([^<>=!]{1,512}?)(<=|>=|!=|=|<|>)(.{0,512})$/su.exec(text);
  const operator = OPERATORS.find((known) => known === match?.[2]);
  if (match === null || operator === undefined)
    throw invalidInput(
      'config',
      text,
      `NAME OPERATOR VALUE, with an operator of ${OPERATORS.join(' ')}`,
    );
  const path = (match[1] ?? '').split('.');
  const written = match[3] ?? '';
  let value: unknown = written;
  try {
    value = JSON.parse(written);
  } catch {
    // Text need not be quoted.
  }
  return { path, operator, value };
}

/** @throws {QuarkError} `invalid_input` naming the parameter */
export function checkSearch(text: string | undefined, conditions: readonly string[]): RunSearch {
  if (text !== undefined && text.length > MAX_TEXT_CHARS)
    throw invalidInput('text.length', text.length, `at most ${MAX_TEXT_CHARS}`);
  if (conditions.length > MAX_CONDITIONS)
    throw invalidInput('config', conditions.length, `at most ${MAX_CONDITIONS} conditions`);
  const config = conditions.map(parseConfigCondition);
  return text === undefined || text === '' ? { config } : { text, config };
}

/**
 * One page of runs. It is closed early where their documents are long.
 *
 * @param takeRoom told of what the page holds in memory
 */
export async function searchRuns(
  store: Store,
  filter: RunFilter,
  search: RunSearch,
  takeRoom: (bytes: number) => void = () => undefined,
): Promise<RunPage> {
  const limit = Math.min(filter.limit ?? MAX_RUNS_PER_PAGE, MAX_RUNS_PER_PAGE);
  let offset = filter.offset ?? 0;
  if (limit === 0) return { runs: [], next: null };
  const isPlain = search.text === undefined && search.config.length === 0;
  // By id: a run that is added between two pages moves all others on.
  const found = new Map<string, StoredRun>();
  const last = offset + MAX_OPENED;
  let size = FIRST_RUNS;
  let openedChars = 0;
  let answerChars = 0;
  for (;;) {
    const wanted = Math.min(size, isPlain ? limit - found.size : MAX_RUNS_AT_ONCE);
    const page = await store.listRuns({ ...filter, limit: wanted, offset });
    let pageChars = 0;
    for (const run of page) {
      const { length } = run.document;
      pageChars += length;
      offset += 1;
      if (!isPlain && !matchesSearch(run, search)) continue;
      // Once as it was read, and once in the answer.
      takeRoom(2 * length);
      found.set(run.id, run);
      answerChars += length;
      if (found.size === limit || answerChars >= ANSWER_TARGET_BYTES)
        return { runs: [...found.values()], next: offset };
    }
    if (page.length < wanted) return { runs: [...found.values()], next: null };
    openedChars += pageChars;
    if (offset >= last || openedChars >= MAX_OPENED_CHARS)
      return { runs: [...found.values()], next: offset };
    const meanChars = Math.max(1, pageChars / page.length);
    size = Math.min(MAX_RUNS_AT_ONCE, Math.max(1, Math.floor(ANSWER_TARGET_BYTES / meanChars)));
    await nextTask();
  }
}

/** Whether a run matches. A document that cannot be read matches by what the store knows of it only. */
export function matchesSearch(run: StoredRun, search: RunSearch): boolean {
  const { document } = run;
  // Parsing a document takes longer than a search of its text.
  const couldMatch = search.config.every(
    ({ path, operator }) =>
      operator === '!=' || document.includes(JSON.stringify(path.at(-1)).slice(1, -1)),
  );
  if (!couldMatch) return false;
  const record = parsed(document);
  const config = fieldOf(record, 'config');
  if (!search.config.every((condition) => holds(config, condition))) return false;
  if (search.text === undefined) return true;
  const wanted = search.text.toLowerCase();
  const facts = [run.id, run.projectName, ...run.tags, fieldOf(record, 'git_commit')];
  return (
    facts.some((fact) => typeof fact === 'string' && fact.toLowerCase().includes(wanted)) ||
    mentions(config, wanted, 0)
  );
}

function holds(config: unknown, { path, operator, value }: ConfigCondition): boolean {
  const found = valueAt(config, path);
  if (operator === '!=') return !equals(found, value);
  if (operator === '=') return equals(found, value);
  // Numbers compare with numbers and texts with texts; nothing else has an order.
  const isOrdered =
    (typeof found === 'number' && typeof value === 'number') ||
    (typeof found === 'string' && typeof value === 'string');
  if (!isOrdered) return false;
  switch (operator) {
    case '<':
      return found < value;
    case '<=':
      return found <= value;
    case '>':
      return found > value;
    case '>=':
      return found >= value;
  }
}

/** The value at a path. A name may hold dots itself: the longest name that is there is taken. */
function valueAt(config: unknown, path: readonly string[]): unknown {
  if (path.length === 0) return config;
  for (let length = path.length; length > 0; length--) {
    const inner = fieldOf(config, path.slice(0, length).join('.'));
    if (inner === undefined) continue;
    const found = valueAt(inner, path.slice(length));
    if (found !== undefined) return found;
  }
  return undefined;
}

function equals(found: unknown, value: unknown): boolean {
  if (found === value) return true;
  // `name=3` finds the text "3" too: who types it does not know how it was written.
  if (typeof found === 'string' && typeof value !== 'object')
    return found === JSON.stringify(value);
  return typeof found === 'object' && JSON.stringify(found) === JSON.stringify(value);
}

function mentions(value: unknown, wanted: string, depth: number): boolean {
  if (typeof value === 'string') return value.toLowerCase().includes(wanted);
  if (typeof value === 'number' || typeof value === 'boolean')
    return String(value).includes(wanted);
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return false;
  return Object.entries(value).some(
    ([name, inner]) =>
      (!Array.isArray(value) && name.toLowerCase().includes(wanted)) ||
      mentions(inner, wanted, depth + 1),
  );
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;
}

function parsed(document: string): unknown {
  try {
    return JSON.parse(document);
  } catch {
    return undefined;
  }
}
