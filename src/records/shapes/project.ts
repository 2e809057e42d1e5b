/** A project as a store lists it. */
import { checkId, checkStorable } from '../../base/names.ts';
import { defineShape, instantMs, text, type Shape, type ValuesOf } from '../../schema/shape.ts';

const fields = {
  id: text({ check: checkId }),
  name: text({ check: checkStorable }),
  /** UTC epoch milliseconds. */
  createdAtMs: instantMs(),
};

/** A project as a store lists it. */
export const projectShape: Shape<typeof fields> = defineShape('project', fields);

/** A project as a store lists it. */
export type StoredProject = ValuesOf<typeof fields>;
