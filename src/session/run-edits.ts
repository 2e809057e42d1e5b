/**
 * Changes of a run that people and programs make: its name, groups and tags, its configuration, metadata and summary. Each is a function
 * of the run as it is stored, and so can be made again after another program was first: two that change different things lose nothing.
 */
import { checkOptionNames, isGiven } from '../base/assert.ts';
import { systemClock } from '../base/clock.ts';
import { invalidInput } from '../base/errors.ts';
import { canonicalJson, copyJsonObject, mergeJson, type JsonObject } from '../base/json.ts';
import { checkLabel } from '../base/names.ts';
import { sha256OfText } from '../base/sha256.ts';
import type { RunRecord } from '../records/run.ts';
import { checkStore } from '../store/whole-store.ts';
import type { Store } from '../store/store.ts';
import { changeRun } from './run-lifecycle.ts';
import { checkLabels, checkProse } from './run-texts.ts';
import type { RunEdit } from './session-run.ts';

/** The value of a tag: `workers=8`. */
export type TagValue = string | number | boolean;

/** What people say of a run. What is left out stays as it is; null removes it. */
export type RunDescription = {
  /** One line. */
  readonly name?: string | null | undefined;
  /** A sentence. */
  readonly description?: string | null | undefined;
  /** Markdown, at most 65,536 characters. */
  readonly notes?: string | null | undefined;
  /** All groups of the run, in the place of those it had. */
  readonly groups?: Iterable<string> | null | undefined;
  /** What the run does, such as `train` or `eval`: one line. */
  readonly jobType?: string | null | undefined;
};

/** What {@link editRun} changes. */
export type RunEditOptions = RunDescription & {
  /** Tags to add, also with values: `workers=8`. A tag with a value replaces the one of the same name. */
  readonly addTags?: Iterable<string> | undefined;
  /** Tags to remove, each by all of its text or by its name: `workers` removes `workers=8`. */
  readonly removeTags?: Iterable<string> | undefined;
};

const DESCRIPTION_NAMES = ['name', 'description', 'notes', 'groups', 'jobType'] as const;

/**
 * Changes what people say of a stored run, whether it goes on or has ended. Nothing that another program changes at the same time is lost.
 *
 * @throws {QuarkError} `invalid_input` naming the option
 * @throws {RunNotFoundError}
 * @throws {SessionStoreError} when the store failed
 * @example
 * ```js
 * import { createMemoryStore, editRun, TrainingSession } from 'quark-sdk';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store, tags: ['workers=4'] }, (session) => session.runId);
 * const run = await editRun(store, runId, { name: 'baseline', addTags: ['keep', 'workers=8'] });
 * console.log(run.name, run.tags); // baseline [ 'keep', 'workers=8' ]
 * ```
 */
export async function editRun(
  store: Store,
  runId: string,
  change: RunEditOptions,
): Promise<RunRecord> {
  checkStore(store);
  checkOptionNames('change', change, [...DESCRIPTION_NAMES, 'addTags', 'removeTags']);
  const { addTags, removeTags, ...description } = change;
  const edits = [
    describedBy(description),
    ...checkLabels('removeTags', removeTags).map(withoutTag),
    ...checkLabels('addTags', addTags).map((tag) => withTag(tag)),
  ];
  const { run } = await changeRun(store, runId, systemClock.now(), inOrder(edits));
  return run;
}

/** @throws {QuarkError} `invalid_input` */
export function describedBy(description: RunDescription): RunEdit {
  checkOptionNames('description', description, DESCRIPTION_NAMES);
  const { name, description: sentence, groups, jobType, notes } = description;
  const fields: Partial<RunRecord> = {
    ...(name === undefined ? {} : { name: isGiven(name) ? checkLabel('name', name) : null }),
    ...(sentence === undefined ? {} : { description: checkProse('description', sentence) }),
    ...(notes === undefined ? {} : { notes: checkProse('notes', notes) }),
    ...(groups === undefined ? {} : { groups: checkLabels('groups', groups) }),
    ...(jobType === undefined
      ? {}
      : { jobType: isGiven(jobType) ? checkLabel('jobType', jobType) : null }),
  };
  return (run) => ifNew(run, fields);
}

/** @throws {QuarkError} `invalid_input` */
export function withTag(tag: string, value?: TagValue): RunEdit {
  const text = tagText(tag, value);
  const name = nameOfTag(text);
  return ({ tags }) => {
    if (tags.includes(text)) return undefined;
    const others =
      name === text ? tags : tags.filter((one) => one === name || nameOfTag(one) !== name);
    return { tags: [...others, text] };
  };
}

/** @throws {QuarkError} `invalid_input` */
export function withoutTag(tag: string): RunEdit {
  const text = checkLabel('tag', tag);
  return ({ tags }) => {
    const left = tags.filter((one) => one !== text && nameOfTag(one) !== text);
    return left.length === tags.length ? undefined : { tags: left };
  };
}

/** The part of a tag before its value: the `workers` of `workers=8`. */
export function nameOfTag(tag: string): string {
  const cut = tag.indexOf('=');
  return cut < 0 ? tag : tag.slice(0, cut);
}

/** @throws {QuarkError} `invalid_input` */
export function withConfig(patch: JsonObject): RunEdit {
  const given = copyJsonObject('config', patch);
  return (run) => {
    const config = mergeJson(run.config, given);
    const text = canonicalJson(config);
    if (text === canonicalJson(run.config)) return undefined;
    // The store counts the runs of the configuration as it is now.
    return { config, configHash: sha256OfText(text), configRevision: null };
  };
}

/** @throws {QuarkError} `invalid_input` */
export function withJson(field: 'metadata' | 'summary', patch: JsonObject): RunEdit {
  const given = copyJsonObject(field, patch);
  return (run) => ifNew(run, { [field]: mergeJson(run[field], given) });
}

function ifNew(run: RunRecord, fields: Partial<RunRecord>): Partial<RunRecord> | undefined {
  const isNew = Object.entries(fields).some(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(Reflect.get(run, name)),
  );
  return isNew ? fields : undefined;
}

function inOrder(edits: readonly RunEdit[]): RunEdit {
  return (run) => {
    const fields: Partial<RunRecord> = {};
    for (const edit of edits) Object.assign(fields, edit({ ...run, ...fields }));
    return ifNew(run, fields);
  };
}

function tagText(tag: string, value: TagValue | undefined): string {
  checkLabel('tag', tag);
  if (value === undefined) return tag;
  if (tag.includes('=')) throw invalidInput('tag', tag, 'a name without "=", as a value is given');
  if (typeof value === 'number' && !Number.isFinite(value))
    throw invalidInput('value', value, 'a finite number');
  if (!['string', 'number', 'boolean'].includes(typeof value))
    throw invalidInput('value', value, 'text, a number, true or false');
  return checkLabel('value', `${tag}=${value}`);
}
