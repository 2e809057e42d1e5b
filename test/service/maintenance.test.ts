import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { readMetricColumns } from '../../src/read/metric-columns.ts';
import { sha256Hex } from '../../src/store/blob-rules.ts';
import { metricSegments, ROWS, valueAt } from '../support/metric-segments.ts';
import { openS3Place, type S3Place } from '../support/s3-place.ts';
import { bytesOf, runOf } from '../support/segments.ts';
import { ask, RunningServices, storeOf } from './running-service.ts';

const services = new RunningServices();
let bucket: S3Place;
beforeAll(async () => {
  bucket = await openS3Place();
});
afterEach(async () => {
  bucket.calls.length = 0;
  await services.clear();
});
afterAll(() => bucket.close());

test('a service merges on the side, keeps large things in its bucket, and counts both', async () => {
  const service = await services.start({
    objects: bucket.options,
    maintenance: { intervalMs: 1 },
  });
  const store = await storeOf(service);
  await store.createRun(runOf());
  await store.appendSegments(metricSegments('run_1', 0, 640));
  const list = (): Promise<unknown[]> =>
    store.listSegments({ runId: 'run_1', table: 'metrics' }).then((all) => [...all]);
  await expect.poll(async () => (await list()).length).toBeLessThan(10);
  const { damage, values } = await readMetricColumns({ store, runId: 'run_1' });
  expect(damage).toEqual([]);
  expect(Array.from(values)).toEqual(Array.from({ length: 640 * ROWS }, (_, i) => valueAt(i)));
  const blob = bytesOf(300_000);
  const hash = (await sha256Hex(blob)) ?? '';
  await store.putBlob(hash, blob);
  expect((await store.getBlob(hash))?.byteLength).toBe(300_000);
  expect(bucket.calls.some((call) => call.method === 'PUT' && call.path.endsWith(hash))).toBe(true);
  const { text } = await ask(service.port, '/metrics');
  expect(Number(/^quark_merged_segments_total (\d+)$/m.exec(text)?.[1])).toBeGreaterThanOrEqual(
    640,
  );
  expect(text).toMatch(/^quark_merge_backlog 0$/m);
  expect(text).toMatch(/^quark_maintenance_failures_total 0$/m);
  expect(services.lines.find((line) => line['msg'] === 'maintenance merged')).toMatchObject({
    table: 'metrics',
  });
  await store.close();
});

test('a service that cannot use its bucket does not start, and says why', async () => {
  const start = (objects: S3Place['options']): Promise<unknown> => services.start({ objects });
  await expect(start({ ...bucket.options, bucket: 'not-there' })).rejects.toMatchObject({
    reason: 'missing',
    message: expect.stringContaining('QUARK_S3_BUCKET'),
  });
  await expect(start({ ...bucket.options, secretAccessKey: 'wrong' })).rejects.toMatchObject({
    reason: 'unauthorised',
  });
  await expect(start({ ...bucket.options, endpoint: 'nowhere' })).rejects.toMatchObject({
    details: { field: 's3.endpoint' },
  });
});

test('maintenance can be left to others', async () => {
  const service = await services.start({ maintenance: false });
  expect((await ask(service.port, '/metrics')).text).not.toContain('quark_merge');
});
