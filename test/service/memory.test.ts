/** What one client can make a service hold: answers are bounded by bytes, whatever was recorded. */
import { describe, expect, it } from 'vitest';
import { SessionStoreError } from '../../src/base/errors.ts';
import { eventTable } from '../../src/records/event.ts';
import { createSegment, describeSegment } from '../../src/segment/manifest.ts';
import { packSegment } from '../../src/codecs/packed/pack.ts';
import type { RowBatch } from '../../src/codecs/arrow/vectors.ts';
import { AnswerMemory } from '../../src/service/http/answer-memory.ts';
import type { WireContext } from '../../src/service/http/answers.ts';
import { createStoreHandler } from '../../src/service/routes/handler.ts';
import { openHttpStorage } from '../../src/wire/http-store.ts';
import { searchRuns } from '../../src/service/routes/run-search.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { NewSegment, SegmentReference, Store } from '../../src/store/store.ts';
import { RUN_ID, runOf } from '../support/segments.ts';
import { handlerOf } from './filled-store.ts';

const MIB = 1024 * 1024;

/** One event whose text shrinks to next to nothing. */
async function longEvent(
  batchNumber: number,
  bytes: number,
  isPacked: boolean,
): Promise<NewSegment> {
  const batch: RowBatch = {
    rowCount: 1,
    columns: new Map([
      ['timestamp', { kind: 'number', values: Float64Array.of(1e12) }],
      ['event_type', { kind: 'key', dictionary: ['user_log'], indices: new Int32Array(1) }],
      ['severity', { kind: 'key', dictionary: ['info'], indices: new Int32Array(1) }],
      ['payload', { kind: 'text', values: [`{"a":"${'x'.repeat(bytes)}"}`] }],
    ]),
  };
  const identity = { runId: RUN_ID, table: 'events', writerId: 'writer_a', batchNumber };
  const plain = createSegment(eventTable, identity, batch);
  if (!isPacked) return plain;
  const packed = await packSegment(plain.bytes);
  return describeSegment({ table: eventTable, identity, batch, bytes: packed, encoding: 'packed' });
}

/** Memory of a server that counts. */
function roomOf(limit: number): { take: (bytes: number) => void; held: number; most: number } {
  const room = {
    held: 0,
    most: 0,
    take(bytes: number): void {
      if (room.held + bytes > limit) throw new SessionStoreError('busy', 'No room.');
      room.held += bytes;
      room.most = Math.max(room.most, room.held);
    },
  };
  return room;
}

async function rowsWith(
  store: Store,
  takeRoom: (bytes: number) => void,
  query = '',
): Promise<Response> {
  const path = `http://127.0.0.1/api/v1/runs/${RUN_ID}/tables/events/rows?format=jsonl${query}`;
  return createStoreHandler().handle(new Request(path), { store, takeRoom });
}

