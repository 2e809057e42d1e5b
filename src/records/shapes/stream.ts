/** How far a table of a run has come. */
import { checkId, checkTable } from '../../base/names.ts';
import {
  count,
  defineShape,
  text,
  withoutFields,
  type Shape,
  type ValuesOf,
} from '../../schema/shape.ts';

const fields = {
  runId: text({ check: checkId }),
  table: text({ check: (_, value) => checkTable(value) }),
  /** Sequence number that the next row gets. */
  nextSequence: count({ doc: 'Sequence number that the next row gets.' }),
  /** How often the table was emptied by `replaceTable`. */
  replaceCount: count({
    doc: 'How often the table was emptied. An upload that names it as `seen` is refused (409) when it is not so any longer.',
  }),
};

/** How far a table of a run has come, in numbers that only grow. */
export const streamShape: Shape<typeof fields> = defineShape('table', fields);

/** How far a table of a run has come, in numbers that only grow. */
export type StreamState = ValuesOf<typeof fields>;

/** How often a table was emptied. */
export const tableEpochShape: Shape<Omit<typeof fields, 'nextSequence'>> = withoutFields(
  streamShape,
  'nextSequence',
);
