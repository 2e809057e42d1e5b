// What it costs that a write waits for the disk before it is acknowledged, and what committing together brings.
//
//   npm run bench -- durability [--rounds=5] [--seconds=2]
//
// The store of a service in a folder, in each mode; so many callers at once, each with a run of its own, that append one small segment
// (100 rows) after the other. With one caller nothing is committed together. Needs no build.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { median, report } from './harness.mjs';
import { workplace } from './service/processes.mjs';

const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, seconds: { type: 'string', default: '2' } },
});
const MODES = ['normal', 'full'];
const CALLERS = [1, 4, 16, 64];
const ROWS = 100;

const { root, parts, remove } = await workplace();
const found = new Map();
for (let round = 0; round < Number(options.rounds); round++)
  for (const callers of CALLERS)
    for (const mode of MODES) {
      const folder = join(root, `${round}-${callers}-${mode}`);
      const store = await parts.openFileStorage(`file:${encodeURI(folder)}?synchronous=${mode}`);
      const waits = [];
      const runIds = Array.from({ length: callers }, (_, i) => `run_${i}`);
      for (const runId of runIds) await parts.addRun(store, runId);
      const endMs = performance.now() + 1000 * Number(options.seconds);
      await Promise.all(runIds.map((runId) => append(store, runId, endMs, waits)));
      if (waits.length === 0) throw new Error('Nothing was appended.');
      await store.close();
      await rm(folder, { recursive: true, force: true });
      const known = found.get(`${callers} ${mode}`) ?? { rates: [], medians: [] };
      found.set(`${callers} ${mode}`, known);
      known.rates.push(waits.length / Number(options.seconds));
      known.medians.push(median(waits));
    }
await remove();

async function append(store, runId, endMs, waits) {
  const segments = Array.from({ length: 50 }, (_, i) => parts.segmentOfBatch(runId, i, ROWS, 5));
  for (let batch = 0; performance.now() < endMs; batch++) {
    const { manifest, bytes } = segments[batch % segments.length];
    const startMs = performance.now();
    await store.appendSegments([{ manifest: { ...manifest, batchNumber: batch }, bytes }]);
    waits.push(performance.now() - startMs);
  }
}

await report(
  'durability',
  CALLERS.flatMap((callers) =>
    MODES.flatMap((mode) => {
      const { rates, medians } = found.get(`${callers} ${mode}`);
      const what = `${callers} at once, synchronous=${mode}`;
      return [
        { what: `${what}: appends`, value: median(rates), unit: '1/s' },
        { what: `${what}: median wait`, value: median(medians), unit: 'ms' },
      ];
    }),
  ),
);