describe('memory of a service', () => {
  it('holds no page of long run documents as a whole, and listings miss none', async () => {
    const store = createMemoryStore();
    const config = 'y'.repeat(MIB);
    for (let i = 0; i < 24; i++)
      await store.createRun(
        runOf({ id: `r_${i}`, startedAtMs: i, document: JSON.stringify({ id: `r_${i}`, config }) }),
      );
    const room = roomOf(40 * MIB);
    const page = await searchRuns(store, {}, { config: [] }, room.take);
    expect(page.runs.length).toBeLessThan(20);
    expect(page.next).toBe(page.runs.length);
    const found = await searchRuns(store, {}, { config: [], text: 'yyy' }, roomOf(40 * MIB).take);
    expect(found.runs.length).toBeLessThan(20);
    const remote = await openHttpStorage('http://127.0.0.1/', { fetch: handlerOf(store) });
    const ids = (await remote.listRuns()).map(({ id }) => id);
    expect(ids).toEqual(Array.from({ length: 24 }, (_, i) => `r_${23 - i}`));
    expect(await remote.listRuns({ limit: 18, offset: 5 })).toHaveLength(18);
  });

  it('counts rows as they are unpacked, and gives back what was sent', async () => {
    const small = createMemoryStore();
    await small.createRun(runOf());
    for (let i = 0; i < 12; i++) await small.appendSegments([await longEvent(i, MIB, true)]);
    // All of them travel in a few kB.
    expect((await rowsWith(small, roomOf(8 * MIB).take)).status).toBe(503);
    expect((await rowsWith(small, roomOf(8 * MIB).take, '&limit=12')).status).toBe(503);
    expect((await rowsWith(small, roomOf(64 * MIB).take, '&limit=1')).status).toBe(200);

    const wide = createMemoryStore();
    await wide.createRun(runOf());
    for (let i = 0; i < 5; i++) await wide.appendSegments([await longEvent(i, 12 * MIB, true)]);
    const some = roomOf(30 * MIB);
    const lines = await (await rowsWith(wide, some.take)).text();
    expect(lines.length).toBeGreaterThan(60 * MIB);
    expect(some.most).toBeGreaterThan(24 * MIB);

    const large = createMemoryStore();
    await large.createRun(runOf());
    for (let i = 0; i < 3; i++) await large.appendSegments([await longEvent(i, 17 * MIB, false)]);
    const room = roomOf(48 * MIB);
    const answer = await rowsWith(large, room.take);
    expect((await answer.text()).length).toBeGreaterThan(51 * MIB);
    expect(room.most).toBeGreaterThan(33 * MIB);
    // Of a limit, the last rows alone are held on to.
    const last = await rowsWith(large, roomOf(80 * MIB).take, '&limit=1');
    expect((await last.text()).length).toBeGreaterThan(17 * MIB);
  });

  it('asks for room before segments are read, and reads no more than it sends', async () => {
    const store = createMemoryStore();
    await store.createRun(runOf());
    const references: object[] = [];
    for (let i = 0; i < 5; i++) {
      const { manifest, bytes } = await longEvent(i, 5 * MIB, false);
      await store.appendSegments([{ manifest, bytes }]);
      const { runId, table, writerId, batchNumber } = manifest;
      references.push({ run_id: runId, table, writer_id: writerId, batch_number: batchNumber });
    }
    let wasRead = 0;
    const watched = new Proxy(store, {
      get: (target, name) => {
        if (name === 'readSegments')
          return (segments: readonly SegmentReference[]) => {
            wasRead += segments.length;
            return store.readSegments(segments);
          };
        if (name === 'segmentSizes')
          return async (segments: readonly SegmentReference[]) =>
            (await store.readSegments(segments)).map((read) =>
              read.kind === 'bytes' ? read.bytes.byteLength : 0,
            );
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const ask = async (limit: number): Promise<number> => {
      wasRead = 0;
      const request = new Request('http://127.0.0.1/api/v1/segments/read', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ segments: references }),
      });
      const scope = { store: watched, takeRoom: roomOf(limit).take };
      return (await createStoreHandler().handle(request, scope)).status;
    };
    expect([await ask(8 * MIB), wasRead]).toEqual([503, 0]);
    // Of 25 MiB, 15 fit into one answer.
    expect([await ask(40 * MIB), wasRead]).toEqual([200, 3]);
  });

  it('remembers answers to changes by their length, too', async () => {
    const memory = new AnswerMemory();
    const ask = async (name: string, chars: number): Promise<boolean> => {
      let isDone = false;
      const context = {
        req: { header: () => name.padEnd(16, '_'), method: 'POST', path: '/runs' },
        env: { scope: {} },
      } as unknown as WireContext;
      await memory.once(context, chars, async () => {
        isDone = true;
        return {};
      });
      return isDone;
    };
    expect(await ask('a', 100)).toBe(true);
    expect(await ask('a', 100)).toBe(false);
    for (let i = 0; i < 6; i++) expect(await ask(`long_${i}`, 4 * MIB)).toBe(true);
    expect(await ask('long_5', 4 * MIB)).toBe(false);
    expect(await ask('long_0', 4 * MIB)).toBe(true);
    expect(await ask('a', 100)).toBe(true);
  });
});
