/** PostgreSQL for who may only read: a role without the right to write, and a server, such as a standby, that only reads. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCli } from '../../src/cli/cli.ts';
import { openPostgresStorage } from '../../src/store/sql/node/postgres-storage.ts';
import { FakeIo } from '../cli/fake-io.ts';
import { makeSchema, type TestSchema } from '../support/postgres.ts';
import { RUN_ID, runOf, segmentOf } from '../support/segments.ts';

const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

describe('who may only read', () => {
  let readable: TestSchema;
  const role = `quark_reader_${randomUUID().replaceAll('-', '')}`;

  beforeAll(async () => {
    readable = await makeSchema();
    const store = await openPostgresStorage(readable.uri);
    await store.createRun(runOf());
    await store.appendSegments([segmentOf(0)]);
    await store.close();
    const name = new URL(readable.uri).searchParams.get('options')?.split('=')[1] ?? '';
    await readable.query(`CREATE ROLE ${role} LOGIN PASSWORD 'reads'`);
    await readable.query(`GRANT USAGE ON SCHEMA ${name} TO ${role}`);
    await readable.query(`GRANT SELECT ON ALL TABLES IN SCHEMA ${name} TO ${role}`);
  });
  afterAll(async () => {
    await readable.query(`DROP OWNED BY ${role}`);
    await readable.query(`DROP ROLE ${role}`);
    await readable.remove();
  });

  function uriOf(as: 'role' | 'standby' | 'standby behind a pooler'): string {
    const uri = new URL(readable.uri);
    if (as === 'role') [uri.username, uri.password] = [role, 'reads'];
    // What a standby does, and a role that is set so.
    else
      uri.searchParams.set(
        'options',
        `${uri.searchParams.get('options')} -c default_transaction_read_only=on`,
      );
    if (as === 'standby behind a pooler') uri.searchParams.set('pooler', 'true');
    return uri.href;
  }

  test.each([
    ['role', 'unauthorised'],
    ['standby', 'unwritable'],
    ['standby behind a pooler', 'unwritable'],
  ] as const)(
    'a %s reads all there is; what would change it is refused as %s',
    async (as, reason) => {
      const store = await openPostgresStorage(uriOf(as), { create: false });
      const [run] = await store.listRuns();
      expect(run).toMatchObject({ id: RUN_ID });
      const segments = await store.listSegments({ runId: RUN_ID, table: 'metrics' });
      expect(await store.readSegments(segments)).toMatchObject([{ kind: 'bytes' }]);
      expect(await store.listStreams?.(RUN_ID)).toHaveLength(1);
      expect(await store.listLeases()).toEqual([]);
      for (const change of [
        () => store.createRun(runOf({ id: 'run_2' })),
        () => store.appendSegments([segmentOf(1)]),
        () => store.renewLease(RUN_ID, 'holder', 1000),
        () => store.releaseLease(RUN_ID, 'holder'),
        () => store.putBlob(EMPTY_SHA256, new Uint8Array(0)),
      ])
        await expect(change()).rejects.toMatchObject({ code: 'store_failed', reason });
      expect(await store.listRuns()).toHaveLength(1);
      await store.close();
    },
  );

  test.each(['role', 'standby'] as const)('quark runs lists the runs for a %s', async (as) => {
    const io = new FakeIo({ cwd: '/' });
    expect(await runCli(['runs', '--storage', uriOf(as), '--json'], io)).toBe(0);
    expect(JSON.parse(io.out)).toMatchObject([{ id: RUN_ID }]);
  });
});
