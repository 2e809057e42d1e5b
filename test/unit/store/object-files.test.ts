import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SegmentFiles } from '../../../src/store/sql/object-files.ts';
import {
  numberCell,
  ONLY_ATTEMPT,
  sql,
  type SqlAttempt,
  type SqlRow,
  type SqlWork,
} from '../../../src/store/sql/sql-database.ts';
import type { SegmentManifest, Store } from '../../../src/store/store.ts';
import {
  KEEP_LOOSE_MS,
  KEEP_UNKNOWN_MS,
  openObjectSpaces,
  type ObjectSpaces,
} from '../../support/object-spaces.ts';
import { runs } from '../../support/property.ts';
import { mergeOf, RUN_ID, runOf, segmentOf } from '../../support/segments.ts';
import { TestClock } from '../../support/clock.ts';

const MINUTE_MS = 60_000;
let clock: TestClock;
let spaces: ObjectSpaces;
let store: Store;

async function open(): Promise<void> {
  clock = new TestClock(1_700_000_000_000);
  spaces = await openObjectSpaces(clock);
  store = spaces.store('a');
  await store.createRun(runOf());
}

const list = (): Promise<readonly SegmentManifest[]> =>
  store.listSegments({ runId: RUN_ID, table: 'metrics' });

async function count(table: string): Promise<number> {
  return spaces.database.read(function* (): SqlWork<number> {
    const [row] = yield sql(`SELECT count(*) FROM ${table}`);
    return row === undefined ? 0 : numberCell(row, 0);
  });
}

let merges = 0;

/** Merges all live segments into one. */
async function mergeAll(): Promise<boolean> {
  const live = await list();
  const merged = mergeOf(live, { writerId: `merge_${merges++}`, batchNumber: 0 });
  return store.replaceSegments(RUN_ID, 'metrics', live, [merged]);
}

async function expectAllReadable(): Promise<void> {
  const live = await list();
  const reads = await store.readSegments(live);
  expect(reads.map((read) => read.kind)).toEqual(live.map(() => 'bytes'));
}

