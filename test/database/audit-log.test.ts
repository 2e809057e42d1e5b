/** The audit log, on each database that can hold it: every act has its line, lines are only added, and read page by page. */
import { timingSafeEqual } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AccessBook } from '../../src/service/access/access-book.ts';
import { type AuditLog, MACHINE, type Actor } from '../../src/service/access/audit-log.ts';
import { auditStore } from '../../src/service/access/audited.ts';
import { storedSpace } from '../../src/service/access/principal.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { openSpaces } from '../../src/store/sql/node/open-spaces.ts';
import type { StoreSpaces } from '../../src/store/sql/sql-store.ts';
import { AUDIT_ACTIONS, decodeAuditLine, encodeAuditLine } from '../../src/wire/audit-messages.ts';
import { DATABASES, type DatabaseLocation } from '../support/databases.ts';
import { runs } from '../support/property.ts';

describe.each(DATABASES)('on %s', (_name, makeLocation) => {
  let location: DatabaseLocation;
  let spaces: StoreSpaces;
  let access: AccessBook;
  let audit: AuditLog;
  const clock = { nowMs: 0, now: (): number => clock.nowMs };

  beforeEach(async () => {
    clock.nowMs = 1_700_000_000_000;
    location = await makeLocation();
    spaces = await openSpaces(location.uri, { clock });
    access = new AccessBook({ database: spaces.database, clock, timingSafeEqual });
    audit = access.audit;
  }, 120_000);
  afterEach(async () => {
    await spaces.close();
    await location.remove();
  });

  const acts = async (): Promise<readonly (readonly [string, string])[]> =>
    (await audit.list({ after: 0 })).map((line) => [line.action, line.targetId] as const);

  it('keys, users and shares leave a line each, in the transaction of the change', async () => {
    const actor: Actor = { keyId: 'qk_000000000000', userId: null, from: '192.0.2.7' };
    const made = await access.createKey({ user: 'alice', scope: 'admin' }, { actor });
    const alice = await access.identify(made.key);
    const { keyId } = await access.createKey({ user: 'bob', label: 'laptop' });
    const [, bob] = await access.listUsers();
    const space = storedSpace(alice.userId, 'default');
    await spaces.store(space).ensureProject({ id: 'p', name: 'digits', createdAtMs: 1 });
    const share = { owner: 'alice', project: 'digits', user: 'bob' };
    await access.share({ ...share, access: 'write' });
    await access.unshare(share);
    await access.unshare(share);
    await access.revokeKey(keyId);
    clock.nowMs += 5;
    await access.revokeKey(keyId);
    expect(await acts()).toEqual([
      ['user.create', alice.userId],
      ['key.create', made.keyId],
      ['user.create', bob?.id],
      ['key.create', keyId],
      ['share.put', 'digits'],
      ['share.remove', 'digits'],
      ['key.revoke', keyId],
    ]);
    const [, first] = await audit.list({ after: 0 });
    expect(first).toMatchObject({
      atMs: 1_700_000_000_000,
      keyId: 'qk_000000000000',
      userId: null,
      from: '192.0.2.7',
      targetKind: 'key',
      ownerId: alice.userId,
      detail: { user: 'alice', scope: 'admin' },
    });
    expect(JSON.stringify(await audit.list())).not.toContain(made.key.slice(15, 40));
    // What is undone has no line either.
    const refused = access.createKey(
      { user: 'carol' },
      {
        // oxlint-disable-next-line require-yield -- it throws at once
        *condition() {
          throw new Error('not so');
        },
      },
    );
    await expect(refused).rejects.toThrow('not so');
    expect(await acts()).toHaveLength(7);
    expect(await access.listUsers()).toHaveLength(2);
  });

  it('a line that is added twice in one act is there once; two acts are two lines', async () => {
    const act = { action: 'run.delete', target: { kind: 'run', id: 'r1' } } as const;
    const add = audit.adding(MACHINE);
    await spaces.database.transaction(() => add(act));
    await spaces.database.transaction(() => add(act));
    await audit.record({ ...MACHINE, ...act });
    expect(await acts()).toEqual([
      ['run.delete', 'r1'],
      ['run.delete', 'r1'],
    ]);
  });

  it('is filtered, and read page by page in both directions', async () => {
    const made = await access.createKey({ user: 'alice' });
    const alice = await access.identify(made.key);
    for (let i = 0; i < 25; i++) {
      clock.nowMs += 1_000;
      await audit.record({
        ...MACHINE,
        userId: i % 2 === 0 ? alice.userId : null,
        action: i % 5 === 0 ? 'run.purge' : 'run.delete',
        target: { kind: 'run', id: `r${i}` },
        ownerId: i < 10 ? alice.userId : 'other',
        space: 'default',
      });
    }
    const all = await audit.list({ after: 0, limit: 500 });
    expect(all).toHaveLength(27);
    const forward: number[] = [];
    for (let after = 0; ; after = forward.at(-1) ?? 0) {
      const page = await audit.list({ after, limit: 4 });
      forward.push(...page.map(({ id }) => id));
      if (page.length < 4) break;
    }
    expect(forward).toEqual(all.map(({ id }) => id));
    const [latest] = await audit.list({ limit: 1 });
    expect(latest).toEqual(all.at(-1));
    expect(await audit.list({ before: latest?.id ?? 0, limit: 500 })).toEqual(
      all.slice(0, -1).toReversed(),
    );
    const ids = async (filter: Parameters<AuditLog['list']>[0]): Promise<readonly string[]> =>
      (await audit.list({ after: 0, ...filter })).map(({ targetId }) => targetId);
    expect(await ids({ action: 'run.purge' })).toEqual(['r0', 'r5', 'r10', 'r15', 'r20']);
    expect(await ids({ action: 'run' })).toHaveLength(25);
    expect(await ids({ action: 'ru' })).toEqual([]);
    expect(await ids({ user: 'alice' })).toHaveLength(13);
    expect(await ids({ target: 'r7' })).toEqual(['r7']);
    expect(await ids({ sinceMs: clock.nowMs - 1_000, untilMs: clock.nowMs - 1_000 })).toEqual([
      'r23',
    ]);
    // What is one's own, and what one did.
    expect(await audit.list({ after: 0, limit: 500 }, 'other')).toHaveLength(15);
    expect(await audit.list({ after: 0, limit: 500 }, alice.userId)).toHaveLength(2 + 10 + 8);
  });

  it('any text is a line, cut to what a line can hold, and travels as it is', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'binary', maxLength: 2_000 }),
        fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()),
        async (text, detail) => {
          await audit.record({
            keyId: null,
            userId: null,
            from: text,
            claimedFrom: text,
            action: 'run.delete',
            target: { kind: 'run', id: text },
            detail,
          });
          const [line] = await audit.list({ limit: 1 });
          expect(line?.targetId.length).toBeLessThanOrEqual(512);
          expect(JSON.stringify(line?.detail).length).toBeLessThan(5_000);
          if (line !== undefined)
            expect(decodeAuditLine(JSON.parse(JSON.stringify(encodeAuditLine(line))))).toEqual(
              JSON.parse(JSON.stringify(line)),
            );
        },
      ),
      runs(40),
    );
  });

  it('a filter that makes no sense is refused', async () => {
    const wrong: readonly object[] = [
      { after: -1 },
      { after: 1.5 },
      { after: 1, before: 2 },
      { action: '' },
      { action: 7 },
      { user: 'x'.repeat(513) },
      { target: 'a\0b' },
      { sinceMs: Number.NaN },
      { limit: 0 },
      { limit: 501 },
      { colour: 'red' },
    ];
    for (const filter of wrong)
      await expect(audit.list(filter)).rejects.toMatchObject({ code: 'invalid_input' });
  });
});

