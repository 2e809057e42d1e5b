/** A service that its user trusts with records does not get to name things in the store of its client. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openHttpStorage } from '../../../src/wire/http-store.ts';
import { createStoreHandler } from '../../../src/service/routes/handler.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import type { Store, StoredRun } from '../../../src/store/store.ts';
import { OutboxStore } from '../../../src/sync/outbox-store.ts';
import { FastClock } from '../../support/fast-clock.ts';
import { runOf, segmentOf } from '../../support/segments.ts';

const RUN_ID = 'run_1';
let local: Store;
let service: Store;
let outbox: OutboxStore;

beforeEach(() => {
  local = createMemoryStore();
  service = createMemoryStore();
  outbox = new OutboxStore({
    local,
    ownsLocal: false,
    openRemote: async () => service,
    remoteUri: 'https://service.test/',
    space: 'default',
    clock: new FastClock(),
    random: () => 1,
  });
});
afterEach(async () => {
  await outbox.close();
  await service.close();
  await local.close();
});

/** A run at the service, under a project of the name that it says. */
async function there(change: Partial<StoredRun>): Promise<void> {
  const run = runOf(change);
  const project = { id: run.projectId, name: run.projectName, createdAtMs: run.startedAtMs };
  await service.ensureProject(project);
  await service.createRun(run);
}

const told = (more: object): string => JSON.stringify({ id: RUN_ID, ...more });
const HOSTILE: readonly (readonly [string, Partial<StoredRun>])[] = [
  ['run.projectName', { projectName: 'digits\n\u001b[2J' }],
  ['run.projectName', { projectName: 'x'.repeat(10_000) }],
  ['run.tags', { tags: ['good', 'bad\u0007'] }],
  ['run.tags', { tags: Array.from({ length: 300 }, (_, i) => `tag ${i}`) }],
  ['run.status.length', { status: 'running'.repeat(100) }],
  ['run.document.id', { document: told({ id: '../../../x' }) }],
  ['run.document.project_name', { document: told({ project_name: 'another' }) }],
  ['run.document.tags', { document: told({ tags: ['\u001b]0;x'] }) }],
];

describe('a run that is gone on with here', () => {
  test.each(HOSTILE)('is not taken over where %s is no name (%#)', async (field, change) => {
    await there(change);
    await expect(outbox.appendSegments([segmentOf(0)])).rejects.toMatchObject({
      code: 'store_failed',
      reason: 'rejected',
      details: { field },
    });
    expect(await local.listRuns()).toEqual([]);
    expect(await local.listProjects()).toEqual([]);
  });

  test('is taken over with names as people give them, and a document of another version', async () => {
    await there({ projectName: 'Ziffern – Übung', tags: ['a b', '数字'], document: '{"v":2}' });
    await outbox.appendSegments([segmentOf(0)]);
    expect(await local.findRun(RUN_ID)).toMatchObject({
      projectName: 'Ziffern – Übung',
      tags: ['a b', '数字'],
    });
  });
});

describe('answers of a service', () => {
  /** The client of a service that says one thing for another. */
  async function lying(from: string, to: string): Promise<Store> {
    const handler = createStoreHandler({ writable: true });
    return openHttpStorage('http://127.0.0.1', {
      fetch: async (request) => {
        const answer = await handler.handle(request, { store: service });
        const text = (await answer.text()).replaceAll(from, to);
        const headers = new Headers(answer.headers);
        headers.delete('content-length');
        return new Response(text, { status: answer.status, headers });
      },
    });
  }

  test.each(['"../../run"', '".."', '"a/b"', '"run_2"'])(
    'another run than was asked for: %s',
    async (id) => {
      await there({});
      const client = await lying('"run_1"', id);
      await expect(client.findRun(RUN_ID)).rejects.toMatchObject({
        reason: 'rejected',
        details: { field: expect.stringMatching(/run/) },
      });
      if (id !== '"run_2"')
        await expect(client.listRuns()).rejects.toMatchObject({ reason: 'rejected' });
      await client.close();
    },
  );

  test('a project whose id is no name', async () => {
    await there({});
    const client = await lying('"project_1"', '"../project"');
    await expect(client.listProjects()).rejects.toMatchObject({ reason: 'rejected' });
    await expect(client.listRuns()).rejects.toMatchObject({ reason: 'rejected' });
    await client.close();
  });
});
