/** Part 3: connections that send or read too slowly. */
import { Helper } from './children.ts';
import { everydayOf, makeLeaveScene } from './part-leave.ts';
import { criterion, ms, quantile, statusText, type Report, type Siege } from './report.ts';
import type { SlowCounts } from './slow.ts';
import { ServiceUnderSiege } from './service.ts';

const USERS = 8;
const ROWS = 400_000;
/** What the service says of itself: heads within 15 s. Bodies and readers have 120 s, which only the long form waits for. */
const HEADERS_LIMIT_SECONDS = 15;
const BODY_LIMIT_SECONDS = 120;
const SPARE_SECONDS = 2;
const ADDRESSES = 10;
const VICTIM_EVERY_MS = 1_000;

export async function siegeOfSlow(siege: Siege): Promise<Report> {
  const sizes = { users: USERS, rows: ROWS, blobBytes: 1 << 20 };
  const rest = { requests: 0, largeUploads: 0, largeBytes: 0, floods: 0, atOnce: 0 };
  const { users } = await makeLeaveScene(siege.folder, { ...sizes, ...rest }, siege.seed);
  const service = await ServiceUnderSiege.start(siege.dist, siege.folder);
  const slow = new Helper(siege.program, true);
  try {
    const marks = [
      HEADERS_LIMIT_SECONDS + SPARE_SECONDS,
      ...(siege.isLong ? [BODY_LIMIT_SECONDS + SPARE_SECONDS] : []),
    ];
    const counts = { headers: 1_500, body: 100, reader: 60, idle: 100 };
    const plan = { port: service.port, users: users.slice(1), counts, marks, addresses: ADDRESSES };
    const over = new AbortController();
    const holding = slow.do<SlowCounts>({ kind: 'slow', plan }).finally(() => over.abort());
    const statuses: number[] = [];
    const times: number[] = [];
    const [victim = { name: '', key: '' }] = users;
    for (let i = 0; !over.signal.aborted; i++) {
      const startMs = performance.now();
      statuses.push(...(await everydayOf(service.port, victim, i % 8)));
      times.push(performance.now() - startMs);
      const waitMs = VICTIM_EVERY_MS - (performance.now() - startMs);
      await new Promise((resolve) => {
        setTimeout(resolve, Math.max(0, waitMs));
      });
    }
    const held = await holding;
    const backMs = await service.settled(10_000);
    const notIn = statuses.filter((status) => status !== 200);
    const [early] = held.alive;
    const late = held.alive.at(-1);
    const rows = held.alive.map(({ atSeconds, headers, body, reader, idle }) => [
      `${atSeconds} s after the last was opened`,
      `${headers} of ${counts.headers}`,
      `${body} of ${counts.body}`,
      `${reader} of ${counts.reader}`,
      `${idle} of ${counts.idle}`,
    ]);
    return {
      tables: [
        {
          title: `Connections that never get on, from ${ADDRESSES} addresses (sent to them: ${statusText(held.statuses)})`,
          head: ['alive', 'heads', 'bodies', 'readers', 'silent'],
          rows,
        },
      ],
      criteria: [
        criterion(
          'slow: no head that trickles is alive 2 s after its limit',
          early?.headers === 0,
          `${early?.headers} of ${counts.headers}`,
        ),
        ...(siege.isLong
          ? [
              criterion(
                'slow: no body that trickles is alive 2 s after its limit',
                late?.body === 0,
                `${late?.body} of ${counts.body}`,
              ),
            ]
          : []),
        criterion(
          'slow: others get in meanwhile',
          notIn.length === 0,
          `${statuses.length - notIn.length} of ${statuses.length}; slowest four in ${ms(quantile(times, 1))} ms${notIn.length === 0 ? '' : `; ${notIn.join(', ')}`}`,
        ),
        criterion(
          'slow: budgets are back once they are gone',
          backMs !== undefined,
          backMs === undefined ? 'not in 10 s' : `${ms(backMs)} ms`,
        ),
      ],
    };
  } finally {
    slow.stop();
    await service.stop();
  }
}
