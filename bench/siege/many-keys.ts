/** One user with many keys: as many requests as come through, and as many streams. */
import { Agent, request, type ClientRequest } from 'node:http';

export type AskPlan = {
  readonly port: number;
  readonly keys: readonly string[];
  readonly seconds: number;
  readonly atOnce: number;
  /** Streams that each key asks for. */
  readonly streamsPerKey: number;
};

export type AskCounts = {
  readonly statuses: Record<string, number>;
  /** Streams that were open at the same time. */
  readonly streams: number;
  /** Answers 429 or 503 without `Retry-After`. */
  readonly withoutRetry: number;
};

const REFILL_MS = 2_000;
const STREAM_EVERY_MS = 6;

/** Asks as fast as it can, with one key after the other. */
export async function askOften(plan: AskPlan): Promise<AskCounts> {
  const { port, keys, seconds, atOnce, streamsPerKey } = plan;
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce });
  const statuses: Record<string, number> = {};
  let withoutRetry = 0;
  const send = (key: string, path: string, isStream: boolean): Promise<ClientRequest | undefined> =>
    new Promise((resolve) => {
      const outgoing = request({
        ...(isStream ? { agent: false } : { agent }),
        host: '127.0.0.1',
        localAddress: '127.0.0.4',
        port,
        path,
        headers: { authorization: `Bearer ${key}` },
      });
      outgoing.on('response', (response) => {
        const { statusCode = 0, headers } = response;
        if ((statusCode === 429 || statusCode === 503) && headers['retry-after'] === undefined)
          withoutRetry += 1;
        response.resume();
        response.on('error', () => undefined);
        if (isStream) return resolve(statusCode === 200 ? outgoing : undefined);
        statuses[statusCode] = (statuses[statusCode] ?? 0) + 1;
        response.on('close', () => resolve(undefined));
      });
      outgoing.on('error', () => {
        statuses['cut'] = (statuses['cut'] ?? 0) + 1;
        resolve(undefined);
      });
      outgoing.end();
    });
  const endMs = performance.now() + 1_000 * seconds;
  let next = 0;
  const ask = async (): Promise<void> => {
    while (performance.now() < endMs)
      await send(keys[next++ % keys.length] ?? '', '/api/v1/projects', false);
  };
  await Promise.all(Array.from({ length: atOnce }, ask));
  const streams: ClientRequest[] = [];
  // The rate is used up; streams are counted by themselves.
  await pause(REFILL_MS);
  for (let i = 0; i < streamsPerKey * keys.length; i++) {
    const one = await send(keys[i % keys.length] ?? '', '/api/v1/events', true);
    await pause(STREAM_EVERY_MS);
    if (one !== undefined) streams.push(one);
    // After a while of refusals there is nothing more to come.
    else if (i > streams.length + 100) break;
  }
  for (const one of streams) one.destroy();
  agent.destroy();
  return { statuses, streams: streams.length, withoutRetry };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
