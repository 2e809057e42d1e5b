/** Which database a store is, and since when it may have lost what it had acknowledged. */
import { checkId } from '../../base/names.ts';
import { count, text, type ValuesOf } from '../../schema/shape.ts';

const fields = {
  id: text({ check: checkId, doc: 'Made once, at random: a copy of a database has the same.' }),
  epoch: count({
    doc: 'Changes where the database may have lost what it had acknowledged: UTC epoch milliseconds of that moment, and greater than before.',
  }),
};

/**
 * The identity of a database. A client that finds another id, or another epoch, than the ones it has noted compares the batches
 * that it has sent with those that the database has.
 */
export type StoreIdentity = ValuesOf<typeof fields>;
