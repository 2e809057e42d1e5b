/**
 * A process to be killed while it deletes: makes runs, deletes, restores and purges them, and says on stdout what it is about to do and
 * what was done. A run is one of three kinds at the end of each round, or somewhere between two of them.
 */
import { writeSync } from 'node:fs';
import { openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import { openPostgresStorage } from '../../src/store/sql/node/postgres-storage.ts';
import { makeRun, segmentOf } from '../faults/rows.ts';
import { DELETED_TABLE_ROWS, DELETED_WRITERS } from './deletion-plan.ts';

const [place = '', life = ''] = process.argv.slice(2);
const say = (line: string): void => {
  writeSync(1, `${line}\n`);
};
const open = place.startsWith('postgresql:') ? openPostgresStorage : openFileStorage;
const store = await open(place);
say('ready');
for (let i = 0; ; i++) {
  const runId = `run_${life}_${i}`;
  await makeRun(store, runId);
  // Many segments, so that removing them takes a while.
  for (const writer of DELETED_WRITERS)
    await store.appendSegments(
      Array.from({ length: 4 }, (_, batch) => segmentOf(writer, batch, DELETED_TABLE_ROWS, runId)),
    );
  say(`made ${runId}`);
  if (i % 5 === 4) continue;
  say(`deleting ${runId}`);
  await store.deleteRun(runId, { keepMs: 3_600_000 });
  say(`deleted ${runId}`);
  if (i % 5 === 1) {
    say(`restoring ${runId}`);
    await store.restoreRun(runId);
    say(`restored ${runId}`);
  } else if (i % 5 !== 3) {
    say(`purging ${runId}`);
    await store.purgeDeletedRuns(undefined, [runId]);
    say(`purged ${runId}`);
  }
}