it('a call of a store that deletes is recorded before it is carried out, and its failure after', async () => {
  const lines: unknown[] = [];
  const audit = {
    record: async (line: { readonly action: string; readonly detail?: unknown }) => {
      lines.push([line.action, line.detail ?? null]);
    },
  } as unknown as AuditLog;
  const calls: string[] = [];
  const base = createMemoryStore();
  const deleting = Object.assign(Object.create(base) as typeof base, {
    findRun: async (id: string) => (id === 'there' ? { id } : undefined),
    deleteRun: async (id: string) => {
      calls.push(`${id} after ${lines.length}`);
      if (id !== 'there') throw new Error('no such run');
    },
    purgeDeletedRuns: async () => {
      throw new Error('away');
    },
  });
  const store = auditStore(deleting, { audit, actor: MACHINE, storedName: 'user_1/default' });
  const call = (name: string, ...args: unknown[]): unknown =>
    (Reflect.get(store, name) as (...given: unknown[]) => unknown)(...args);
  await call('deleteRun', 'there');
  await expect(call('deleteRun', 'never')).rejects.toThrow('no such run');
  await expect(call('purgeDeletedRuns', 1)).rejects.toThrow('away');
  expect(calls).toEqual(['there after 1', 'never after 1']);
  expect(lines).toEqual([
    ['run.delete', {}],
    ['run.purge', {}],
    ['run.purge', { failed: 'failed' }],
  ]);
});

it('no statement of the sources changes or removes a line', async () => {
  const root = join(import.meta.dirname, '../../src');
  const files = (await readdir(root, { recursive: true })).filter((name) => name.endsWith('.ts'));
  const naming: string[] = [];
  for (const file of files) {
    const text = await readFile(join(root, file), 'utf8');
    if (text.includes('audit_log')) naming.push(file);
    expect(text, file).not.toMatch(/(?:UPDATE|DELETE\s+FROM|DROP\s+TABLE|TRUNCATE)\s+audit_log/i);
  }
  expect(naming.sort()).toEqual(['service/access/audit-log.ts', 'store/sql/sql-layout.ts']);
  expect(new Set(AUDIT_ACTIONS).size).toBe(AUDIT_ACTIONS.length);
});
