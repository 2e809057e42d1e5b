// One process of `writers.mjs`: starts a run, records for as long as it is told, and says how it went. Sent over IPC.
import { nextTurn } from './turns.mjs';

const [, , sdkUrl, folder, seconds, batch] = process.argv;
const sdk = await import(sdkUrl);
const told = () => new Promise((resolve) => process.once('message', resolve));

const names = Array.from({ length: 20 }, (_, i) => `group${i % 4}/metric_${i}`);

/** Logs steps until `isOver`; returns how many, and the longest one. */
async function record(session, isOver) {
  const metrics = new sdk.MetricsLogger(
    session,
    batch === 'default' ? {} : { batchSize: Number(batch) },
  );
  let step = 0;
  let longestMs = 0;
  for (; !isOver(step); step++) {
    const before = performance.now();
    for (const name of names)
      metrics.log(name, Math.exp(-step / 1e5) + (step % 7) * 1e-3, { step });
    longestMs = Math.max(longestMs, performance.now() - before);
    if (step % 5 === 4) await nextTurn();
  }
  return { metrics, points: step * names.length, longestMs };
}

// What is compiled once is not counted.
const own = await sdk.startRun({
  project: 'warm',
  storage: `${folder}-${process.pid}`,
  handleSignals: false,
});
await record(own, (step) => step === 3000);
await own.endRun();
await own.close();
process.send({ isReady: true });
await told();
const asked = performance.now();
const session = await sdk.startRun({ project: 'growth', storage: folder, handleSignals: false });
process.send({ startMs: performance.now() - asked });
await told();

const cpu = process.cpuUsage();
const until = performance.now() + 1000 * Number(seconds);
const { metrics, points, longestMs } = await record(session, () => performance.now() >= until);
const loggedMs = performance.now();
await session.flush();
const flushMs = performance.now() - loggedMs;
const used = process.cpuUsage(cpu);
process.send({
  points,
  flushMs,
  longestMs,
  cpuMs: (used.user + used.system) / 1000,
  dropped: metrics.status.droppedRows,
});
await told();
const ending = performance.now();
await session.endRun();
await session.close();
process.send({ endMs: performance.now() - ending });
process.disconnect();
