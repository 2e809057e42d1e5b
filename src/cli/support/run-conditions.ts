/** Conditions on runs as people write them: `config.lr<=0.1 and val/loss.best<0.3`. */
import type { FindRunsQuery } from '../../index.ts';
import { parseRunQuery } from '../../workspace.ts';
import { UsageError } from './args.ts';

/**
 * A query for query lines that are joined by "and".
 *
 * @throws {UsageError} naming the line that cannot be read, and where
 */
export function parseRunConditions(texts: readonly string[], command: string): FindRunsQuery {
  for (const text of texts) {
    const reading = parseRunQuery(text);
    if (reading.kind === 'query' && reading.condition !== null) continue;
    const [at, why] =
      reading.kind === 'error' ? [reading.from, reading.message] : [0, 'It has no condition.'];
    throw new UsageError(
      `--where takes conditions such as "config.lr<=0.1", "val/loss.best<0.3", "tags.workers>=8" or "name~base%", joined by "and" and "or"; "${text}" cannot be read at character ${at + 1}: ${why}`,
      command,
    );
  }
  return { where: texts.map((text) => `(${text})`).join(' and ') };
}

/** The keys of metrics that a query is about. */
export function metricsOfQuery({ where = '' }: FindRunsQuery): readonly string[] {
  const reading = parseRunQuery(where);
  const condition: unknown =
    reading.kind === 'query' && reading.condition !== null ? JSON.parse(reading.condition) : [];
  return [...new Set(metricsIn(condition))];
}

function metricsIn(condition: unknown): readonly string[] {
  if (!Array.isArray(condition)) return [];
  const [kind, ...rest]: unknown[] = condition;
  // A name that may be of the configuration as well is looked for in both.
  if (kind === 'or' && rest.some((one) => Array.isArray(one) && isOfConfig(one[1]))) return [];
  if (kind === 'and' || kind === 'or' || kind === 'not') return rest.flatMap(metricsIn);
  const [path] = rest;
  const key = typeof path === 'string' ? /^metrics\.(.+)\.\w+$/su.exec(path)?.[1] : undefined;
  return key === undefined ? [] : [key];
}

function isOfConfig(path: unknown): boolean {
  return typeof path === 'string' && path.startsWith('config.');
}
