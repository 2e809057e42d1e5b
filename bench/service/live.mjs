// 200 runs at once: what a service has to take from a team that trains.
import { median } from '../harness.mjs';
import { startService } from './processes.mjs';

const RUNS = 200;
const USERS = 10;
const METRICS = 50;
const STEPS_PER_SECOND = 10;
const POINTS_PER_REQUEST = METRICS * STEPS_PER_SECOND;

/** Each run sends once a second, spread over it. A request that is late is sent as soon as it can be. */
export async function runLive({ program, parts, storage, seconds }) {
  const service = await startService(program, { storage, users: USERS });
  const stores = await Promise.all(
    service.keys.map((userKey) => parts.openHttpStorage(service.uri, { userKey })),
  );
  const ids = Array.from({ length: RUNS }, (_, i) => `run_live_${i}`);
  for (const [i, id] of ids.entries()) await parts.addRun(stores[i % USERS], id);

  const acknowledgedMs = [];
  const memory = [];
  const cpuBefore = (await service.stats()).cpu;
  const startMs = performance.now();
  const watch = setInterval(async () => {
    memory.push((await service.stats()).memory.rss / 2 ** 20);
  }, 1000);
  let late = 0;
  await Promise.all(
    ids.map(async (id, i) => {
      for (let second = 0; second < seconds; second++) {
        const dueMs = startMs + 1000 * (second + i / RUNS);
        const waitMs = dueMs - performance.now();
        if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
        else late = Math.max(late, -waitMs);
        const segment = parts.segmentOfBatch(id, second, POINTS_PER_REQUEST, METRICS);
        const sentMs = performance.now();
        await stores[i % USERS].appendSegments([segment]);
        acknowledgedMs.push(performance.now() - sentMs);
      }
    }),
  );
  const spentMs = performance.now() - startMs;
  clearInterval(watch);
  const { cpu } = await service.stats();
  let kept = 0;
  for (const [i, id] of ids.entries())
    for (const { rowCount } of await stores[i % USERS].listSegments({
      runId: id,
      table: 'metrics',
    }))
      kept += rowCount;
  const sent = RUNS * seconds * POINTS_PER_REQUEST;
  for (const store of stores) await store.close();
  await service.stop();

  const sorted = acknowledgedMs.toSorted((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  const part = (from, to) =>
    median(memory.slice(Math.floor(from * memory.length), Math.ceil(to * memory.length)));
  const cpuMs = (cpu.user + cpu.system - cpuBefore.user - cpuBefore.system) / 1000;
  const row = (what, value, unit, target) => ({ what, value, unit, target });
  return [
    row(`${RUNS} runs, ${seconds} s: points a second`, (sent / spentMs) * 1000, '', '100,000'),
    row('  points lost', sent - kept, '', '0'),
    row('  acknowledgement, median', median(sorted), 'ms'),
    row('  acknowledgement, 99 of 100', at(0.99), 'ms', 'under 500'),
    row('  acknowledgement, slowest', sorted.at(-1), 'ms'),
    row('  the client itself was late by up to', late, 'ms'),
    row('  processor time of the service, of one core', (100 * cpuMs) / spentMs, '%'),
    row('  memory of the service, second quarter', part(0.25, 0.5), 'MiB'),
    row('  memory of the service, last quarter', part(0.75, 1), 'MiB', 'flat'),
  ];
}
