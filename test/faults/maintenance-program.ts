/** A process that writes small segments, or one that merges them, until it is killed. */
import { writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { startMaintenance } from '../../src/service/maintenance/maintenance.ts';
import { openPostgresSpaces } from '../../src/store/sql/node/postgres-storage.ts';
import type { S3Options } from '../../src/store/objects/s3-config.ts';
import { metricSegments } from '../support/metric-segments.ts';

/** What the process is told by its argument. */
export type MaintenanceTask = {
  readonly uri: string;
  readonly space: string;
  readonly objects: Pick<S3Options, 'endpoint' | 'bucket' | 'accessKeyId' | 'secretAccessKey'>;
  readonly keepLooseMs: number;
  readonly runIds: readonly string[];
  /** Set for one that writes: what it calls itself. */
  readonly writerId?: string;
};

const task = JSON.parse(process.argv[2] ?? '{}') as MaintenanceTask;
const spaces = await openPostgresSpaces(task.uri, {
  objects: task.objects,
  segmentFiles: { minBytes: 1, keepLooseMs: task.keepLooseMs },
  maxConnections: 4,
});

if (task.writerId === undefined) {
  startMaintenance(spaces, {
    intervalMs: 10,
    streams: 2,
    mergeSegments: 64,
    claimMs: 1000,
    restMs: 1,
    sweepMs: 100,
    onReport: (report) => {
      const what = report.kind === 'failed' ? `${report.what}: ${report.message}` : '';
      writeSync(1, `${report.kind} ${what}\n`);
    },
  });
  writeSync(1, 'ready\n');
  // Its timers keep no process alive.
  setInterval(() => undefined, 60_000);
} else {
  const { writerId } = task;
  const store = spaces.store(task.space);
  for (const runId of task.runIds) await store.renewLease(runId, writerId, 3_600_000);
  writeSync(1, 'ready\n');
  for (let batch = 0; ; batch += 4) {
    for (const runId of task.runIds) {
      const segments = metricSegments(runId, batch, 4, writerId);
      await store.appendSegments(segments);
      writeSync(1, `kept ${runId} ${writerId} ${batch + 4}\n`);
      // What was acknowledged is sent again now and then, as by a client that did not hear the answer.
      if (batch % 24 === 0) await store.appendSegments(segments);
    }
    // A steady load: what is at stake is the processes that merge.
    await pause(50);
  }
}
