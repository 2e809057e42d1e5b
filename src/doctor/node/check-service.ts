/** A service as a client sees it: whether it answers, in which version, with which clock, and what it says of its database. */
import { isQuarkError, messageOf } from '../../base/errors.ts';
import { PROTOCOL_HEADER, SPOKEN_VERSIONS } from '../../wire/protocol.ts';
import { openHttpStorage } from '../../wire/http-store.ts';
import { reportClock } from './check-surroundings.ts';
import type { Report } from './finding.ts';

/** How a service is asked. */
export type ServiceCheckOptions = {
  readonly userKey?: string | undefined;
  /** For one answer, in milliseconds. */
  readonly timeoutMs: number;
};

/** Asks a service; returns how many runs the key can list there. */
export async function checkService(
  url: string,
  { timeoutMs, userKey }: ServiceCheckOptions,
  report: Report,
): Promise<number | undefined> {
  const where = new URL(url).origin;
  const start = Date.now();
  let answer: Response;
  try {
    answer = await fetch(new URL('/readyz', url), {
      headers: { [PROTOCOL_HEADER]: SPOKEN_VERSIONS.join(', ') },
      signal: AbortSignal.timeout(timeoutMs),
    });
    await answer.arrayBuffer();
  } catch (error) {
    report({
      severity: 'error',
      code: 'service_unreachable',
      where,
      message: `The service does not answer: ${messageOf(error)}.`,
      advice: 'See that it runs, that its address is right, and that no proxy is in the way.',
    });
    return undefined;
  }
  if (!answer.ok)
    report({
      severity: 'error',
      code: 'service_not_ready',
      where,
      message: `The service answers and takes no requests (${answer.status}).`,
      advice: 'Its log and /readyz say why: usually its database is away.',
    });
  const date = Date.parse(answer.headers.get('date') ?? '');
  // To a whole second.
  if (!Number.isNaN(date)) reportClock(where, date + 500 - (start + Date.now()) / 2, report);
  return answer.ok ? askAsClient(url, where, { timeoutMs, userKey }, report) : undefined;
}

async function askAsClient(
  url: string,
  where: string,
  { timeoutMs, userKey }: ServiceCheckOptions,
  report: Report,
): Promise<number | undefined> {
  try {
    const store = await openHttpStorage(url, {
      timeoutMs,
      ...(userKey === undefined ? {} : { userKey }),
    });
    try {
      const { length } = await store.listRuns();
      const isDurable = await store.isDurable?.();
      if (isDurable === false)
        report({
          severity: 'note',
          code: 'durability_normal',
          where,
          message:
            'The service acknowledges what has reached the operating system, and does not wait for the disk.',
          advice:
            'A power cut can take the last seconds: clients send them again. See "synchronous" in docs/stores.md.',
        });
      return length;
    } finally {
      await store.close();
    }
  } catch (error) {
    if (!isQuarkError(error)) throw error;
    const reason = String(error.details['reason']);
    report({
      severity: 'error',
      code: reason === 'unauthorised' ? 'service_refuses_key' : 'service_fails',
      where,
      message: error.message,
      advice:
        reason === 'unauthorised'
          ? 'Set QUARK_USER_KEY to a key that is valid ("quark keys list" at the service).'
          : reason === 'version'
            ? 'Update the older of the two: client and service have no version of the protocol in common.'
            : 'The log of the service says more.',
    });
    return undefined;
  }
}
