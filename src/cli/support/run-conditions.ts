/** Conditions on runs as people write them: `config.lr<=0.1 and val/loss.best<0.3`. */
import type { FindRunsQuery, RunMatch } from '../../index.ts';
import { UsageError } from './args.ts';

const OPERATORS = {
  '<=': 'lte',
  '>=': 'gte',
  '!=': 'ne',
  '=': 'eq',
  '<': 'lt',
  '>': 'gt',
  '~': 'like',
} as const;
const CONDITION =
  /^\s*([^<>=!~\s]+|"[^"]+")\s*(<=|>=|!=|=|<|>|~)\s*("(?:[^"\\]|\\.)*"|[^\s"<>=!~][^\s"]*)\s*$/u;
const OBJECTS = ['config', 'metadata', 'summary', 'tags'] as const;
const FIELDS = [
  'id',
  'project',
  'status',
  'name',
  'description',
  'notes',
  'jobType',
  'groups',
  'parentRunId',
  'gitCommit',
  'configHash',
  'configRevision',
  'durationMs',
] as const;
const STATISTIC = /^(?:metrics\.)?(.+)\.(last|lastStep|min|max|best|bestStep)$/u;

/**
 * A query for conditions that are joined by "and".
 *
 * @throws {UsageError} naming the condition that cannot be read
 */
export function parseRunConditions(texts: readonly string[], command: string): FindRunsQuery {
  const conditions = texts.flatMap((text) => text.split(/\s+and\s+(?=(?:[^"]*"[^"]*")*[^"]*$)/iu));
  return { and: conditions.map((text) => queryOf(text, command)) };
}

function queryOf(text: string, command: string): FindRunsQuery {
  const [, name = '', operator = '', written = ''] = CONDITION.exec(text) ?? [];
  const kind = Object.entries(OPERATORS).find(([sign]) => sign === operator)?.[1];
  const path = name.replaceAll('"', '');
  const found = kind === undefined ? undefined : at(path, { [kind]: valueOf(written) });
  if (found !== undefined) return found;
  throw new UsageError(
    `--where takes conditions such as "config.lr<=0.1", "val/loss.best<0.3", "tags.workers>=8" or "name~base%", joined by "and"; got "${text}"`,
    command,
  );
}

function at(path: string, match: RunMatch): FindRunsQuery | undefined {
  const field = FIELDS.find((one) => one === path);
  if (field !== undefined) return { [field]: match };
  const cut = path.indexOf('.');
  const object = OBJECTS.find((one) => one === path.slice(0, Math.max(0, cut)));
  if (object !== undefined) return { [object]: { [path.slice(cut + 1)]: match } };
  if (path === 'tags') return { tags: { in: [String(Object.values(Object(match))[0])] } };
  const [, key, statistic] = STATISTIC.exec(path) ?? [];
  if (key !== undefined && statistic !== undefined)
    return { metrics: { [key]: { [statistic]: match } } };
  return undefined;
}

/** JSON, or text where it is none. */
function valueOf(written: string): string | number | boolean {
  try {
    const value: unknown = JSON.parse(written);
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      return value;
  } catch {
    // Text need not be quoted.
  }
  return written;
}
