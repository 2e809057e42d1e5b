/** The tombstone of a deleted run: what a store goes on knowing of it. */
import { checkRunId, checkStorable } from '../../base/names.ts';
import {
  defineShape,
  instantMs,
  optional,
  text,
  type Shape,
  type ValuesOf,
} from '../../schema/shape.ts';

const fields = {
  id: text({ check: (_, value) => checkRunId(value) }),
  projectName: text({ check: checkStorable }),
  /** UTC epoch milliseconds. */
  deletedAtMs: instantMs({ doc: 'UTC epoch milliseconds.' }),
  /** From when on its bytes may be removed, in UTC epoch milliseconds. Until then it can be restored. */
  purgeAtMs: instantMs({
    doc: 'From when on its bytes may be removed. Until they are, the run can be restored.',
  }),
  /** When its bytes were removed, in UTC epoch milliseconds; absent while it can be restored. */
  purgedAtMs: optional(instantMs({ doc: 'When its bytes were removed.' })),
  /** Who deleted it, where somebody said so: the name of a user or a program. */
  by: optional(text({ doc: 'Who deleted it.', check: checkStorable })),
};

/** The tombstone of a deleted run. */
export const deletedRunShape: Shape<typeof fields> = defineShape('deletedRun', fields);

/** The tombstone of a deleted run. It stays after the bytes of the run are gone, so that no client brings the run back. */
export type DeletedRun = ValuesOf<typeof fields>;
