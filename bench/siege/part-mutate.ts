/** Part 6: what a real client sends, with one thing wrong in each request. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { random as randomFrom } from '../../test/support/tensors.ts';
import { footprintOf, growthOf } from './growth.ts';
import { criterion, progress, statusText, type Report, type Siege } from './report.ts';
import { addArtifact, addRows, makeScene, noise, RUN_ID, sha256Of } from './scene.ts';
import { ask, ServiceUnderSiege } from './service.ts';
import { exchange, requestBytes } from './wire/exchange.ts';
import { mutated, type MutatedRequest } from './wire/mutations.ts';
import { recordTraffic, type RecordedRequest } from './wire/recorder.ts';

const SHORT = 2_000;
const LONG = 10_000;
const ATTACKERS = 24;
const AT_ONCE = 8;
/** Requests between two measures of everything that has to be as before. */
const MEASURED_FROM = 0.2;
const MAX_WAITS = 20;
/** Of a sibling: the run that the mutated requests are about, in the space of each attacker. */
export const TARGET_RUN = 'run_target';

/** Users of this part: those whose requests go wrong, and one who must not notice. */
export type MutateScene = { readonly attackers: readonly string[]; readonly victim: string };

export type MutateCounts = {
  readonly requests: number;
  readonly kinds: ReadonlyMap<string, Record<string, number>>;
  readonly wrong: readonly string[];
};

/** Writes the users. @param attackers how many */
export function makeMutateScene(storage: string, attackers: number): Promise<MutateScene> {
  return makeScene(storage, async (scene) => {
    const store = await scene.store('victim');
    await addRows(store, RUN_ID, 10_000);
    await addArtifact(store, RUN_ID, noise(randomFrom(5), 300_000));
    const keys: string[] = [];
    for (let i = 0; i < attackers; i++) keys.push(await scene.key(`attacker${i}`, 'write'));
    return { attackers: keys, victim: await scene.key('victim') };
  });
}

/** All that a user can see of their own, as a hash of each answer. */
export async function visibleTo(port: number, key: string): Promise<readonly string[]> {
  const run = `/api/v1/runs/${RUN_ID}`;
  const paths = [
    '/api/v1/projects',
    '/api/v1/runs?limit=500',
    run,
    `${run}/tables`,
    `${run}/tables/metrics/segments`,
    `${run}/tables/artifacts/segments`,
    `${run}/tables/metrics/rows?format=jsonl&limit=2000`,
    '/api/v1/leases',
    '/api/v1/keys',
    '/api/v1/shares',
  ];
  const found: string[] = [];
  for (const path of paths) {
    const headers = { authorization: `Bearer ${key}` };
    const { status, text } = await ask(port, path, { headers });
    found.push(`${path}: ${status} ${sha256Of(new TextEncoder().encode(text))}`);
  }
  return found;
}

/** Records the traffic of a client, and lets every attacker send it once as it is. */
export async function prepareTraffic(
  port: number,
  { attackers }: MutateScene,
): Promise<readonly RecordedRequest[]> {
  const folder = await mkdtemp(join(tmpdir(), 'quark-siege-client-'));
  const client = { folder, userKey: attackers[0] ?? '', runId: TARGET_RUN };
  const traffic = await recordTraffic(port, client);
  for (const key of attackers.slice(1))
    for (const { headers, ...request } of traffic) {
      const own = headers.filter(([name]) => name.toLowerCase() !== 'authorization');
      const sent = { ...request, headers: [...own, ['authorization', `Bearer ${key}`] as const] };
      await exchange(requestBytes(sent, port), { port });
    }
  return traffic;
}

/** Sends mutated requests, from the first to the one before the last. */
export async function sendMutated(
  port: number,
  plan: {
    readonly traffic: readonly RecordedRequest[];
    readonly scene: MutateScene;
    readonly seed: number;
    readonly first: number;
    readonly last: number;
  },
): Promise<MutateCounts> {
  const { traffic, seed, first, last } = plan;
  const { attackers } = plan.scene;
  const kinds = new Map<string, Record<string, number>>();
  const wrong: string[] = [];
  let next = first;
  const work = async (): Promise<void> => {
    while (next < last && wrong.length < 50) {
      const i = next++;
      const key = attackers[i % attackers.length] ?? '';
      // Of each request its own, so that it is the same whatever the others draw.
      const random = randomFrom(seed * 1_000_003 + i);
      const one = mutated(traffic, i, { port, key, random });
      const answers = await Promise.all(
        Array.from({ length: one.isDoubled === true ? 2 : 1 }, () => sendUntilTurn(port, one)),
      );
      for (const { status, text } of answers) {
        const statuses = kinds.get(one.kind) ?? {};
        statuses[status] = (statuses[status] ?? 0) + 1;
        kinds.set(one.kind, statuses);
        if (status >= 500 || status < 0)
          wrong.push(`${i} ${one.kind}: ${one.what}: ${status} ${text.slice(-300)}`);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { requests: next - first, kinds, wrong };
}

/** Waits where a user is told to: those refusals say nothing of the request. */
async function sendUntilTurn(port: number, one: MutatedRequest) {
  for (let wait = 0; ; wait++) {
    const answer = await exchange(one.bytes, { port, isCut: one.isCut });
    const retryAfter = /^retry-after: (\d+)/im.exec(answer.text)?.[1];
    const isEarly = answer.status === 429 || answer.status === 503;
    if (!isEarly || retryAfter === undefined || wait === MAX_WAITS) return answer;
    await sleep(Number(retryAfter) * 1_000);
  }
}

export async function siegeOfMutated(siege: Siege): Promise<Report> {
  const count = siege.isLong ? LONG : SHORT;
  const scene = await makeMutateScene(siege.folder, ATTACKERS);
  const service = await ServiceUnderSiege.start(siege.dist, siege.folder);
  try {
    const { port } = service;
    const traffic = await prepareTraffic(port, scene);
    const seen = await visibleTo(port, scene.victim);
    const warm = Math.floor(count * MEASURED_FROM);
    const plan = { traffic, scene, seed: siege.seed };
    const early = await sendMutated(port, { ...plan, first: 0, last: warm });
    const before = await footprintOf(service, siege.folder);
    progress(`mutate: ${warm} of ${count}`);
    const late = await sendMutated(port, { ...plan, first: warm, last: count });
    const after = await footprintOf(service, siege.folder);
    const wrong = [...early.wrong, ...late.wrong];
    const seenAfter = await visibleTo(port, scene.victim);
    const requests = early.requests + late.requests;
    return {
      tables: [
        {
          title: `${requests} mutated requests over ${traffic.length} recorded ones (statuses; 0: the connection was closed)`,
          head: ['what is wrong', 'statuses'],
          rows: [...late.kinds].map(([kind, statuses]) => [kind, statusText(statuses)]),
        },
      ],
      criteria: [
        criterion(
          'mutate: no 5xx, and an answer or a closed connection to everything',
          wrong.length === 0 && service.isRunning,
          wrong.length === 0 ? `${requests} requests` : wrong.slice(0, 5).join(' | '),
        ),
        criterion(
          'mutate: nothing of another user has changed',
          JSON.stringify(seen) === JSON.stringify(seenAfter),
          seenAfter.find((line, i) => line !== seen[i]) ?? `${seen.length} answers are the same`,
        ),
        ...growthOf('mutate', before, after),
      ],
      figures: [`${requests} mutated requests`],
    };
  } finally {
    await service.stop();
  }
}
