// What it costs an append that usage is counted, and that quotas are checked.
//
//   npm run bench -- quotas [--rounds=9] [--appends=400]
//
// The same appends (one segment of 100 rows, one run, one after the other) in turn: without counters (the same program, with the
// statement left out), with counters, with a quota of which little is used, and with one of which much is, so that each append reads
// the counters. SQLite in a folder, and PostgreSQL. Needs no build.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { bundle } from '../test/support/bundle.mjs';
import { median, report } from './harness.mjs';
import { startPostgres, workplace } from './service/processes.mjs';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    appends: { type: 'string', default: '400' },
  },
});
const APPENDS = Number(options.appends);
const COUNTS = '...counts,';

const { root, remove } = await workplace();
const counting = await bundle('bench/service/bench-parts.ts', { folder: join(root, 'counting') });
const text = await readFile(counting, 'utf8');
if (text.split(COUNTS).length !== 2) throw new Error('The statement that counts has another name.');
const plainFile = join(root, 'counting', 'plain.mjs');
await writeFile(plainFile, text.replace(COUNTS, ''));
// A module of its own for each case: what the engine learns of one makes no other faster.
const load = (file, name) => import(`${pathToFileURL(file).href}?${name}`);

const limits = (bytes) => ({ bytes, runs: null, segments: null });
const quotasOf = (bytes) => {
  let atMs = 0;
  let found;
  // As a service does: read again after a second.
  return async () => {
    if (performance.now() > atMs + 1000) {
      atMs = performance.now();
      found = { user: limits(bytes), projects: new Map(), onUse: () => undefined, hasRoom: false };
    }
    return found;
  };
};
const CASES = [
  ['without counters', await load(plainFile, 0), undefined],
  ['with counters', await load(counting, 1), undefined],
  ['with a quota, little of it used', await load(counting, 2), quotasOf(1e15)],
  ['with a quota, read for each append', await load(counting, 3), quotasOf(3e9)],
];

const rows = [];
const postgres = await startPostgres();
for (const where of postgres === undefined ? ['SQLite'] : ['SQLite', 'PostgreSQL']) {
  const uri = (i) => (where === 'SQLite' ? join(root, `store-${i}`) : postgres.uri);
  const times = CASES.map(() => []);
  const opened = [];
  for (const [i, [, from, quotas]] of CASES.entries()) {
    const spaces = await from.openSpaces(uri(i));
    const store = spaces.store(`user_${process.pid}${i}/bench`, quotas && { quotas });
    opened.push({ spaces, store, from });
  }
  for (let round = -1; round < Number(options.rounds); round++) {
    const runId = `run_${round + 1}`;
    for (const { store, from } of opened) await from.addRun(store, runId);
    const made = opened.map(({ from }) =>
      Array.from({ length: 50 }, (_, batch) => from.segmentOfBatch(runId, batch, 100, 5)),
    );
    // One append of each in turn, another one first each time: what else the machine does meets all alike.
    for (let batch = 0; batch < APPENDS; batch++)
      for (let turn = 0; turn < opened.length; turn++) {
        const i = (batch + turn) % opened.length;
        const { store } = opened[i];
        const { manifest, bytes } = made[i][batch % 50];
        const startMs = performance.now();
        await store.appendSegments([{ manifest: { ...manifest, batchNumber: batch }, bytes }]);
        if (round >= 0) times[i].push(performance.now() - startMs);
      }
  }
  for (const { spaces } of opened) await spaces.close();
  const base = median(times[0]);
  for (const [i, [what]] of CASES.entries()) {
    const ms = median(times[i]);
    rows.push({ what: `${where}, ${what}: an append`, value: ms, unit: 'ms' });
    if (i > 0)
      rows.push({ what: `${where}, ${what}: more`, value: (100 * (ms - base)) / base, unit: '%' });
  }
}
await postgres?.stop();
await remove();
await report('quotas', rows);
