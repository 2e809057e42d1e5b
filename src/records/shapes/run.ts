/** A run as a store lists it. */
import { invalidInput } from '../../base/errors.ts';
import { checkHash, checkId, checkRunId, checkStorable } from '../../base/names.ts';
import { checkCondition } from './run-condition.ts';
import {
  count,
  defineShape,
  trueOrFalse,
  instantMs,
  optional,
  text,
  texts,
  withoutFields,
  type Shape,
  type ValuesOf,
} from '../../schema/shape.ts';

const fields = {
  id: text({
    doc: '1 to 128 letters, digits, ".", "_" or "-".',
    check: (_, value) => checkRunId(value),
  }),
  projectId: text({ check: checkId }),
  projectName: text({ check: checkStorable }),
  status: text({ doc: 'running, completed, failed or interrupted.', check: checkStorable }),
  /** UTC epoch milliseconds. */
  startedAtMs: instantMs({ doc: 'UTC epoch milliseconds.' }),
  tags: texts({ check: checkTags }),
  /** The run record in its persisted form. */
  document: text({ doc: 'The run record in its persisted form, as JSON text.' }),
  /** 1 when created; every change adds 1. */
  revision: count({ min: 1 }),
  /**
   * How many times a session has begun or taken over the run: the fencing token of its sessions. 1 where it is absent; never
   * decreases. `resumeRun` counts it up in the change that makes the run running again.
   */
  generation: optional(
    count({ min: 1, doc: 'Counted up by each session that takes the run over; 1 unless given.' }),
  ),
  /** SHA-256 of the configuration as canonical JSON; absent for runs of before it was recorded. */
  configHash: optional(
    text({
      doc: 'SHA-256 of the configuration as canonical JSON (RFC 8785).',
      check: checkHash,
    }),
  ),
  /**
   * Which run of its project with this configuration it is, from 1. A store counts it when a run is added, or gets another
   * configuration, without one.
   */
  configRevision: optional(
    count({ min: 1, doc: 'Which run of its project with this configuration it is, from 1.' }),
  ),
  /** Since when the run is archived, in UTC epoch milliseconds; absent for a run that is not. */
  archivedAtMs: optional(
    instantMs({ doc: 'Since when it is archived; absent for a run that is not.' }),
  ),
};

/** A run as a store lists it: the fields that a store filters by, and the whole run record as JSON text. */
export const runShape: Shape<typeof fields> = defineShape('run', fields);

/** A run as a store lists it: the fields that a store filters by, and the whole run record as JSON text. */
export type StoredRun = ValuesOf<typeof fields>;

const generationFields = {
  runId: text({ check: (_, value) => checkRunId(value) }),
  generation: count({ min: 1 }),
};

/** The generation that a live session has of its run. */
export const runGenerationShape: Shape<typeof generationFields> = defineShape(
  'generation',
  generationFields,
);

/** The generation that a live session has of its run. An append that names it is refused once the run has a later one. */
export type RunGeneration = ValuesOf<typeof generationFields>;

/** The generation of a run: 1 where none is stored. */
export function generationOf({ generation }: { readonly generation?: number }): number {
  return generation ?? 1;
}

/** A run before a store has it. */
export const newRunShape: Shape<Omit<typeof fields, 'revision'>> = withoutFields(
  runShape,
  'revision',
);

const filterFields = {
  projectName: optional(text({ check: checkStorable })),
  statuses: optional(texts({ check: checkTags })),
  /** Runs that carry every one of these tags. */
  tags: optional(texts({ check: checkTags })),
  /** Runs that were started at this instant (UTC epoch milliseconds) or later. */
  startedMinMs: optional(instantMs()),
  /** Runs that were started at this instant or before. */
  startedMaxMs: optional(instantMs()),
  /** True: only archived runs. False: only the others. */
  archived: optional(trueOrFalse()),
  /** A condition on what runs are found by, as JSON: see `run-condition.ts`. */
  where: optional(text({ check: checkCondition })),
  limit: optional(count()),
  offset: optional(count()),
};

/** Which runs to list. */
export const runFilterShape: Shape<typeof filterFields> = defineShape('filter', filterFields);

/** Which runs to list, newest first (by `startedAtMs`, then id, both descending). */
export type RunFilter = ValuesOf<typeof filterFields>;

function checkTags(field: string, value: unknown): readonly string[] {
  if (!Array.isArray(value)) throw invalidInput(field, value, 'an array of text');
  return value.map((tag: unknown) => checkStorable(field, tag));
}
