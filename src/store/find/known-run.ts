/** A run with its facts: its values under paths, and the order of values. */
import { RUN_STATUSES, type RunStatus } from '../../records/literals.ts';
import type { FactsByPath, FactValue } from '../../records/shapes/run-condition.ts';
import type { RunValue, SortKey } from '../../records/run-question.ts';
import { compareText } from '../run-rules.ts';
import type { StoredRun } from '../store.ts';

/** A run with its facts. */
export type RunWithFacts = {
  readonly run: Omit<
    StoredRun,
    'document' | 'projectId' | 'revision' | 'generation' | 'configHash' | 'configRevision'
  >;
  readonly facts: FactsByPath;
  readonly isLive: boolean;
};

/** The status of a run: one that says it is running is so where a session is at work on it. */
export function effectiveStatus({ status }: Pick<StoredRun, 'status'>, isLive: boolean): RunStatus {
  if (status === 'running' && !isLive) return 'interrupted';
  return RUN_STATUSES.find((one) => one === status) ?? 'failed';
}

/** The values of a run under a path. NaN is null. */
export function valuesAt(
  { run, facts, isLive }: RunWithFacts,
  path: string,
): readonly (FactValue | null)[] {
  if (path === 'status') return [effectiveStatus(run, isLive)];
  return facts.get(path) ?? NO_VALUES;
}

const NO_VALUES: readonly FactValue[] = [];

/** The value of a run that it is ordered by: the first of several; null for none. */
export function sortKeyAt(known: RunWithFacts, path: string): SortKey {
  const [value] = valuesAt(known, path);
  if (value === undefined) return null;
  return value ?? Number.NaN;
}

/** The order of two values: see the top of this file. */
export function compareKeys(a: SortKey, b: SortKey, isDescending = false): number {
  const [rankA, rankB] = [rankOf(a), rankOf(b)];
  if (rankA !== rankB) return rankA - rankB;
  if (a === b || rankA >= UNORDERED) return 0;
  const order = typeof a === 'string' ? compareCodePoints(a, String(b)) : Number(a) - Number(b);
  return isDescending ? -order : order;
}

const UNORDERED = 3;

/** Numbers, texts, flags, NaN, nothing: in both directions. */
function rankOf(key: SortKey): number {
  if (key === null) return UNORDERED + 1;
  if (typeof key === 'number') return Number.isNaN(key) ? UNORDERED : 0;
  return typeof key === 'string' ? 1 : 2;
}

/** The values of a path as a row has them; undefined for none. */
export function rowValue(values: readonly (FactValue | null)[]): RunValue | undefined {
  const plain = values.map((value) => value ?? Number.NaN);
  return plain.length > 1 ? plain : plain[0];
}

/** Runs newest first. */
export function newestFirst(found: readonly RunWithFacts[]): readonly RunWithFacts[] {
  return found.toSorted(
    (a, b) => b.run.startedAtMs - a.run.startedAtMs || compareText(b.run.id, a.run.id),
  );
}

/** The order of texts by code points, which is that of their UTF-8 bytes, as databases have it. */
function compareCodePoints(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  for (let i = 0; i < end; i++) {
    const [left, right] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (left === right) continue;
    // Surrogates stand for what comes after all other characters.
    const [isLeftHigh, isRightHigh] = [(left & 0xf800) === 0xd800, (right & 0xf800) === 0xd800];
    return isLeftHigh === isRightHigh ? left - right : isLeftHigh ? 1 : -1;
  }
  return a.length - b.length;
}
