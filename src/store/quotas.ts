/** Quotas: how much of a service the space of a user, or a project in it, may take up, and what is refused beyond that. */
import { SessionStoreError } from '../base/errors.ts';

/** What is counted: bytes of segments and blobs, runs, and segments. */
export const QUOTA_RESOURCES = ['bytes', 'runs', 'segments'] as const;

/** One of {@link QUOTA_RESOURCES}. */
export type QuotaResource = (typeof QUOTA_RESOURCES)[number];

/** How much there is of each. Deleted runs do not count. */
export type UsedAmounts = { readonly [R in QuotaResource]: number };

/** The most there may be of each; null: as much as there is room for. */
export type QuotaLimits = { readonly [R in QuotaResource]: number | null };

/** No limit at all. */
export const NO_QUOTA: QuotaLimits = Object.freeze({ bytes: null, runs: null, segments: null });

/** How far a quota is used. */
export type QuotaUse = {
  readonly resource: QuotaResource;
  readonly used: number;
  readonly limit: number;
  /** Name of the project whose quota it is; undefined: that of the user. */
  readonly project?: string | undefined;
};

/** A quota of which four fifths and more are used, as a service tells its clients. */
export type NearQuota = Omit<QuotaUse, 'project'> & { readonly of: 'user' | 'project' };

/** The quotas that apply in a space. */
export type SpaceQuotas = {
  readonly user: QuotaLimits;
  /** By id of the project. */
  readonly projects: ReadonlyMap<string, { readonly name: string; readonly limits: QuotaLimits }>;
  /** Told how far they are used by what is about to be stored. */
  readonly onUse: (uses: readonly QuotaUse[]) => void;
  /** True: there is so much room left that it need not be read again for as long as this object is used, a second. */
  hasRoom: boolean;
};

/** Nothing. */
export const NO_USAGE: UsedAmounts = Object.freeze({ bytes: 0, runs: 0, segments: 0 });

/** Both together. */
export function addUsage(a: UsedAmounts, b: UsedAmounts): UsedAmounts {
  return { bytes: a.bytes + b.bytes, runs: a.runs + b.runs, segments: a.segments + b.segments };
}

/** A service is asked again after this time, in milliseconds: somebody has to delete something or to raise the quota first. */
const RETRY_MS = 30_000;

/**
 * How far the limits are used with what is added.
 *
 * @param project name of the project whose limits they are; undefined: a user's
 * @throws {SessionStoreError} `quota` where one of them would be passed by something that is added
 */
export function useOf(
  limits: QuotaLimits,
  used: UsedAmounts,
  added: UsedAmounts,
  project?: string,
): readonly QuotaUse[] {
  return QUOTA_RESOURCES.flatMap((resource) => {
    const limit = limits[resource];
    if (limit === null) return [];
    if (added[resource] > 0 && used[resource] + added[resource] > limit)
      throw quotaUsedUp({ resource, used: used[resource], limit, project }, added[resource]);
    return [{ resource, used: used[resource] + added[resource], limit, project }];
  });
}

function quotaUsedUp(use: QuotaUse, needed: number): SessionStoreError {
  const { resource, used, limit, project } = use;
  const of = project === undefined ? '' : ` of the project "${project}"`;
  const [all, stored, more] = [limit, used, needed].map((count) => amountText(resource, count));
  return new SessionStoreError(
    'quota',
    `The quota of ${all}${of} is used up: ${stored} are stored, and this needs ${more} more. Nothing of this request was stored. Delete runs ("quark rm"), or ask for a larger quota ("quark quota set" at the machine of the service).`,
    {
      details: {
        resource,
        limit,
        used,
        needed,
        of: project === undefined ? 'user' : 'project',
        ...(project === undefined ? {} : { project }),
        retryAfterMs: RETRY_MS,
      },
    },
  );
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];

/**
 * So much of a resource, in words, for people: `10 GB`, `500 runs`.
 *
 * @example
 * ```js
 * import { amountText } from 'quark-sdk/service';
 *
 * console.log(amountText('bytes', 10_000_000_000), amountText('runs', 500)); // 10 GB 500 runs
 * ```
 */
export function amountText(resource: QuotaResource, count: number): string {
  if (resource !== 'bytes') return `${count} ${count === 1 ? resource.slice(0, -1) : resource}`;
  let value = count;
  let unit = 0;
  while (value >= 1_000 && unit < UNITS.length - 1) {
    value /= 1_000;
    unit++;
  }
  return `${Number(value.toPrecision(4))} ${UNITS[unit] ?? ''}`;
}