describe('merged segments as objects', () => {
  beforeEach(open);
  afterEach(() => spaces.close());

  test('are read from there, and go some time after they were merged away', async () => {
    await store.appendSegments([segmentOf(0), segmentOf(1)]);
    expect(await mergeAll()).toBe(true);
    const [old] = await list();
    if (old === undefined) throw new Error('There is a segment.');
    expect([await count('segment_bytes'), spaces.objects.objects.size]).toEqual([0, 1]);
    await store.appendSegments([segmentOf(2)]);
    expect(await mergeAll()).toBe(true);
    await expectAllReadable();
    // A reader that has listed before the merge is told to list again, whether the object is there or not.
    expect(await store.readSegments([old])).toEqual([{ kind: 'gone' }]);
    clock.advance(KEEP_LOOSE_MS - 1);
    expect(await spaces.segmentFiles.sweep()).toBe(0);
    expect(spaces.objects.objects.size).toBe(2);
    clock.advance(1);
    expect(await spaces.segmentFiles.sweep()).toBe(1);
    expect([spaces.objects.objects.size, await count('loose_objects')]).toEqual([1, 0]);
    await expectAllReadable();
  });

  test('an object that goes while it is read is gone, one that is lost is damage', async () => {
    await store.appendSegments([segmentOf(0), segmentOf(1)]);
    await mergeAll();
    const before = await list();
    // Between the look into the database and the request for the object, the segment is merged and swept away.
    let hasMerged = false;
    const get = spaces.objects.get.bind(spaces.objects);
    spaces.objects.get = async (key) => {
      if (!hasMerged) {
        hasMerged = true;
        await store.appendSegments([segmentOf(2)]);
        const live = await list();
        const merged = mergeOf(live, { writerId: 'other', batchNumber: 0 });
        await store.replaceSegments(RUN_ID, 'metrics', live, [merged]);
        clock.advance(KEEP_LOOSE_MS);
        await spaces.segmentFiles.sweep();
      }
      return get(key);
    };
    expect(await store.readSegments(before)).toEqual([{ kind: 'gone' }]);
    spaces.objects.objects.clear();
    const [read] = await store.readSegments(await list());
    expect(read).toMatchObject({ kind: 'damaged', reason: expect.stringContaining('missing') });
  });

  test('an object that is cut off is damage, and an object store that fails is an error', async () => {
    await store.appendSegments([segmentOf(0)]);
    await mergeAll();
    for (const object of spaces.objects.objects.values()) object.bytes = object.bytes.slice(1);
    const [read] = await store.readSegments(await list());
    expect(read).toMatchObject({ kind: 'damaged', reason: expect.stringContaining('100 bytes') });
    spaces.objects.fault = () => {
      throw new Error('no line');
    };
    await expect(store.readSegments(await list())).rejects.toThrow('no line');
  });

  test('an upload that fails changes nothing, and what it left is swept', async () => {
    await store.appendSegments([segmentOf(0), segmentOf(1)]);
    const before = await list();
    for (const when of [false, true]) {
      spaces.objects.fault = (what, isDone) => {
        if (what === 'put' && isDone === when) throw new Error('no line');
      };
      await expect(mergeAll()).rejects.toThrow('no line');
    }
    spaces.objects.fault = undefined;
    expect(await list()).toEqual(before);
    expect([spaces.objects.objects.size, await count('loose_objects')]).toEqual([1, 2]);
    clock.advance(KEEP_LOOSE_MS);
    expect(await spaces.segmentFiles.sweep()).toBe(2);
    expect([spaces.objects.objects.size, await count('loose_objects')]).toEqual([0, 0]);
  });

  test('a merge whose upload took so long that it was swept is refused, and nothing is lost', async () => {
    await store.appendSegments([segmentOf(0), segmentOf(1)]);
    const before = await list();
    let isFirst = true;
    spaces.objects.fault = (what, isDone) => {
      if (what !== 'put' || !isDone || !isFirst) return;
      isFirst = false;
      clock.advance(KEEP_LOOSE_MS);
    };
    // The sweep comes between the upload and the transaction.
    const transaction = spaces.database.transaction.bind(spaces.database);
    let calls = 0;
    spaces.database.transaction = async (work, lane) => {
      if (++calls === 3) {
        calls = 1000;
        await spaces.segmentFiles.sweep();
      }
      return transaction(work, lane);
    };
    await expect(mergeAll()).rejects.toMatchObject({ reason: 'busy' });
    spaces.database.transaction = transaction;
    expect(await list()).toEqual(before);
    await expectAllReadable();
    expect(await mergeAll()).toBe(true);
    await expectAllReadable();
  });

  test('a sweep that fails is taken up by the next one', async () => {
    await store.appendSegments([segmentOf(0), segmentOf(1)]);
    await mergeAll();
    await store.appendSegments([segmentOf(2)]);
    await mergeAll();
    clock.advance(KEEP_LOOSE_MS);
    for (const when of [false, true]) {
      spaces.objects.fault = (what, isDone) => {
        if (what === 'delete' && isDone === when) throw new Error('no line');
      };
      await expect(spaces.segmentFiles.sweep()).rejects.toThrow('no line');
      expect(await count('loose_objects')).toBe(1);
    }
    spaces.objects.fault = undefined;
    expect(await spaces.segmentFiles.sweep()).toBe(1);
    expect(await count('loose_objects')).toBe(0);
    await expectAllReadable();
  });

  test('replacing the table lets its objects go', async () => {
    await store.appendSegments([segmentOf(0), segmentOf(1)]);
    await mergeAll();
    await store.replaceTable(RUN_ID, 'metrics', [segmentOf(5)]);
    expect([await count('segment_objects'), await count('loose_objects')]).toEqual([0, 1]);
    await expectAllReadable();
  });

  test('an object that a merge takes while rows are looked through is known, old as it may be', async () => {
    const key = 'segments/db/xx/old';
    let looks = 0;
    const written: string[] = [];
    const answer = (text: string): SqlRow[] => {
      if (text.startsWith('INSERT')) written.push(text);
      if (text.includes('FROM database_names')) return [['db']];
      if (!text.startsWith('SELECT')) return [];
      // The merge is committed between the first look and the second.
      const isMerged = looks++ > 0;
      return isMerged === text.includes('FROM segment_objects') ? [[key]] : [];
    };
    const run = async <T>(work: (attempt: SqlAttempt) => SqlWork<T>): Promise<T> => {
      const steps = work(ONLY_ATTEMPT);
      let step = steps.next();
      while (step.done !== true) {
        const asked = step.value;
        if ('calls' in asked) asked.answers.push(...asked.calls.map(({ text }) => answer(text)));
        step = steps.next('calls' in asked ? [] : answer(asked.text));
      }
      return step.value;
    };
    const nothing = async (): Promise<void> => undefined;
    const files = new SegmentFiles(
      {
        name: 'x',
        read: run,
        transaction: run,
        safety: async () => ({ isDurable: false, losesWithService: true, origin: null }),
        reclaimSpace: nothing,
        close: nothing,
      },
      {
        name: 'y',
        put: nothing,
        get: async () => undefined,
        delete: nothing,
        async *list() {
          yield { key, modifiedAtMs: 0 };
        },
      },
      clock,
    );
    expect(await files.findUnknown()).toBe(0);
    expect(written.filter((text) => text.includes('loose_objects'))).toEqual([]);
  });

  test('old objects that no row knows become loose; young ones and those of others stay', async () => {
    await store.appendSegments([segmentOf(0), segmentOf(1)]);
    await mergeAll();
    const [live = ''] = spaces.objects.objects.keys();
    const root = live.split('/').slice(0, 2).join('/');
    await spaces.objects.put(`${root}/xx/unknown`, new Uint8Array(1));
    await spaces.objects.put('segments/another_database/xx/theirs', new Uint8Array(1));
    clock.advance(KEEP_UNKNOWN_MS + 1);
    await spaces.objects.put(`${root}/xx/young`, new Uint8Array(1));
    expect(await spaces.segmentFiles.findUnknown()).toBe(1);
    expect(await spaces.segmentFiles.findUnknown()).toBe(0);
    clock.advance(KEEP_LOOSE_MS);
    expect(await spaces.segmentFiles.sweep()).toBe(1);
    expect([...spaces.objects.objects.keys()].sort()).toEqual(
      [live, `${root}/xx/young`, 'segments/another_database/xx/theirs'].sort(),
    );
    await expectAllReadable();
  });

  test('small merged segments stay in the database', async () => {
    await spaces.close();
    clock = new TestClock(1_700_000_000_000);
    spaces = await openObjectSpaces(clock, 1000);
    store = spaces.store('a');
    await store.createRun(runOf());
    await store.appendSegments([segmentOf(0), segmentOf(1)]);
    await mergeAll();
    expect([await count('segment_bytes'), spaces.objects.objects.size]).toEqual([1, 0]);
    await expectAllReadable();
  });
});

