/** Part 4: what one user gets with one key, and with thirty. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Helper } from './children.ts';
import type { AskCounts } from './many-keys.ts';
import { criterion, statusText, type Report, type Siege } from './report.ts';
import { addRows, makeScene, RUN_ID } from './scene.ts';
import { ServiceUnderSiege } from './service.ts';

const KEYS = 30;
const AT_ONCE = 48;
/** What one user may have open with all keys (`streamsPerUser`). */
const STREAMS = 256;
/** What thirty keys may get more than one: parts of a second that the rounds differ by. */
const SPARE = 1.25;

export async function siegeOfKeys(siege: Siege): Promise<Report> {
  const { one, many } = await makeScene(siege.folder, async (scene) => {
    const store = await scene.store('many');
    await addRows(store, RUN_ID, 10_000);
    await addRows(await scene.store('one'), RUN_ID, 10_000);
    const keys: string[] = [];
    for (let i = 0; i < KEYS; i++) keys.push(await scene.key('many', 'read'));
    return { one: [await scene.key('one', 'read')], many: keys };
  });
  const service = await ServiceUnderSiege.start(siege.dist, siege.folder);
  const asking = new Helper(siege.program, false);
  try {
    const seconds = siege.isLong ? 15 : 5;
    const plan = { port: service.port, seconds, atOnce: AT_ONCE, streamsPerKey: 80 };
    const before = await asking.do<AskCounts>({ kind: 'often', plan: { ...plan, keys: one } });
    await sleep(1_000);
    const after = await asking.do<AskCounts>({ kind: 'often', plan: { ...plan, keys: many } });
    const backMs = await service.settled(10_000);
    const good = (counts: AskCounts): number => counts.statuses['200'] ?? 0;
    const row = (name: string, counts: AskCounts): string[] => [
      name,
      statusText(counts.statuses),
      String(counts.streams),
    ];
    const missing = before.withoutRetry + after.withoutRetry;
    return {
      tables: [
        {
          title: `One user's keys: as many requests as come through in ${seconds} s, then as many streams`,
          head: ['keys', 'statuses', 'streams'],
          rows: [row('1', before), row(String(KEYS), after)],
        },
      ],
      criteria: [
        criterion(
          'keys: thirty keys get no more requests than one',
          good(after) <= SPARE * good(before),
          `${good(before)} and ${good(after)}`,
        ),
        criterion(
          `keys: thirty keys have at most the ${STREAMS} streams of a user`,
          after.streams <= STREAMS,
          `${before.streams} and ${after.streams}`,
        ),
        criterion(
          'keys: 429 says when to come back',
          missing === 0,
          `${missing} without Retry-After`,
        ),
        criterion(
          'keys: budgets are back afterwards',
          backMs !== undefined,
          backMs === undefined ? 'not in 10 s' : 'back',
        ),
      ],
    };
  } finally {
    asking.stop();
    await service.stop();
  }
}
