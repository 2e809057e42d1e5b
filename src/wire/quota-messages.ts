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
import type { QuotaUse } from '../store/quotas.ts';
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

/** The header of answers in a space where four fifths of a quota are used: `user; bytes; used=81; limit=100`, with commas between several. */
export const QUOTA_HEADER = 'quark-quota';

/** The part of a quota from which on answers warn. */
export const QUOTA_WARNING = 0.8;

/** The value of {@link QUOTA_HEADER}. Names of projects are not told: a header has no room for any text. */
export function quotaHeader(uses: readonly QuotaUse[]): string {
  return uses
    .map(
      ({ resource, used, limit: most, project }) =>
        `${project === undefined ? 'user' : 'project'}; ${resource}; used=${used}; limit=${most}`,
    )
    .join(', ');
}

const PART = /^(user|project); (bytes|runs|segments); used=(\d{1,16}); limit=(\d{1,16})$/;

/** What a service says is used of its quotas; nothing where the header is missing or makes no sense. */
export function parseQuotaHeader(
  header: string | null,
): readonly (Omit<QuotaUse, 'project'> & { readonly of: 'user' | 'project' })[] {
  if (header === null || header.length > 1_024) return [];
  return header.split(', ').flatMap((part) => {
    const [, of, resource, used, most] = PART.exec(part) ?? [];
    if ((of !== 'user' && of !== 'project') || used === undefined || most === undefined) return [];
    if (resource !== 'bytes' && resource !== 'runs' && resource !== 'segments') return [];
    return [{ of, resource, used: Number(used), limit: Number(most) }];
  });
}
