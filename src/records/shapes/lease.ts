/** The claim of a live session on a run. */
import { checkId, checkRunId } from '../../base/names.ts';
import {
  defineShape,
  instantMs,
  number,
  optional,
  text,
  type Shape,
  type ValuesOf,
} from '../../schema/shape.ts';

const fields = {
  runId: text({ check: (_, value) => checkRunId(value) }),
  holder: text({ check: checkId }),
  /** UTC epoch milliseconds. */
  expiresAtMs: instantMs(),
};

/** The claim of one live session on a run. */
export const leaseShape: Shape<typeof fields> = defineShape('lease', fields);

/** The claim of one live session on a run. Several sessions may have one each. */
export type Lease = ValuesOf<typeof fields>;

const storedFields = {
  ...fields,
  /** Time to live. Leases of before it was stored have none. */
  ttlMs: optional(number()),
};

/** A lease with what the store needs to tell whether it has lapsed. */
export const storedLeaseShape: Shape<typeof storedFields> = defineShape('lease', storedFields);

/** A lease with what the store needs to tell whether it has lapsed. */
export type StoredLease = ValuesOf<typeof storedFields>;

const lapsedFields = {
  ...storedFields,
  /** Milliseconds since its end, by the store's clock; negative where the end lies ahead. */
  endedMs: number(),
};

/** A lease that has lapsed. */
export const lapsedLeaseShape: Shape<typeof lapsedFields> = defineShape('lease', lapsedFields);

/** A lease that has lapsed by the store's clock, as it was claimed last. */
export type LapsedLease = ValuesOf<typeof lapsedFields>;
