/** The header by which a service says that a quota is nearly used up. */
import type { NearQuota, QuotaUse } from '../store/quotas.ts';

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
export function parseQuotaHeader(header: string | null): readonly NearQuota[] {
  if (header === null || header.length > 1_024) return [];
  return header.split(', ').flatMap((part) => {
    const [, of, resource, used, most] = PART.exec(part) ?? [];
    if ((of !== 'user' && of !== 'project') || used === undefined || most === undefined) return [];
    if (resource !== 'bytes' && resource !== 'runs' && resource !== 'segments') return [];
    return [{ of, resource, used: Number(used), limit: Number(most) }];
  });
}
