/** Quotas and what is used of them, as they travel. */
import {
  count,
  defineShape,
  nullable,
  shapeToJson,
  text,
  type Shape,
  type ValuesOf,
} from '../schema/shape.ts';
import { decoder } from './wire.ts';

const limit = (what: string) =>
  nullable(count({ doc: `Most ${what}; null: as much as there is room for.` }));

const quotaFields = {
  /** Whose quota it is. */
  user: text(),
  /** Name of the user's space, for the quota of a project. */
  space: nullable(text({ doc: 'The space of the project; null for all that the user has.' })),
  /** Name of the project; null: the quota is that of the user, over all spaces. */
  project: nullable(text({ doc: 'Null for all that the user has.' })),
  /** Bytes of segments and, for a user, of blobs. */
  bytes: limit('bytes of segments and, for a user, of blobs'),
  runs: limit('runs'),
  segments: limit('segments'),
  usedBytes: count(),
  usedRuns: count(),
  usedSegments: count(),
};

/** A quota as it travels. */
export const quotaShape: Shape<typeof quotaFields> = defineShape('quota', quotaFields);

/** A quota and what is used of it. Deleted runs use nothing. */
export type QuotaReport = ValuesOf<typeof quotaFields>;

/** Which quota to set. */
export type QuotaOptions = {
  /** Name of the user. */
  readonly user: string;
  /** Name of a project of the user, whose quota it is; the user's unless given. */
  readonly project?: string;
  /** Name of the space of that project; `default` unless given. */
  readonly space?: string;
  /** Most bytes; null: the default of the service; as before unless given. */
  readonly bytes?: number | null;
  /** Most runs, in the same way. */
  readonly runs?: number | null;
  /** Most segments, in the same way. */
  readonly segments?: number | null;
};

/** A quota in the names of the wire. */
export function encodeQuota(quota: QuotaReport): object {
  return shapeToJson(quotaShape, quota);
}

/** @throws {SessionStoreError} `rejected` */
export const decodeQuota: (value: unknown) => QuotaReport = decoder(quotaShape);
