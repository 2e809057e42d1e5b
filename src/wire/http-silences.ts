/** What is said of alerts, over HTTP: parts of the store in `http-store.ts`. */
import type { NewSilence, SilencedAlerts } from '../records/shapes/silence.ts';
import { storedName } from '../schema/record.ts';
import type { HttpClient } from './http-client.ts';
import { Fields } from './wire.ts';

/** Silences alerts of a run; resolves to when, in UTC epoch milliseconds. */
export async function silenceThere(
  client: HttpClient,
  runId: string,
  silence: NewSilence,
): Promise<number> {
  const fields = Object.entries(silence).map(([name, value]) => [storedName(name), value] as const);
  const message = { silence: Object.fromEntries(fields) };
  const answer = await client.json('PUT /runs/:runId/silences', { params: { runId }, message });
  return new Fields('silence', answer.get('silence')).number('at_ms');
}

/** Takes back what was said of alerts; resolves to when. */
export async function unsilenceThere(
  client: HttpClient,
  runId: string,
  { metricKey, moduleName, ruleId }: SilencedAlerts,
): Promise<number> {
  const query = {
    ruleId,
    moduleName: moduleName ?? undefined,
    metricKey: metricKey ?? undefined,
  };
  const answer = await client.json('DELETE /runs/:runId/silences', { params: { runId }, query });
  return answer.number('at_ms');
}
