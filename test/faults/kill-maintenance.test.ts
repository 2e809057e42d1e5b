/**
 * Several processes merge on one PostgreSQL database and bucket, while others write and one reads, and are killed at
 * random: everything acknowledged is there exactly once at every moment, and in the end no object is left over.
 */
import { AwsClient } from 'aws4fetch';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Maintenance } from '../../src/service/maintenance/maintenance.ts';
import { openPostgresSpaces } from '../../src/store/sql/node/postgres-storage.ts';
import { checkS3Options } from '../../src/store/objects/s3-config.ts';
import { S3Objects } from '../../src/store/objects/s3-objects.ts';
import { readMetricColumns } from '../../src/read/metric-columns.ts';
import type { Store } from '../../src/store/store.ts';
import { ROWS, valueAt } from '../support/metric-segments.ts';
import { makeSchema, type TestSchema } from '../support/postgres.ts';
import { rounds } from '../support/property.ts';
import { openS3Place, type S3Place } from '../support/s3-place.ts';
import { runOf } from '../support/segments.ts';
import type { MaintenanceTask } from './maintenance-program.ts';
import { buildProgram, Child, type Program } from './processes.ts';

const KILLS = rounds(2);
const MAX_LIFE_MS = 400;
/** So short that uploads which are slow are swept under the merges that wait for them. */
const KEEP_LOOSE_MS = 300;
const SPACE = 'ada/vision';
const RUN_IDS = ['run_a', 'run_b'];
const WRITERS = ['w1', 'w2'];

let program: Program;
let schema: TestSchema;
let bucket: S3Place;

beforeAll(async () => {
  [program, schema, bucket] = await Promise.all([
    buildProgram('maintenance-program.ts'),
    makeSchema(),
    openS3Place(),
  ]);
}, 120_000);
afterAll(async () => {
  await program.remove();
  await schema.remove();
  await bucket.close();
});

/** What is wrong with a run, given how many batches of each writer were acknowledged. */
async function inspect(
  store: Store,
  runId: string,
  kept: ReadonlyMap<string, number>,
): Promise<string[]> {
  const wrong: string[] = [];
  const { damage, keys, keyIndex, steps, values } = await readMetricColumns({ store, runId });
  wrong.push(...damage.map((report) => report.reason));
  const seen = new Map<string, Set<number>>();
  for (let i = 0; i < values.length; i++) {
    const key = keys[keyIndex[i] ?? 0] ?? '';
    const step = steps[i] ?? -1;
    const known = seen.get(key) ?? new Set();
    if (known.has(step)) wrong.push(`${key} ${step} is there twice`);
    if (values[i] !== valueAt(step)) wrong.push(`${key} ${step} is ${values[i]}`);
    seen.set(key, known.add(step));
  }
  for (const [name, batches] of kept) {
    const [ofRun, writer] = name.split(' ');
    if (ofRun !== runId) continue;
    const known = seen.get(`train/${writer}`) ?? new Set();
    for (let step = 0; step < batches * ROWS; step++)
      if (!known.has(step)) wrong.push(`${name} ${step} is lost`);
  }
  return wrong;
}

test(
  `${KILLS} maintenance processes killed while others write and read`,
  async () => {
    const { endpoint, bucket: name, accessKeyId, secretAccessKey } = bucket.options;
    const objects = { endpoint, bucket: name, accessKeyId, secretAccessKey };
    const rules = { minBytes: 1, keepLooseMs: KEEP_LOOSE_MS };
    const spaces = await openPostgresSpaces(schema.uri, { objects, segmentFiles: rules });
    const store = spaces.store(SPACE);
    for (const id of RUN_IDS) await store.createRun(runOf({ id, document: '{}' }));
    const task: MaintenanceTask = {
      uri: schema.uri,
      space: SPACE,
      objects,
      keepLooseMs: KEEP_LOOSE_MS,
      runIds: RUN_IDS,
    };
    const start = (writerId?: string): Child =>
      new Child(program, [JSON.stringify(writerId === undefined ? task : { ...task, writerId })]);
    const writers = WRITERS.map((writerId) => start(writerId));
    const acknowledged = (): Map<string, number> =>
      new Map(
        writers
          .flatMap((writer) => writer.lines)
          .flatMap((line) => {
            const [word, runId, writer, count] = line.split(' ');
            return word === 'kept' ? [[`${runId} ${writer}`, Number(count)] as const] : [];
          }),
      );
    const said: string[] = [];
    let maintainers = [start(), start()];
    await Promise.all([...writers, ...maintainers].map((child) => child.line('ready')));
    for (let kill = 0; kill < KILLS; kill++) {
      const next = start();
      const [victim, ...others] = maintainers;
      // Streams are due from the start, not only once they have many segments.
      await schema.query('UPDATE merge_queue SET due_at_ms = 0 WHERE claimed_until_ms = 0');
      // A reader all the while: what was acknowledged before it looked is there.
      const until = Date.now() + Math.random() * MAX_LIFE_MS;
      do {
        for (const runId of RUN_IDS)
          expect(await inspect(store, runId, acknowledged())).toEqual([]);
      } while (Date.now() < until);
      await victim?.line('merged');
      await victim?.kill();
      said.push(...(victim?.lines ?? []));
      maintainers = [...others, next];
    }
    await expect.poll(() => acknowledged().size).toBe(RUN_IDS.length * WRITERS.length);
    for (const child of [...writers, ...maintainers]) await child.kill();
    said.push(...maintainers.flatMap((child) => child.lines));
    const kept = acknowledged();
    // The processes did work, and failed at nothing but uploads that were swept under them.
    expect(said.filter((line) => line.startsWith('merged')).length).toBeGreaterThanOrEqual(KILLS);
    expect(said.filter((line) => line.startsWith('failed') && !/swept/.test(line))).toEqual([]);

    // Whoever comes last finishes what the dead have left.
    const maintenance = new Maintenance(spaces, { sweepMs: 1, clock: lateClock(3_600_000) });
    await expect
      .poll(
        async () => {
          await maintenance.runOnce();
          return [
            await maintenance.countBacklog(),
            await schema.query('SELECT * FROM loose_objects'),
          ];
        },
        { timeout: 60_000 },
      )
      .toEqual([0, []]);
    for (const runId of RUN_IDS) expect(await inspect(store, runId, kept)).toEqual([]);
    const inBucket: string[] = [];
    for await (const { key } of new S3Objects(checkS3Options(bucket.options), AwsClient).list(
      'segments/',
    ))
      inBucket.push(key);
    const named = await schema.query('SELECT object_key FROM segment_objects ORDER BY object_key');
    expect(inBucket.length).toBeGreaterThan(0);
    expect(new Set(inBucket)).toEqual(new Set(named.map((row) => row['object_key'])));
    await spaces.close();
  },
  60_000 + 5_000 * KILLS,
);

/** Ahead by so much: claims of the dead have lapsed for it. */
function lateClock(aheadMs: number): { now(): number; after(): () => void } {
  return { now: () => Date.now() + aheadMs, after: () => () => undefined };
}