type Step =
  | { readonly kind: 'append' }
  | { readonly kind: 'merge'; readonly breaks: 'no' | 'before' | 'after' }
  | { readonly kind: 'sweep'; readonly breaks: 'no' | 'before' | 'after' }
  | { readonly kind: 'wait'; readonly minutes: number };

test('whatever breaks when: everything live can be read, and in the end nothing else is left', async () => {
  const breaks = fc.constantFrom('no' as const, 'no' as const, 'before' as const, 'after' as const);
  const step = fc.oneof(
    fc.constant<Step>({ kind: 'append' }),
    fc.record({ kind: fc.constant('merge' as const), breaks }),
    fc.record({ kind: fc.constant('sweep' as const), breaks }),
    fc.record({ kind: fc.constant('wait' as const), minutes: fc.constantFrom(1, 40, 70) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
      await open();
      try {
        let batch = 0;
        for (const one of steps) {
          const fails = one.kind === 'merge' || one.kind === 'sweep' ? one.breaks : 'no';
          spaces.objects.fault = (what, isDone) => {
            if (what !== 'get' && fails === (isDone ? 'after' : 'before'))
              throw new Error('broken');
          };
          const tolerate = (error: unknown): void => {
            if (!String(error).includes('broken')) throw error;
          };
          if (one.kind === 'append') await store.appendSegments([segmentOf(batch++)]);
          else if (one.kind === 'wait') clock.advance(one.minutes * MINUTE_MS);
          else if (one.kind === 'sweep') await spaces.segmentFiles.sweep().catch(tolerate);
          else if ((await list()).length > 0) await mergeAll().catch(tolerate);
          spaces.objects.fault = undefined;
          await expectAllReadable();
          const rows = (await list()).reduce((sum, segment) => sum + segment.rowCount, 0);
          expect(rows).toBe(batch * 10);
        }
        clock.advance(KEEP_LOOSE_MS);
        while ((await spaces.segmentFiles.sweep()) > 0);
        expect(spaces.objects.objects.size).toBe(await count('segment_objects'));
        expect(await count('loose_objects')).toBe(0);
        await expectAllReadable();
      } finally {
        await spaces.close();
      }
    }),
    runs(25),
  );
});
