/**
 * What runs are found by: values under paths, such as `config.optimizer.lr`, `metrics.val/loss.best`, `tags.workers`. They are read from
 * the document of a run, as far as that is one; what stores have beside it counts first. Every store finds the same by them.
 */
import {
  findable,
  meetsCondition,
  parseCondition,
  type FactValue,
  type RunCondition,
  type FactsByPath,
} from '../records/shapes/run-condition.ts';
import { ALERT_SEVERITIES } from '../records/literals.ts';
import { metricSummariesOf } from '../records/metric-summaries.ts';
import type { JsonObject, JsonValue } from '../base/json.ts';
import type { StoredRun } from './store.ts';

/** A run is found by so many values; what a configuration has beyond is not found. */
export const MAX_FACTS = 4096;
/** Longer paths are not found. */
const MAX_PATH_CHARS = 512;
const MAX_DEPTH = 16;

/** The path that says whether a session is at work on a run. Stores know it by their leases. */
export const LIVE_PATH = 'live';

/** Names of fields in documents, and the paths of their values. */
const TEXTS: readonly (readonly [stored: string, path: string])[] = [
  ['name', 'name'],
  ['description', 'description'],
  ['notes', 'notes'],
  ['job_type', 'jobType'],
  ['parent_run_id', 'parentRunId'],
  ['git_commit', 'gitCommit'],
];

/** The path of all texts that words are searched in, in lower case. */
export const TEXT_PATH = 'text';
const SEARCHED: ReadonlySet<string> = new Set(['name', 'description', 'jobType']);

/** The facts of a run. @param isLive whether a session has a lease on it */
export function runFactsOf(run: StoredRun, isLive = false): FactsByPath {
  const facts = new FactList();
  facts.add('id', run.id);
  facts.add('project', run.projectName);
  facts.add('status', run.status);
  facts.add('startedAt', run.startedAtMs);
  if (run.configHash !== undefined) facts.add('configHash', run.configHash);
  if (run.configRevision !== undefined) facts.add('configRevision', run.configRevision);
  if (isLive) facts.add(LIVE_PATH, true);
  for (const tag of run.tags) {
    facts.add('tags', tag);
    const cut = tag.indexOf('=');
    if (cut < 0) facts.add(`tags.${tag}`, true);
    else facts.add(`tags.${tag.slice(0, cut)}`, tagValue(tag.slice(cut + 1)));
  }
  const stored = documentOf(run);
  const document = stored ?? {};
  if (stored === null) facts.add('problem', `The record of run ${run.id} is not JSON.`);
  const names: string[] = [run.id, run.projectName];
  for (const [field, path] of TEXTS) {
    const value = document[field];
    if (typeof value !== 'string') continue;
    facts.add(path, value);
    if (SEARCHED.has(path)) names.push(value);
  }
  addTimes(facts, run, document);
  const { groups } = document;
  if (Array.isArray(groups))
    for (const group of groups)
      if (typeof group === 'string') {
        facts.add('groups', group);
        names.push(group);
      }
  const { notes } = document;
  // Of long texts the beginning is searched, so what can be long comes last.
  if (typeof notes === 'string') names.push(...run.tags, notes);
  else names.push(...run.tags);
  facts.add(TEXT_PATH, names.join('\n').toLowerCase());
  addMachine(facts, document);
  for (const part of ['config', 'metadata', 'summary'])
    if (isObject(document[part])) facts.addJson(part, document[part], 0);
  for (const [key, summary] of metricSummariesOf(objectOf(document['metric_summaries']))) {
    facts.add(`metrics.${key}.last`, numberOf(summary.last));
    facts.addKnown(`metrics.${key}.lastStep`, summary.last_step);
    facts.addKnown(`metrics.${key}.min`, summary.min);
    facts.addKnown(`metrics.${key}.max`, summary.max);
    facts.addKnown(`metrics.${key}.best`, summary.best);
    facts.addKnown(`metrics.${key}.bestStep`, summary.best_step);
  }
  return facts.byPath;
}

/** The facts of a run, without whether it is live. Those of a run object are computed once. */
export function knownFactsOf(run: StoredRun): FactsByPath {
  let facts = known.get(run);
  if (facts === undefined) {
    facts = runFactsOf(run);
    known.set(run, facts);
  }
  return facts;
}

