/** A segment is checked by its sender and by the service, once each, on its way through an outbox to PostgreSQL. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { ArtifactStore } from '../../src/instruments/artifacts/artifact-store.ts';
import { serveService, type ServedService } from '../../src/service/node/serve-service.ts';
import { MetricsLogger } from '../../src/session/metrics-logger.ts';
import { TrainingSession } from '../../src/session/training-session.ts';
import type { NewSegment } from '../../src/store/store.ts';
import { openHttpStorage } from '../../src/wire/http-store.ts';
import { makeSchema, type TestSchema } from '../support/postgres.ts';
import { metricSegmentOf } from '../support/real-segments.ts';
import { RUN_ID, runOf } from '../support/segments.ts';

const checked = vi.hoisted(() => new Map<string, number>());
const contents = vi.hoisted(() => new Map<string, number>());
const hashed = vi.hoisted(() => new Map<string, number>());

const count = vi.hoisted(() => (counts: Map<string, number>, name: string): void => {
  counts.set(name, (counts.get(name) ?? 0) + 1);
});

const countAll = vi.hoisted(() => (segments: readonly NewSegment[]): void => {
  for (const { manifest } of segments)
    count(checked, `${manifest.table}/${manifest.writerId}/${manifest.batchNumber}`);
});

vi.mock(import('../../src/store/segment-rules.ts'), async (original) => {
  const rules = await original();
  return {
    ...rules,
    checkNewSegments: (segments) => {
      countAll(segments);
      rules.checkNewSegments(segments);
    },
    checkTableSegments: (runId, table, segments) => {
      countAll(segments);
      rules.checkTableSegments(runId, table, segments);
    },
    checkReplacement: (runId, table, remove, add) => {
      countAll(add);
      rules.checkReplacement(runId, table, remove, add);
    },
  };
});
vi.mock(import('../../src/segment/check-segment.ts'), async (original) => {
  const rules = await original();
  return {
    ...rules,
    checkSegmentContent: (segment) => {
      const { batchNumber, table, writerId } = segment.manifest;
      count(contents, `${table}/${writerId}/${batchNumber}`);
      return rules.checkSegmentContent(segment);
    },
  };
});
vi.mock(import('../../src/store/blob-rules.ts'), async (original) => {
  const rules = await original();
  return {
    ...rules,
    checkBlob: (sha256, bytes) => {
      count(hashed, sha256);
      return rules.checkBlob(sha256, bytes);
    },
  };
});

let folder = '';
let schema: TestSchema;
let service: ServedService;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quark-checked-'));
  schema = await makeSchema();
  service = await serveService({ storage: schema.uri, port: 0, keyless: 'always' });
}, 120_000);
afterAll(async () => {
  await service.close();
  await schema.remove();
  await rm(folder, { recursive: true, force: true });
});

const url = (): string => `http://127.0.0.1:${service.port}/`;

test('a recorded segment and a blob are checked twice: as they are recorded, and as they arrive', async () => {
  await TrainingSession.run(
    { project: 'p', storageDir: folder, persistenceUrl: url() },
    async (session) => {
      const metrics = new MetricsLogger(session);
      for (let step = 0; step < 100; step++) metrics.log('train/loss', step, { step });
      await metrics.flush();
      await new ArtifactStore(session).store('checkpoint', 'weights', new Uint8Array(4_000));
      expect(await session.synced({ timeoutMs: 20_000 })).toMatchObject({ state: 'idle' });
    },
  );
  expect([...contents.keys()].some((name) => name.startsWith('metrics/'))).toBe(true);
  // What the local store merged afterwards stays there.
  expect(new Set([...contents.keys()].map((name) => checked.get(name)))).toEqual(new Set([2]));
  expect([...new Set(contents.values())]).toEqual([1]);
  expect([...hashed.values()]).toEqual([2]);
});

test('what another client appends, merges and replaces is checked by that client and by the service', async () => {
  checked.clear();
  contents.clear();
  const store = await openHttpStorage(url());
  await store.createRun(runOf());
  const segment = metricSegmentOf(0);
  const [stored] = await store.appendSegments([segment]);
  if (stored === undefined) throw new Error('Nothing was appended.');
  expect([...checked.values()]).toEqual([2]);
  checked.clear();
  const merged = { manifest: stored, bytes: segment.bytes };
  expect(await store.replaceSegments(RUN_ID, 'metrics', [stored], [merged])).toBe(true);
  expect([...checked.values()]).toEqual([2]);
  checked.clear();
  await store.replaceTable(RUN_ID, 'metrics', [metricSegmentOf(5)]);
  expect([...checked.values()]).toEqual([2]);
  await store.close();
});
