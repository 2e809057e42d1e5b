/** Amounts on the command line: numbers of bytes with their units, and numbers of other things. */
import { amountText, QUOTA_RESOURCES, type QuotaResource } from '../../service.ts';
import { UsageError } from './args.ts';

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  pb: 1e15,
  kib: 1024,
  mib: 1024 ** 2,
  gib: 1024 ** 3,
  tib: 1024 ** 4,
  pib: 1024 ** 5,
};

/**
 * So many bytes, runs or segments: `10GB`, `1.5TiB`, `500`.
 *
 * @throws {UsageError} naming where it was given
 */
export function parseAmount(where: string, resource: QuotaResource, text: string): number {
  const [, digits = '', unit = ''] = /^(\d{1,16}(?:\.\d{1,6})?) ?([a-z]{0,3})$/i.exec(text) ?? [];
  const factor = resource === 'bytes' ? UNITS[unit.toLowerCase()] : unit === '' ? 1 : undefined;
  const amount = digits === '' || factor === undefined ? Number.NaN : Number(digits) * factor;
  const whole = resource === 'bytes' ? Math.round(amount) : amount;
  if (Number.isSafeInteger(whole)) return whole;
  const rule = resource === 'bytes' ? 'a number of bytes such as 500MB or 10GiB' : 'a whole number';
  throw new UsageError(`${where} must be ${rule}; got "${text}"`);
}

/** The quotas of users for whom nothing else was set, from options or the environment. */
export function defaultQuotas(
  given: (resource: QuotaResource) => readonly [where: string, text: string | undefined],
): { readonly [R in QuotaResource]?: number } {
  return Object.fromEntries(
    QUOTA_RESOURCES.flatMap((resource) => {
      const [where, text] = given(resource);
      return text === undefined || text === ''
        ? []
        : [[resource, parseAmount(where, resource, text)]];
    }),
  );
}

/** `used of limit`, in words. */
export function useText(resource: QuotaResource, used: number, limit: number | null): string {
  const all = amountText(resource, used);
  if (limit === null) return all;
  const part = limit === 0 ? '' : ` (${Math.round((100 * used) / limit)} %)`;
  return `${all} of ${amountText(resource, limit)}${part}`;
}