/** Whether a run is one of those that a condition asks for. */
export function isFound(run: StoredRun, where: RunCondition, isLive: boolean): boolean {
  return meetsFacts(knownFactsOf(run), where, isLive);
}

/** Whether a run with these facts is one of those that a condition asks for. */
export function meetsFacts(facts: FactsByPath, where: RunCondition, isLive: boolean): boolean {
  const all = isLive ? new Map(facts).set(LIVE_PATH, [true]) : facts;
  return meetsCondition(all, where);
}

const known = new WeakMap<StoredRun, FactsByPath>();

/** The condition of a filter; undefined where it has none. @throws {QuarkError} `invalid_input` */
export function whereOf({ where }: { readonly where?: string }): RunCondition | undefined {
  if (where === undefined) return undefined;
  // A store that goes from run to run asks for the same one each time.
  if (last?.text !== where) last = { text: where, condition: parseCondition('where', where) };
  return last.condition;
}

let last: { readonly text: string; readonly condition: RunCondition } | undefined;

class FactList {
  readonly byPath = new Map<string, (FactValue | null)[]>();
  #count = 0;

  add(path: string, value: FactValue | null): void {
    if (this.#count >= MAX_FACTS || path.length > MAX_PATH_CHARS) return;
    const fact = typeof value === 'string' ? findable(value) : value;
    const values = this.byPath.get(findable(path));
    if (values === undefined) this.byPath.set(findable(path), [fact]);
    else values.push(fact);
    this.#count++;
  }

  addKnown(path: string, value: number | undefined): void {
    if (value !== undefined) this.add(path, value);
  }

  addJson(path: string, value: JsonValue | undefined, depth: number): void {
    if (value === undefined || value === null || depth > MAX_DEPTH) return;
    if (typeof value !== 'object') this.add(path, value);
    else if (isList(value))
      // A list of plain values has them all under its own path; of others, each has a path.
      value.forEach((item, i) =>
        this.addJson(typeof item === 'object' ? `${path}.${i}` : path, item, depth + 1),
      );
    else
      for (const [name, item] of Object.entries(value))
        this.addJson(`${path}.${name}`, item, depth + 1);
  }
}

function addTimes(facts: FactList, run: StoredRun, document: JsonObject): void {
  const [endedAt, updatedAt] = [timeOf(document['ended_at']), timeOf(document['updated_at'])];
  if (updatedAt !== undefined) facts.add('updatedAt', updatedAt);
  if (endedAt === undefined) return;
  facts.add('endedAt', endedAt);
  facts.add('durationMs', endedAt - run.startedAtMs);
}

/** Where a run was, how it ended, and what was found in it. */
function addMachine(facts: FactList, document: JsonObject): void {
  const { hostname: host } = objectOf(document['environment']);
  if (typeof host === 'string' && host !== '') facts.add('host', host);
  const { status_reason: reason } = document;
  if (typeof reason === 'string') facts.add('statusReason', reason);
  const { alerts, by_severity, health } = objectOf(document['findings']);
  if (typeof health === 'number') facts.add('health', health);
  if (typeof alerts === 'number') facts.add('alerts', alerts);
  const counts = objectOf(by_severity);
  for (const severity of ALERT_SEVERITIES) {
    const count = counts[severity];
    if (typeof count === 'number') facts.add(`alerts.${severity}`, count);
  }
}

function timeOf(value: JsonValue | undefined): number | undefined {
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}

/** NaN exists, and equals nothing: not even itself. */
function numberOf(value: number | string): number | null {
  const number = Number(value);
  return Number.isNaN(number) ? null : number;
}

/** The value of a tag: a number, true or false where it is written as one. */
export function tagValue(text: string): FactValue {
  if (text === 'true' || text === 'false') return text === 'true';
  return text !== '' && String(Number(text)) === text && Number.isFinite(Number(text))
    ? Number(text)
    : text;
}

/** The document as far as it is one; null where it is none. */
function documentOf({ document }: StoredRun): JsonObject | null {
  try {
    const value: unknown = JSON.parse(document);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {};
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}
